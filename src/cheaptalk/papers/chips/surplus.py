"""How much of what can be gained is gained: by turn, at the end, and by whom more."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from operator import attrgetter
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from cheaptalk.papers.chips import paper_tables
from cheaptalk.papers.chips.games import Games, games
from cheaptalk.reports.charts.chart import Axis, Chart, Line, Mark, Rule
from cheaptalk.reports.charts.kinds import HIGH, LOW, Cell, cells, ends
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.margins import margins_over
from cheaptalk.reports.recipes.means import means, side_by_side
from cheaptalk.reports.recipes.parts import Answer, Charts, Lacking
from cheaptalk.reports.recipes.tables import Header, ReportTable, finite
from cheaptalk.rules import COUNT, SHARE, counted
from cheaptalk.statistics import DEALS, holm, permutation_test
from cheaptalk.text import fixed

LINES = 6
"""Populations that one panel shows."""
SHOWN = 6
"""Rounds that the table by round shows."""
INTERVALS = "Intervals are at 95 %, with games on the same deal as one cluster."
VARIANT = Header("variant", "Game")
POPULATION = Header("population", "Table", about=(
    "Who sat at the table: one name for copies of one player, else all names."
))  # fmt: skip


def _reached(found: Games) -> Answer:
    """Who gained the largest share of what could be gained, and how far ahead of the next."""
    ratios = means(found.matches, ["ratio"], ["variant", "population"]).drop_nulls("ratio")
    said = []
    for one in found.variants:
        ranked = ratios.filter(variant=one.name).sort("ratio", descending=True)
        rows = ranked.select("population", "ratio").rows()
        if len(rows) == 1:
            said.append(f"with {one.name} {rows[0][0]} {fixed(rows[0][1], 2)}")
        elif rows:
            matches = found.matches.filter(variant=one.name)
            said.append(f"with {one.name} {_ahead(matches, rows)}")
    return Answer(f"Gained as a share of what could be: {'; '.join(said)}.")


def _ahead(matches: pl.DataFrame, ranked: Sequence[tuple[str, float]]) -> str:
    """How far the best table is ahead of the others, or that it cannot be told to be."""
    best, share = ranked[0]
    found = margins_over(matches, "population", "ratio", ranked)
    closest = min(found, key=attrgetter("certainty"))
    lead = f"{fixed(closest.size, 2)} more than {closest.behind}{closest.within(2)}"
    if closest.told:
        return f"{best} most, {fixed(share, 2)}, {lead}"
    return f"{best} {fixed(share, 2)}, which cannot be told to be most: {lead}"


def trajectories(evidence: Evidence) -> Iterator[Answer | ReportTable | Charts]:
    """The surplus is what all players' chips have gained in worth since the start, losses included.
    Each game's surplus after a turn is divided by its own bound, the most that could be gained
    with all values known and nobody losing (a linear programme, definition 1 of the paper); then
    the mean is taken. Games in which nothing can be gained have no ratio and are left out.
    """
    found = evidence.once(games)
    turns = found.turns.filter(pl.col("bound") > 0).with_columns(
        pl.col("surplus") / pl.col("bound")
    )
    if turns.is_empty():
        raise Lacking("nothing can be gained in any of these games: the bound of each is 0")
    shares = means(turns, ["surplus"], ["variant", "population", "turn"])
    yield _reached(found)
    yield Charts(
        "trajectories", "Surplus over its bound, turn by turn",
        [panel for one in found.variants for panel in _panels(found, shares, one.name)],
        f"The dotted line is the bound. Bands are intervals. {INTERVALS}",
    )  # fmt: skip
    yield _by_round(found, turns)


def _panels(found: Games, shares: pl.DataFrame, variant: str) -> Iterator[Chart]:
    own = shares.filter(variant=variant)
    here = [one for one in found.populations if one in set(own["population"])]
    groups = [here[start : start + LINES] for start in range(0, len(here), LINES)]
    across = Axis("turn", zero=True, whole=True)
    up = Axis("surplus over its bound", percent=True)
    for number, group in enumerate(groups, 1):
        lines = [
            _line(name, own.filter(population=name).sort("turn").rows(named=True), place)
            for place, name in enumerate(group)
        ]
        title = variant if len(groups) == 1 else f"{variant} ({number} of {len(groups)})"
        yield Chart(title, "share of the bound", [*lines, Rule(y=1)], across, up, 230)


def _line(name: str, rows: Sequence[Mapping[str, Any]], tone: int) -> Line:
    """A population's mean after every turn from the start, over its band."""
    marks = [
        Mark(
            row["turn"], row["surplus"], f"{name}, turn {row['turn']}\n{_hover_text(row)}",
            y_ends=ends(row, "surplus"), size=2.5,
        )
        for row in rows
    ]  # fmt: skip
    start = Mark(0, 0, f"{name}, at the start", y_ends=(0, 0), size=2.5)
    return Line([start, *marks], name, tone, width=2, band=True)


