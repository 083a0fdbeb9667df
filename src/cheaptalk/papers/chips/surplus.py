"""Surplus as a share of its upper bound, by turn and at the end, compared between populations."""

from collections.abc import Iterator, Mapping
from itertools import combinations
from operator import attrgetter
from typing import Any

import numpy as np
import polars as pl

from cheaptalk.papers.chips.games import (
    POPULATIONS,
    Games,
    games,
    paper_game,
    paper_name,
    paper_rows,
    shown,
    table,
)
from cheaptalk.papers.printed import printed_values
from cheaptalk.reports.charts.chart import Axis, Chart, Line, Mark, Rule
from cheaptalk.reports.charts.kinds import HIGH, LOW, Cell, cells, ends
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.margins import margins_over
from cheaptalk.reports.recipes.means import means, side_by_side
from cheaptalk.reports.recipes.parts import Answer, Charts, NoData, Shown
from cheaptalk.reports.recipes.tables import Header, ReportTable
from cheaptalk.rules import COUNT, SHARE, counted
from cheaptalk.statistics import INSTANCES, holm, permutation_test
from cheaptalk.statistics.columns import FloatArray, with_matching
from cheaptalk.statistics.differences import combined_freedom
from cheaptalk.statistics.limits import t_limits
from cheaptalk.statistics.participants import PEOPLE
from cheaptalk.text import fixed

LINES = 6
"""The maximum number of populations in one panel."""
SHOWN = 6
"""The maximum number of rounds in the table by round."""
MAX_NARROW = 6
"""The maximum number of populations in charts beside each other."""


def _reached(data: Games) -> Answer:
    ratios = means(data.matches, ["ratio"], ["variant", "population"]).drop_nulls("ratio")
    sentences = []
    for variant in data.variants:
        ranked = ratios.filter(variant=variant.name).sort("ratio", descending=True)
        rows = ranked.select("population", "ratio").rows()
        if len(rows) == 1:
            sentences.append(f"with {variant.name}, {rows[0][0]}: {fixed(rows[0][1], 2)}")
        elif rows:
            matches = data.matches.filter(variant=variant.name)
            margins = margins_over(matches, "population", "ratio", rows)
            closest = min(margins, key=attrgetter("certainty"))
            doubt = "" if closest.significant else "but not significantly: "
            sentences.append(
                f"with {variant.name}, {rows[0][0]} has the most ({fixed(rows[0][1], 2)}), {doubt}"
                f"{fixed(closest.size, 2)} more than {closest.behind}{closest.within(2)}"
            )
    return Answer(f"Share of the attainable surplus: {'; '.join(sentences)}.")


def trajectories(evidence: Evidence) -> Iterator[Shown]:
    """Show the surplus of each population by turn.
    The surplus is the total gain in the value of all players' chips since the start, including
    losses. Each game's surplus is divided by the game's bound before averaging. The bound is the
    maximum total gain if all values are known and no player loses (a linear programme, definition 1
    of the paper). Games with a bound of 0 are excluded.
    """
    data = evidence.once(games)
    turns = data.turns.filter(pl.col("bound") > 0).with_columns(pl.col("surplus") / pl.col("bound"))
    if turns.is_empty():
        raise NoData("the bound of every game is 0, so that nothing can be gained")
    shares = means(turns, ["surplus"], ["variant", "population", "turn"])
    yield _reached(data)
    yield Charts(
        "trajectories",
        "Share of the bound by turn",
        [panel for variant in data.variants for panel in _panels(data, shares, variant.name)],
        "The dotted line is the bound. Bands: 95 % confidence intervals, clustered by instance and "
        "participant.",
    )
    yield _by_round(evidence, data, turns)


