"""The paper's normalised welfare metrics, with options for the variants that its tables use."""

import math
from collections.abc import Iterator
from typing import Literal

import numpy as np
import polars as pl

from cheaptalk.equilibrium import EquilibriumMetric
from cheaptalk.frames.reader import parameters_in
from cheaptalk.games.item_bargaining.empirical_view import WELFARE
from cheaptalk.games.item_bargaining.maxima import maxima, sample
from cheaptalk.games.item_bargaining.rules import PRESETS, SEATS, ItemBargaining
from cheaptalk.papers.metagame.behaviour import scored, table
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import NoData
from cheaptalk.reports.recipes.tables import ERROR, ReportTable

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


WALK = "walk"
"""The name of the strategy that walks away at once."""
PRINTED: dict[str, tuple[Normaliser, int, dict[str, float]]] = {
    "BGS": ("published", 1_000_000, {"nw": 67.97, "uw": 75.03}),
    "BGL": ("with_outside", 20_000, {"nw": 72.01, "uw": 72.08}),
}
"""By class of games: the normalisation, the maximum number of pools in the mean maxima, and the
printed values of ``walk`` in percent."""
LEAST_POOLS = 20_000
"""The minimum number of pools in the mean maxima; otherwise, it is four times that of matches."""
CLASSES = {name: ItemBargaining.model_validate(PRESETS[name]).quantities for name in PRINTED}
"""The quantities of items by class of games."""


def walks(evidence: Evidence) -> Iterator[ReportTable]:
    """Report the welfare of walking away at once, with standard errors.

    Both players receive their outside options, whoever the opponent is. Therefore the paper
    computes the row ``walk`` from 300,000 pairs of outside options; the preset
    ``item-bargaining-walk`` plays as many matches of class BGS.
    """
    frame = scored(evidence).filter(pl.col(f"player_{seat}") == WALK for seat in SEATS)
    if frame.is_empty():
        raise NoData("walk didn't play against itself; use pairing: all or self")
    played: dict[tuple[str, str], tuple[ItemBargaining, list[str]]] = {}
    for configuration, parameters in parameters_in(frame).items():
        game = ItemBargaining.model_validate(parameters)
        for name, quantities in CLASSES.items():
            if game.quantities == quantities:
                outside = f"{game.least_outside} to {'total - 1' if game.below_total else 'total'}"
                played.setdefault((name, outside), (game, []))[1].append(configuration)
    rows = []
    for (name, outside), (game, configurations) in sorted(played.items(), reverse=True):
        matches = frame.filter(pl.col("configuration").is_in(configurations))
        instances = matches.select("configuration", "instance").n_unique()
        facts = {"class": name, "outside": outside, "instances": instances}
        rows.append(facts | _welfare_of_walks(name, game, matches))
    if not rows:
        raise NoData("walk didn't play against itself in a game of class BGS or BGL")
    yield table(evidence, "walk", pl.DataFrame(rows))


def _welfare_of_walks(name: str, game: ItemBargaining, matches: pl.DataFrame) -> dict[str, float]:
    normaliser, most, printed = PRINTED[name]
    pools = min(most, max(LEAST_POOLS, 4 * matches.height))
    metrics = item_bargaining_metrics(game, normaliser=normaliser, pools=pools)
    numbers: dict[str, float] = {}
    for key, metric in zip(printed, (metrics[0], metrics[2]), strict=True):
        values = 100 * metric.scaled(matches[metric.metric].to_numpy())
        error = values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan
        numbers |= {
            key: float(values.mean()),
            f"{key}{ERROR}": error,
            f"{key}_printed": printed[key],
        }
    return numbers
