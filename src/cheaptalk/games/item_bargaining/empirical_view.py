"""Metrics and figures of item bargaining for pages on empirical games."""

from collections.abc import Sequence
from functools import lru_cache

from cheaptalk.games.extras import needed
from cheaptalk.games.item_bargaining.maxima import maxima, sample
from cheaptalk.games.item_bargaining.metrics import MISTAKES
from cheaptalk.games.item_bargaining.rules import PRESETS, SEATS, Drawn, ItemBargaining
from cheaptalk.rules import EmpiricalView, Game, Histogram, MetricTable, Radar, ScaledMetric

np = needed("numpy")

POOLS_FIXED, POOLS_DRAWN = 100_000, 20_000
"""Number of pools in the mean of the maxima, with fixed and with random quantities."""
PERCENT = 0.01
IRRELEVANT = {"names": {}, "discount": 1.0, "rounds": 1}
"""Parameters that don't affect the maxima of a pool."""
WELFARE = {
    "discounted": ("nash_welfare", "utilitarian_welfare"),
    "undiscounted": ("nash_welfare_undiscounted", "utilitarian_welfare_undiscounted"),
}
"""The metrics of Nash and utilitarian welfare, discounted and undiscounted."""
UTILITY_GIVEN = "utility_given"
MISTAKE_RADAR = Radar(
    "Mistakes in self-play",
    "times a match",
    {f"M{number}": mistake.__name__ for number, mistake in enumerate(MISTAKES, start=1)},
)
"""The mistakes M1 to M5 (appendix B)."""
OPPOSITION = Histogram(
    "Opposition of interests", "opposition", "distance, 0 is no conflict", 2**0.5
)
"""The opposition of the players' interests (appendix J)."""


def welfare_tables(games: Sequence[Game]) -> tuple[MetricTable, ...]:
    """Return welfare tables in two normalisations, or no tables if the games' pools differ.

    Welfare is divided by the mean maximum as defined in the text, and by the mean maximum over
    allocations only (Measuring Competition and Cooperation, section 5).
    """
    pools = {game.model_copy(update=IRRELEVANT).model_dump_json() for game in games}
    return _tables_of_pools(*pools) if len(pools) == 1 else ()


@lru_cache(maxsize=8)
def _tables_of_pools(game: str) -> tuple[MetricTable, ...]:
    rules = ItemBargaining.model_validate_json(game)
    count = POOLS_DRAWN if isinstance(rules.quantities, Drawn) else POOLS_FIXED
    pool_maxima = maxima(sample(rules, count, np.random.default_rng(0)))
    best = {name: float(numbers.mean()) * PERCENT for name, numbers in vars(pool_maxima).items()}

    def welfare(nash: str, utilitarian: str, suffix: str = "") -> list[ScaledMetric]:
        scales = {"NW": best[nash], "UW": best[utilitarian]}
        return [
            ScaledMetric(
                f"{short}{', undiscounted' * undiscounted}{suffix}", names[position], scale
            )
            for position, (short, scale) in enumerate(scales.items())
            for undiscounted, names in enumerate(WELFARE.values())
        ]

    other_metrics = (
        ScaledMetric("NW+", "nash_welfare_plus", best["nash_plus"]),
        ScaledMetric("EF1", "ef1", PERCENT),
    )
    return (
        MetricTable(
            "Welfare as normalised in the text",
            f"In percent of the mean of the maximum welfare of {count:,} pools, "
            "including both players' outside options in the possible outcomes.",
            (*welfare("nash", "utilitarian"), *other_metrics),
        ),
        MetricTable(
            "Welfare with maxima that exclude the outside options",
            "The same, with only allocations as possible outcomes.",
            tuple(welfare("nash_allocated", "utilitarian_allocated", ", of allocations")),
        ),
    )


VIEW = EmpiricalView(
    metrics=(
        *(metric for pair in WELFARE.values() for metric in pair),
        "nash_welfare_plus",
        "ef1",
        OPPOSITION.metric,
        *MISTAKE_RADAR.axes.values(),
        *(f"{UTILITY_GIVEN}_{seat}" for seat in SEATS),
    ),
    tables=welfare_tables,
    given=UTILITY_GIVEN,
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
)