def _hover_text(row: Mapping[str, Any]) -> str:
    limits = ""
    if row["surplus" + LOW] is not None:
        low, high = fixed(100 * row["surplus" + LOW]), fixed(100 * row["surplus" + HIGH])
        limits = f", {low} to {high} %"
    return f"{fixed(100 * row['surplus'])} %{limits}\n{counted(row['surplus.n'], 'game')}"


def _by_round(found: Games, turns: pl.DataFrame) -> ReportTable:
    """The means after rounds: of more than a few, so many from the first to the last."""
    size = found.matches.select("match", "players")
    rounds = (
        turns.join(size, on="match", maintain_order="left", validate="m:1")
        .filter(pl.col("turn") % pl.col("players") == 0)
        .with_columns(round=pl.col("turn") // pl.col("players"))
    )
    last = rounds["round"].max()
    assert isinstance(last, int)
    kept = sorted({round(1 + (last - 1) * one / (SHOWN - 1)) for one in range(SHOWN)})
    cells = means(
        rounds.filter(pl.col("round").is_in(kept)).sort("round"),
        ["surplus"], ["variant", "population", "round"],
    )  # fmt: skip
    named = cells.with_columns(pl.format("round {}", "round").alias("round"))
    frame = ordered(found, side_by_side(named, "surplus", "round"))
    shown = [name for name in frame.columns if name.startswith("round ") and "." not in name]
    return ReportTable(
        "surplus-by-round", "Surplus over its bound after rounds", frame,
        (POPULATION, VARIANT, *(
            Header(name, f"After {name}", "share of the bound", 3) for name in shown
        )),
        INTERVALS,
        leads=lambda row: found.lead(row["variant"], table=row["population"]),
    )  # fmt: skip


def table_3(evidence: Evidence) -> Iterator[ReportTable]:
    """Final surplus over its bound: the mean of the games' ratios, with its standard error, which
    takes games on the same deal as one cluster; with one game a deal it is the usual s / sqrt(n).

    The second table has what the ratio is made of, in dollars. The ratio of means, all surplus over
    all that could be gained, gives games with little to gain less weight.
    """
    found = evidence.once(games)
    ratios = means(found.matches, ["ratio"], ["variant", "population"])
    parts = [name for name in ratios.columns if not name.endswith((LOW, HIGH))]
    frame = side_by_side(ordered(found, ratios.select(parts)), "ratio", "variant")
    yield ReportTable(
        "final-surplus", "Final surplus over its bound", frame,
        (POPULATION, *(Header(one.name, one.name, "share of the bound", 2)
                       for one in found.variants)),
        "In parentheses: standard errors.",
        leads=lambda row: found.lead(table=row["population"]),
    )  # fmt: skip
    yield from paper_tables.final_surplus(evidence, found, frame)
    yield _dollars(found)


def _dollars(found: Games) -> ReportTable:
    by = ["variant", "population"]
    frame = means(found.matches, ["surplus", "bound"], by, bounds={"bound": COUNT}).join(
        found.matches.group_by(by, maintain_order=True).agg(
            pl.len().alias("games"),
            (pl.col("bound") == 0).sum().alias("nothing"),
            pl.when(pl.col("bound").sum() > 0)
            .then(pl.col("surplus").sum() / pl.col("bound").sum())
            .alias("share"),
        ),
        on=by, maintain_order="left", validate="1:1",
    ).join(means(found.turns.with_columns(pl.col("accepted").cast(pl.Float64)), ["accepted"], by,
                 bounds={"accepted": SHARE}),
           on=by, maintain_order="left", validate="1:1")  # fmt: skip
    return ReportTable(
        "surplus-in-dollars", "Surplus, its bound and trades", ordered(found, frame),
        (
            POPULATION,
            VARIANT,
            Header("games", "Games", "", 0),
            Header("surplus", "Surplus", "dollars a game", 2),
            Header("bound", "Bound", "dollars a game", 2, "The most that all could gain together."),
            Header("share", "Ratio of means", "share of the bound", 3),
            Header("nothing", "Nothing to gain", "games", 0, "Games whose bound is 0."),
            Header("accepted", "Accepted", "share of proposals", 3),
        ),
        INTERVALS,
        leads=lambda row: found.lead(row["variant"], table=row["population"]),
    )  # fmt: skip


def ordered(found: Games, frame: pl.DataFrame) -> pl.DataFrame:
    """Rows by variant, then by population, in the order in which all tables have them."""
    rows = frame.sort(found.order("variant", "population"), maintain_order=True)
    return rows.select("population", pl.exclude("population"))


SCHEMA = {
    "variant": pl.String, "first": pl.String, "second": pl.String, "difference": pl.Float64,
    "difference.low": pl.Float64, "difference.high": pl.Float64, "difference.n": pl.Int64,
    "p": pl.Float64, "test": pl.String,
}  # fmt: skip


def table_4(evidence: Evidence) -> Iterator[Charts | ReportTable]:
    """Every two populations are compared in their surplus over its bound. Where they have at least
    half of the deals of the smaller one in common, the test is a paired permutation test on these:
    on each deal the two ratios may be swapped. Elsewhere labels are shuffled over all deals of
    both. Games on one deal count once, with their mean. The paper does not name its test.

    p is two-sided; the corrected one allows for all comparisons within a game (Holm 1979). An
    interval is Student's of the mean difference between paired deals, else Welch's.
    """
    found = evidence.once(games)
    if len(found.populations) < 2:
        raise Lacking(
            f"all tables are of {found.populations[0]}, and a comparison takes two populations; "
            "seat another with --player"
        )
    frame = compared(found, evidence.draws, evidence.seed)
    if frame.is_empty():
        raise Lacking("no two populations have a ratio in the same game of chip trading")
    yield Charts(
        "differences", "Which differences are more than chance",
        [_difference_panel(found, frame.filter(variant=name), name)
         for name in frame["variant"].unique(maintain_order=True)],
        "Cells hold the corrected p of the difference; the arrow says whether the table on top "
        "gains more (↑) or less (↓) than the one on the left, the colour by how much.",
    )  # fmt: skip
    share = "share of the bound"
    yield ReportTable(
        "pairwise-tests", "Differences in final surplus", frame,
        (
            Header("second", "Table"),
            Header("first", "Less table"),
            VARIANT,
            Header("difference", "Difference", share, 3, "The first named less the other."),
            Header("p", "p", "", 4),
            Header("p_holm", "p, corrected", "Holm", 4),
            Header("test", "Test", about="Which permutation test; exact ones count all cases."),
        ),
        f"Tests draw {evidence.draws:,} arrangements where there are more; no p can then be below "
        f"{2 / (evidence.draws + 1):.2g}.",
        leads=lambda row: found.lead(row["variant"], table=row["second"]),
    )  # fmt: skip
    yield from paper_tables.differences(evidence, found, frame)


def compared(found: Games, draws: int, seed: int) -> pl.DataFrame:
    """One row a variant and two populations; ``difference`` is the second less the first."""
    deals = (
        found.matches.drop_nulls("ratio")
        .group_by("variant", "population", *DEALS, maintain_order=True)
        .agg(pl.col("ratio").mean())
        .sort(DEALS)
    )
    generator = np.random.default_rng(seed)
    frames = []
    for variant in found.variants:
        own = deals.filter(variant=variant.name).partition_by("population", as_dict=True)
        here = [one for one in found.populations[::-1] if (one,) in own]
        rows = [
            (variant.name, first, second, *_tested(own[first,], own[second,], draws, generator))
            for first, second in combinations(here, 2)
        ]
        frame = pl.DataFrame(rows, schema=SCHEMA, orient="row")
        corrected = pl.Series("p_holm", holm(frame["p"].to_numpy()), dtype=pl.Float64)
        frames.append(frame.with_columns(corrected))
    return pl.concat(frames)


def _tested(
    first: pl.DataFrame, second: pl.DataFrame, draws: int, generator: np.random.Generator
) -> tuple[float, float | None, float | None, int, float, str]:
    """The difference, its interval if it has one, on how many deals, p and the test's name."""
    both = first.join(second, on=DEALS, suffix="_second", maintain_order="left", validate="1:1")
    paired = 2 * both.height >= min(first.height, second.height)
    sides = (both["ratio_second"], both["ratio"]) if paired else (second["ratio"], first["ratio"])
    one, other = (side.to_numpy() for side in sides)
    test = permutation_test(one, other, paired=paired, draws=draws, seed=generator)
    ends: tuple[float | None, float | None] = (None, None)
    if min(len(one), len(other)) > 1:
        ends = (test.difference, test.difference)
        if any(map(np.ptp, [one - other] if paired else [one, other])):
            compare = stats.ttest_rel if paired else partial(stats.ttest_ind, equal_var=False)
            low, high = compare(one, other).confidence_interval()
            ends = (finite(low), finite(high))
    deals = both.height if paired else first.height + second.height
    kind = f"{'paired' if paired else 'unpaired'}, {'exact' if test.exact else 'drawn'}"
    return test.difference, *ends, deals, test.p, kind


def _difference_panel(found: Games, frame: pl.DataFrame, title: str) -> Chart:
    pairs = {(row["first"], row["second"]): row for row in frame.iter_rows(named=True)}
    named = {name for pair in pairs for name in pair}
    order = [one for one in found.populations[::-1] if one in named]

    def cell(row: str, column: str) -> Cell | None:
        one = pairs.get((row, column))
        if one is None:
            return None
        return Cell(one["difference"], _difference_text(one), label=_cell_text(one))

    return cells(title, "corrected p", ("", order[:-1]), ("", order[1:]), cell, middle=True)


def _cell_text(row: Mapping[str, Any]) -> str:
    p = "<.001" if row["p_holm"] < 0.001 else f"{row['p_holm']:.3f}".lstrip("0")
    return f"{p} {'↑' if row['difference'] > 0 else '↓' if row['difference'] < 0 else '='}"


def _difference_text(row: Mapping[str, Any]) -> str:
    limits = ""
    if row["difference" + LOW] is not None:
        low, high = fixed(row["difference" + LOW], 3), fixed(row["difference" + HIGH], 3)
        limits = f", {low} to {high}"
    return (
        f"{row['second']} less {row['first']}\n{fixed(row['difference'], 3)}{limits}\n"
        f"p {row['p']:.4f}, corrected {row['p_holm']:.4f}\n{counted(row['difference.n'], 'deal')}"
    )
