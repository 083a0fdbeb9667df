"""The paper's normalisations of welfare, with an option for each reading of its tables."""

from typing import Literal

import numpy as np

from cheaptalk.equilibrium import EquilibriumMetric
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
"""The maxima by which Nash and utilitarian welfare are divided."""


def item_bargaining_metrics(
    game: ItemBargaining,
    *,
    welfare: Welfare = "discounted",
    advantage: Advantage = "outside_undiscounted",
    normaliser: Normaliser = "with_outside",
    undefined: float | None = None,
    pools: int = 100_000,
    seed: int = 0,
) -> tuple[EquilibriumMetric, ...]:
    """Return NW, NW+, UW and EF1 of item bargaining, normalised as in the paper (002, section 5).

    Welfare is divided by the mean of the maximum that each pool allows, over random pools. The
    paper's tables differ in their definitions, so that each is an option:

    - ``welfare``: payoffs with the discount, or without it. Figure 1 and Table 3, which are
    otherwise the same, use one each.
    - ``advantage``: NW+ of discounted payoffs above undiscounted outside options (the paper's
    definition), of both discounted (its code), or of neither (its notebooks).
    - ``normaliser``: ``with_outside`` includes the outcome in which both players get their outside
    options (the text), ``without_outside`` only allocations; ``published`` are the constants behind
    the numbers of BG4 to BG6: with it for NW, without it for UW.

    Args:
        game: only its quantities, highest value and outside options matter; BG4 to BG6 have the
            same maxima, as do BG1 to BG3.
        undefined: see :class:`EquilibriumMetric`, for EF1; the paper prints 0 in its appendices.
        pools: the number of pools drawn for the maxima, >= 1.
        seed: the seed of that draw.
    """
    maximum = maxima(sample(game, pools, np.random.default_rng(seed)))
    nash, utilitarian = (float(getattr(maximum, name).mean()) for name in NORMALISERS[normaliser])
    nash_metric, utilitarian_metric = WELFARE[welfare]
    return (
        EquilibriumMetric("NW", nash_metric, nash),
        EquilibriumMetric("NW+", ADVANTAGE[advantage], float(maximum.nash_plus.mean())),
        EquilibriumMetric("UW", utilitarian_metric, utilitarian),
        EquilibriumMetric("EF1", "ef1", undefined=undefined),
    )