def _panels(data: Games, shares: pl.DataFrame, variant: str) -> Iterator[Chart]:
    rows = shares.filter(variant=variant)
    populations = [name for name in data.populations if name in set(rows["population"])]
    groups = [populations[start : start + LINES] for start in range(0, len(populations), LINES)]
    across = Axis("turn", zero=True, integer=True)
    up = Axis("surplus over its bound", percent=True)
    for number, group in enumerate(groups, 1):
        lines = []
        for tone, name in enumerate(group):
            marks = [Mark(0, 0, f"{name}, at the start", y_ends=(0, 0), size=2.5)]
            for row in rows.filter(population=name).sort("turn").rows(named=True):
                text, limits = (
                    f"{name}, turn {row['turn']}\n{_hover_text(row)}",
                    ends(row, "surplus"),
                )
                marks.append(Mark(row["turn"], row["surplus"], text, y_ends=limits, size=2.5))
            lines.append(Line(marks, name, tone, width=2, band=True))
        title = variant if len(groups) == 1 else f"{variant} ({number} of {len(groups)})"
        yield Chart(title, "share of the bound", [*lines, Rule(y=1)], across, up, 230)


def _hover_text(row: Mapping[str, Any]) -> str:
    limits = ""
    if row["surplus" + LOW] is not None:
        low, high = fixed(100 * row["surplus" + LOW]), fixed(100 * row["surplus" + HIGH])
        limits = f", {low} to {high} %"
    return f"{fixed(100 * row['surplus'])} %{limits}\n{counted(row['surplus.n'], 'game')}"


def _by_round(evidence: Evidence, data: Games, turns: pl.DataFrame) -> ReportTable:
    """Return the mean surplus after each of at most :data:`SHOWN` evenly spaced rounds."""
    sized = with_matching(turns, data.matches.select("match_id", "players"), "match_id", "m:1")
    rounds = sized.filter(pl.col("turn") % pl.col("players") == 0).with_columns(
        round=pl.col("turn") // pl.col("players")
    )
    last = rounds["round"].max()
    assert isinstance(last, int)
    selected = sorted({round(1 + (last - 1) * step / (SHOWN - 1)) for step in range(SHOWN)})
    shown = rounds.filter(pl.col("round").is_in(selected)).sort("round")
    cells = means(shown, ["surplus"], ["variant", "population", "round"])
    named = cells.with_columns(pl.format("round {}", "round").alias("round"))
    names = named["round"].unique(maintain_order=True)
    return table(
        evidence,
        "surplus-by-round",
        ordered(data, side_by_side(named, "surplus", "round")),
        columns={"rounds": dict(zip(names, names, strict=True))},
        leads=lambda row: data.lead(row["variant"], table=row["population"]),
    )


def table_3(evidence: Evidence) -> Iterator[ReportTable]:
    """Report the final surplus as a share of its upper bound.
    The share is the mean over games, with a standard error clustered by instance and participant.

    The second table shows surplus and bound in dollars. The ratio of means (total surplus over
    total bound) gives less weight to games with small bounds.
    """
    data = evidence.once(games)
    ratios = means(data.matches, ["ratio"], ["variant", "population"])
    parts = [name for name in ratios.columns if not name.endswith((LOW, HIGH))]
    frame = side_by_side(ordered(data, ratios.select(parts)), "ratio", "variant")
    yield table(
        evidence,
        "final-surplus",
        frame,
        columns={"variants": {variant.name: variant.name for variant in data.variants}},
        leads=lambda row: data.lead(table=row["population"]),
    )
    if populations := shown(evidence, data.populations):
        titles = {variant.name: paper_game(variant.name) for variant in data.variants}
        rows = paper_rows(frame, populations)
        yield table(evidence, "table-3", rows, columns={"variants": titles})
    by = ["variant", "population"]
    counts = data.matches.group_by(by, maintain_order=True).agg(
        pl.len().alias("games"),
        (pl.col("bound") == 0).sum().alias("nothing"),
        pl.when(pl.col("bound").sum() > 0)
        .then(pl.col("surplus").sum() / pl.col("bound").sum())
        .alias("share"),
    )
    accepted = data.turns.with_columns(pl.col("accepted").cast(pl.Float64))
    dollars = means(data.matches, ["surplus", "bound"], by, bounds={"bound": COUNT})
    for part in (counts, means(accepted, ["accepted"], by, bounds={"accepted": SHARE})):
        dollars = with_matching(dollars, part, by)
    yield table(
        evidence,
        "surplus-in-dollars",
        ordered(data, dollars),
        leads=lambda row: data.lead(row["variant"], table=row["population"]),
    )


