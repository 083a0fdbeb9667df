"""The paper's normalised welfare metrics, with options for the variants that its tables use."""

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
    """Return NW, NW+, UW and EF1 of item bargaining, normalised as in the paper (section 5).

    Welfare is divided by the mean maximum over random pools. The paper's tables use different
    definitions, which are options:

    - ``welfare``: ``discounted`` or ``undiscounted`` payoffs. Figure 1 and Table 3 use one each.
    - ``advantage``: NW+ of discounted payoffs above undiscounted outside options
      (``outside_undiscounted``, the paper's definition), of discounted payoffs and options
      (``discounted``, the paper's code) or of undiscounted ones (``undiscounted``, the notebooks).
    - ``normaliser``: whether the maximum includes the outcome in which both players get their
      outside options (``with_outside``, the paper's text), or only allocations
      (``without_outside``). The printed numbers of BG4 to BG6 include this outcome for NW but not
      for UW (``published``).

    Args:
        game: provides quantities, highest value and outside options; BG4 to BG6 have equal maxima,
            and so do BG1 to BG3.
        undefined: the value of EF1 if undefined; the paper's appendices print 0.
        pools: the number of random pools for the maxima, >= 1.
        seed: the seed of the random pools.
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
