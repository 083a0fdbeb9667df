"""The paper's normalisations of welfare, each reading of its tables an option."""

from typing import Literal

import numpy as np

from cheaptalk.equilibrium import Metric
from cheaptalk.games.item_bargaining.empirical_view import WELFARE
from cheaptalk.games.item_bargaining.maxima import maxima, sample
from cheaptalk.games.item_bargaining.rules import ItemBargaining

Welfare = Literal["discounted", "undiscounted"]
Advantage = Literal["outside_undiscounted", "discounted", "undiscounted"]
Normaliser = Literal["published", "with_outside", "without_outside"]

ADVANTAGE: dict[Advantage, str] = {
    "outside_undiscounted": "nash_welfare_plus",
    "discounted": "nash_welfare_plus_discounted",
    "undiscounted": "nash_welfare_plus_undiscounted",
}
NORMALISERS: dict[Normaliser, tuple[str, str]] = {
    "published": ("nash", "utilitarian_allocated"),
    "with_outside": ("nash", "utilitarian"),
    "without_outside": ("nash_allocated", "utilitarian_allocated"),
}
"""Which maxima Nash and utilitarian welfare are divided by."""


def item_bargaining_metrics(
    game: ItemBargaining,
    *,
    welfare: Welfare = "discounted",
    advantage: Advantage = "outside_undiscounted",
    normaliser: Normaliser = "with_outside",
    undefined: float | None = None,
    pools: int = 100_000,
    seed: int = 0,
) -> tuple[Metric, ...]:
    """NW, NW+, UW and EF1 of item bargaining, normalised as the paper does (002, section 5).

    Welfare is divided by the mean, over pools as the game deals them, of the greatest that each
    pool allows. The paper's tables do not all follow one reading, so each is an option:

    - ``welfare``: payoffs as they are paid, or with the discount divided out again. Of figure 1
      and table 3, which differ in nothing else, one is the first and one the second.
    - ``advantage``: NW+ of discounted payoffs above undiscounted outside options (the paper's
      definition), of both discounted (its code), or of neither (its notebooks).
    - ``normaliser``: ``with_outside`` lets the maxima include the outcome in which both get their
      outside options (the text), ``without_outside`` takes allocations alone; ``published`` are
      the constants behind the numbers of BG4 to BG6: with it for NW, without it for UW.

    Args:
        game: its quantities, highest value and outside options matter; BG4 to BG6 have the same
            maxima, as have BG1 to BG3.
        undefined: see :class:`Metric`, for EF1; the paper prints 0 in its appendices.
        pools: how many are drawn for the maxima, >= 1.
        seed: of that draw.
    """
    best = maxima(sample(game, pools, np.random.default_rng(seed)))
    nash, utilitarian = (float(getattr(best, name).mean()) for name in NORMALISERS[normaliser])
    nash_measure, utilitarian_measure = WELFARE[welfare]
    return (
        Metric("NW", nash_measure, nash),
        Metric("NW+", ADVANTAGE[advantage], float(best.nash_plus.mean())),
        Metric("UW", utilitarian_measure, utilitarian),
        Metric("EF1", "ef1", undefined=undefined),
    )
