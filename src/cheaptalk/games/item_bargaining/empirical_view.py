"""What pages of empirical games show of item bargaining: welfare, mistakes, opposed interests."""

from collections.abc import Sequence
from functools import lru_cache

from cheaptalk.games.extras import needed
from cheaptalk.games.item_bargaining.maxima import maxima, sample
from cheaptalk.games.item_bargaining.measures import MISTAKES
from cheaptalk.games.item_bargaining.pools import Drawn
from cheaptalk.games.item_bargaining.rules import PLACES, PRESETS, ItemBargaining
from cheaptalk.rules import EmpiricalView, Game, Histogram, MeasureTable, Radar, ScaledMeasure

np = needed("numpy")

FIXED, DRAWN = 100_000, 20_000
"""Pools whose maxima are averaged, where all have the same quantities and where not."""
PERCENT = 0.01
NO_MATTER = {"names": {}, "discount": 1.0, "rounds": 1}
"""Parameters on which the maxima of a pool do not depend."""
WELFARE = {
    "discounted": ("nash_welfare", "utilitarian_welfare"),
    "undiscounted": ("nash_welfare_undiscounted", "utilitarian_welfare_undiscounted"),
}
"""The measures of Nash and of utilitarian welfare, as they are paid and in whatever round."""
GIVEN = "utility_given"
MISTAKE_RADAR = Radar(
    "Mistakes in self-play", "times a match",
    {f"M{number}": found.__name__ for number, found in enumerate(MISTAKES, start=1)},
)  # fmt: skip
"""The mistakes M1 to M5 (appendix B)."""
OPPOSITION = Histogram(
    "Opposition of interests", "opposition", "distance, 0 is no conflict", 2**0.5
)
"""How opposed the players' interests were (appendix J)."""


def welfare_tables(games: Sequence[Game]) -> tuple[MeasureTable, ...]:
    """Welfare in both normalisations; none where the games differ in their pools.

    It is divided by the mean of the maxima of the text, and of those of allocations alone
    (Measuring Competition and Cooperation, section 5).
    """
    pools = {game.model_copy(update=NO_MATTER).model_dump_json() for game in games}
    return _of_pools(*pools) if len(pools) == 1 else ()


@lru_cache(maxsize=8)
def _of_pools(game: str) -> tuple[MeasureTable, ...]:
    rules = ItemBargaining.model_validate_json(game)
    count = DRAWN if isinstance(rules.quantities, Drawn) else FIXED
    found = maxima(sample(rules, count, np.random.default_rng(0)))
    best = {name: float(numbers.mean()) * PERCENT for name, numbers in vars(found).items()}

    def welfare(nash: str, utilitarian: str, more: str = "") -> list[ScaledMeasure]:
        scales = {"NW": best[nash], "UW": best[utilitarian]}
        return [
            ScaledMeasure(
                f"{short}{', undiscounted' * (way == 'undiscounted')}{more}", names[place], scale
            )
            for place, (short, scale) in enumerate(scales.items())
            for way, names in WELFARE.items()
        ]

    others = (
        ScaledMeasure("NW+", "nash_welfare_plus", best["nash_plus"]),
        ScaledMeasure("EF1", "ef1", PERCENT),
    )
    return (
        MeasureTable(
            "Welfare as the text normalises it",
            "In percent of the mean of the greatest welfare that a pool allows, over "
            f"{count:,} pools, both players' outside options among the possible outcomes.",
            (*welfare("nash", "utilitarian"), *others),
        ),
        MeasureTable(
            "Welfare without the outside options among the maxima",
            "The same, with allocations alone among the possible outcomes.",
            tuple(welfare("nash_allocated", "utilitarian_allocated", ", of allocations")),
        ),
    )


VIEW = EmpiricalView(
    measures=(
        *(measure for pair in WELFARE.values() for measure in pair),
        "nash_welfare_plus", "ef1", OPPOSITION.measure, *MISTAKE_RADAR.axes.values(),
        *(f"{GIVEN}_{place}" for place in PLACES),
    ),
    tables=welfare_tables,
    given=GIVEN,
    configurations=PRESETS,
    mixtures={"BGL0": ("BG1", "BG2", "BG3"), "BGS0": ("BG4", "BG5", "BG6")},
    radars=(MISTAKE_RADAR,),
    histograms=(OPPOSITION,),
    methods={
        "Welfare": "NW is the geometric mean of both payoffs, UW their sum, NW+ the geometric mean "
        "of what both get above their outside options, and EF1 the share of agreements that are "
        "envy-free up to one item. Each is that of the two players together when a strategy meets "
        "the equilibrium. Undiscounted is what the parts were worth in whatever round. Of the "
        "published numbers for BG4 to BG6, NW follows the first table, and UW the second (item "
        "bargaining, section 5)."
    },
    about_figures="Mistakes: M1 an offer that leaves less than the one turned down, M2 one that "
    "leaves less than the outside option, M3 an offer of nothing or everything, M4 taking less "
    "than the outside option, M5 walking away from more (appendix B). Opposition: how far the "
    "nearest outcome is from giving both all they could have (appendix J).",
)  # fmt: skip
