"""Which measures stand beside an equilibrium, and in which of the published readings."""

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from cheaptalk.equilibrium.analysis.providers import OFFERS
from cheaptalk.equilibrium.analysis.selection import Selected
from cheaptalk.equilibrium.empirical.metrics import WELFARE, Metric
from cheaptalk.games.item_bargaining.conduct import MISTAKES
from cheaptalk.games.item_bargaining.maxima import maxima, sample
from cheaptalk.games.item_bargaining.pools import Drawn
from cheaptalk.games.item_bargaining.rules import ItemBargaining
from cheaptalk.rules import game_box
from cheaptalk.text import capital

FIXED, DRAWN = 100_000, 20_000
"""Pools whose maxima are averaged, where all have the same quantities and where not."""
PERCENT = 0.01
BESIDE = {"names": {}, "discount": 1.0, "rounds": 1}
"""Parameters on which the maxima of a pool do not depend."""

MISTAKEN = tuple(found.__name__ for found in MISTAKES)
"""The measures that count mistakes."""
SHOWN = {
    "item_bargaining": (
        *(measure for pair in WELFARE.values() for measure in pair),
        "nash_welfare_plus", "ef1", "opposition", *MISTAKEN,
        *(f"{OFFERS['item_bargaining']}_{place}" for place in ("player_1", "player_2")),
    )
}  # fmt: skip
"""The measures that pages show, of games of which they do not show all."""


def measures_shown(games: Iterable[str]) -> set[str]:
    """The measures of some games that pages of empirical games show."""
    return {name for game in games for name in SHOWN.get(game, game_box(game).measures)}


class MetricTable(NamedTuple):
    """Metrics that stand together in a table.

    Attributes:
        title: over the table.
        about: what the numbers are, in a sentence or two.
        metrics: its columns.
    """

    title: str
    about: str
    metrics: tuple[Metric, ...]


def readings_of(selected: Selected) -> tuple[MetricTable, ...]:
    """The measures that are taken at equilibrium.

    Of item bargaining they are the paper's in both normalisations, unless its configurations differ
    in their pools; of other games those of the whole match.
    """
    if selected.box != "item_bargaining":
        measures = [one for one in game_box(selected.box).measures.values() if one.role is None]
        metrics = tuple(Metric(f"{capital(one.name)}", one.name) for one in measures)
        about = (
            "Means of the game's measures; each game's page in the reference says what they are."
        )
        return (MetricTable("Measures", about, metrics),) if metrics else ()
    games = [ItemBargaining.model_validate(one) for one in selected.configurations.values()]
    pools = {game.model_copy(update=BESIDE).model_dump_json() for game in games}
    return _item_bargaining(*pools) if len(pools) == 1 else ()


@lru_cache(maxsize=8)
def _item_bargaining(game: str) -> tuple[MetricTable, ...]:
    """Welfare over the maxima of the text and over those of allocations alone (002, section 5)."""
    rules = ItemBargaining.model_validate_json(game)
    count = DRAWN if isinstance(rules.quantities, Drawn) else FIXED
    found = maxima(sample(rules, count, np.random.default_rng(0)))
    best = {name: float(numbers.mean()) * PERCENT for name, numbers in vars(found).items()}

    def welfare(nash: str, utilitarian: str, more: str = "") -> list[Metric]:
        scales = {"NW": best[nash], "UW": best[utilitarian]}
        return [
            Metric(f"{short}{', undiscounted' * (way == 'undiscounted')}{more}", measure, scale)
            for place, (short, scale) in enumerate(scales.items())
            for way, measure in ((way, names[place]) for way, names in WELFARE.items())
        ]

    others = (
        Metric("NW+", "nash_welfare_plus", best["nash_plus"]),
        Metric("EF1", "ef1", PERCENT),
    )
    return (
        MetricTable(
            "Welfare as the text normalises it",
            "In percent of the mean of the greatest welfare that a pool allows, over "
            f"{count:,} pools, both players' outside options among the possible outcomes.",
            (*welfare("nash", "utilitarian"), *others),
        ),
        MetricTable(
            "Welfare without the outside options among the maxima",
            "The same, with allocations alone among the possible outcomes.",
            tuple(welfare("nash_allocated", "utilitarian_allocated", ", of allocations")),
        ),
    )