def ordered(data: Games, frame: pl.DataFrame) -> pl.DataFrame:
    """Sort rows by variant and population, as in all tables."""
    rows = frame.sort(data.order("variant", "population"), maintain_order=True)
    return rows.select("population", pl.exclude("population"))


SCHEMA = {
    **dict.fromkeys(("variant", "first", "second"), pl.String),
    **dict.fromkeys(("difference", "difference.low", "difference.high"), pl.Float64),
    "difference.n": pl.Int64,
    "p": pl.Float64,
    "test": pl.String,
}


def table_4(evidence: Evidence) -> Iterator[Shown]:
    """Compare the final surplus of each pair of populations with permutation tests.
    The surplus is a share of the bound. The test is paired if two populations share at least half
    of the smaller population's instances, and unpaired otherwise. Games on the same instance, or of
    the same group of people, count once, with their mean. The paper doesn't name its test.

    p-values are two-sided; corrected p-values account for all comparisons within a game (Holm
    1979). Confidence intervals are Student's for paired and Welch's for unpaired instances.
    """
    data = evidence.once(games)
    if len(data.populations) < 2:
        raise NoData(
            f"all games are of the population {data.populations[0]}, but a comparison needs two; "
            "add another player"
        )
    frame = compared(data, evidence.draws, evidence.seed)
    if frame.is_empty():
        raise NoData("no two populations have a share of the bound in the same chip-trading game")
    yield Charts(
        "differences",
        "Significance of differences",
        [
            _difference_panel(data, frame.filter(variant=name), name)
            for name in frame["variant"].unique(maintain_order=True)
        ],
        "Cells show the corrected p-value of the difference. The arrow shows whether the "
        "population in the column gains more (↑) or less (↓) than the one in the row, and the "
        "colour by how much.",
        wide=len(data.populations) > MAX_NARROW,
    )
    yield table(
        evidence,
        "pairwise-tests",
        frame,
        facts={"draws": evidence.draws, "least": 2 / (evidence.draws + 1)},
        leads=lambda row: data.lead(row["variant"], table=row["second"]),
    )
    yield from _paper_differences(evidence, data, frame)


def _paper_differences(
    evidence: Evidence, data: Games, pairs: pl.DataFrame
) -> Iterator[ReportTable]:
    """Yield Table 4: p-values of pairs, with ↑ if the column's population has more surplus."""
    populations = shown(evidence, data.populations)
    if len(populations) < 2:
        return
    if printed_values("chips", evidence, "table-4") is not None:
        others = [name for name in populations if name not in POPULATIONS]
        populations = [*POPULATIONS, *others]
    results: dict[tuple[str, str, str], tuple[float, float]] = {}
    columns = ("variant", "first", "second", "difference", "p")
    for variant, first, second, gap, p in pairs.select(columns).iter_rows():
        results[variant, first, second], results[variant, second, first] = (gap, p), (-gap, p)
    rows = []
    for variant in pairs["variant"].unique(maintain_order=True):
        for index, first in enumerate(populations[:-1]):
            row: dict[str, Any] = {"variant": paper_game(variant), "population": paper_name(first)}
            for number, second in enumerate(populations[1:], 1):
                gap, p = results.get((variant, first, second), (None, None))
                if number <= index:
                    gap = p = None
                row |= {paper_name(second): p, f"{paper_name(second)} way": _arrow(gap)}
            rows.append(row)
    headers = [
        column
        for second in map(paper_name, populations[1:])
        for column in (Header(second, f"p, {second}", "", 3), Header(f"{second} way", "↑↓"))
    ]
    frame = pl.DataFrame(rows, infer_schema_length=None)
    yield table(evidence, "table-4", frame, columns={"populations": headers})


def _arrow(difference: float | None) -> str | None:
    """Return an arrow for the sign of a difference."""
    if difference is None:
        return None
    return "↑" if difference > 0 else "↓" if difference < 0 else "="


def compared(data: Games, draws: int, seed: int) -> pl.DataFrame:
    """Test the difference (second minus first) between each pair of populations, by variant."""
    people = pl.lit(None, pl.String)
    if PEOPLE in data.matches.columns:
        people = pl.col(PEOPLE).list.sort().list.join(" ")
    instances = (
        data.matches.drop_nulls("ratio")
        .with_columns(group=people)
        .group_by("variant", "population", *INSTANCES, maintain_order=True)
        .agg(pl.col("ratio").mean(), pl.col("group").first())
        .sort(INSTANCES)
    )
    generator = np.random.default_rng(seed)
    frames = []
    for variant in data.variants:
        by_population = instances.filter(variant=variant.name).partition_by(
            "population", as_dict=True
        )
        populations = [name for name in data.populations[::-1] if (name,) in by_population]
        rows = []
        for first, second in combinations(populations, 2):
            test = _tested(by_population[first,], by_population[second,], draws, generator)
            rows.append((variant.name, first, second, *test))
        frame = pl.DataFrame(rows, schema=SCHEMA, orient="row")
        corrected = pl.Series("p_holm", holm(frame["p"].to_numpy()), dtype=pl.Float64)
        frames.append(frame.with_columns(corrected))
    return pl.concat(frames)


def _tested(
    first: pl.DataFrame, second: pl.DataFrame, draws: int, generator: np.random.Generator
) -> tuple[float, float | None, float | None, int, float, str]:
    both = first.join(second, on=INSTANCES, suffix="_second", maintain_order="left", validate="1:1")
    paired = 2 * both.height >= min(first.height, second.height)
    if paired:
        minuend, subtrahend = _group_means(both, "ratio_second", "ratio")
    else:
        minuend, subtrahend = (*_group_means(second, "ratio"), *_group_means(first, "ratio"))
    test = permutation_test(minuend, subtrahend, paired=paired, draws=draws, seed=generator)
    samples = [minuend - subtrahend] if paired else [minuend, subtrahend]
    ends: tuple[float, float] | tuple[None, None] = (None, None)
    if min(map(len, samples)) > 1:
        variances = [float(sample.var(ddof=1)) / len(sample) for sample in samples]
        freedom = combined_freedom(variances, [len(sample) - 1 for sample in samples])
        ends = t_limits(test.difference, sum(variances) ** 0.5, freedom)
    instances = both.height if paired else first.height + second.height
    kind = f"{'paired' if paired else 'unpaired'}, {'exact' if test.exact else 'drawn'}"
    return test.difference, *ends, instances, test.p, kind


def _group_means(instances: pl.DataFrame, *ratios: str) -> list[FloatArray]:
    """Return the mean ratios of each group of people or, without people, of each instance."""
    groups = instances.select("^group(_second)?$").columns
    group = pl.coalesce(*groups, pl.concat_str(INSTANCES, separator=" "))
    means = instances.group_by(group.alias("of"), maintain_order=True).agg(pl.col(ratios).mean())
    return [means[name].to_numpy() for name in ratios]


def _difference_panel(data: Games, frame: pl.DataFrame, title: str) -> Chart:
    pairs = {(row["first"], row["second"]): row for row in frame.iter_rows(named=True)}
    named = {name for pair in pairs for name in pair}
    order = [name for name in data.populations[::-1] if name in named]

    def cell(row: str, column: str) -> Cell | None:
        pair = pairs.get((row, column))
        if pair is None:
            return None
        p = "<.001" if pair["p_holm"] < 0.001 else f"{pair['p_holm']:.3f}".lstrip("0")
        p = p.removesuffix(".000")
        arrow = _arrow(pair["difference"])
        return Cell(pair["difference"], _difference_text(pair), label=f"{p} {arrow}")

    return cells(title, "corrected p", ("", order[:-1]), ("", order[1:]), cell, middle=True)


def _difference_text(row: Mapping[str, Any]) -> str:
    limits = ""
    if row["difference" + LOW] is not None:
        low, high = fixed(row["difference" + LOW], 3), fixed(row["difference" + HIGH], 3)
        limits = f", {low} to {high}"
    return (
        f"{row['second']} minus {row['first']}\n{fixed(row['difference'], 3)}{limits}\n"
        f"p {row['p']:.4f}, corrected {row['p_holm']:.4f}\n"
        f"{counted(row['difference.n'], 'instance')}"
    )
