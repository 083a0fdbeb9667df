"""Which populations gain more than which, and whether that can be chance."""

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from cheaptalk.papers.chips.games import Games, games
from cheaptalk.papers.chips.proposals import VARIANT
from cheaptalk.reports.figures import Panel, Trace, short
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import HIGH, LOW, Charts, Header, Lacking, ReportTable, finite
from cheaptalk.rules import counted
from cheaptalk.statistics import PermutationTest, holm, permutation_test
from cheaptalk.text import fixed

DEAL = ["configuration", "deal"]
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
    found = games(evidence)
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
        [_panel(found, frame.filter(variant=name), name)
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


def compared(found: Games, draws: int, seed: int) -> pl.DataFrame:
    """One row a variant and two populations; ``difference`` is the second less the first."""
    deals = (
        found.matches.drop_nulls("ratio")
        .group_by("variant", "population", *DEAL)
        .agg(pl.col("ratio").mean())
        .sort(DEAL)
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
    """The difference, its interval, on how many deals, p and the test's name."""
    both = first.join(second, on=DEAL, suffix="_second", maintain_order="left")
    paired = 2 * both.height >= min(first.height, second.height)
    sides = (both["ratio_second"], both["ratio"]) if paired else (second["ratio"], first["ratio"])
    one, other = (side.to_numpy() for side in sides)
    test = permutation_test(one, other, paired=paired, draws=draws, seed=generator)
    low, high = _limits(one, other, test)
    deals = both.height if paired else first.height + second.height
    kind = f"{'paired' if paired else 'unpaired'}, {'exact' if test.exact else 'drawn'}"
    return test.difference, low, high, deals, test.p, kind


def _limits(
    one: np.ndarray[Any, np.dtype[np.float64]],
    other: np.ndarray[Any, np.dtype[np.float64]],
    test: PermutationTest,
) -> tuple[float | None, float | None]:
    """The interval of the difference; none where a side has a single deal."""
    if min(len(one), len(other)) < 2:
        return None, None
    if (
        np.ptp(one - other if test.paired else np.concatenate([one - one[0], other - other[0]]))
        == 0
    ):
        return test.difference, test.difference
    found = (
        stats.ttest_rel(one, other) if test.paired else stats.ttest_ind(one, other, equal_var=False)
    ).confidence_interval()
    return finite(found.low), finite(found.high)


def _panel(found: Games, frame: pl.DataFrame, title: str) -> Panel:
    pairs = {(row["first"], row["second"]): row for row in frame.iter_rows(named=True)}
    named = {name for pair in pairs for name in pair}
    order = [one for one in found.populations[::-1] if one in named]
    rows, columns = order[:-1], order[1:]
    cells = [[pairs.get((row, column)) for column in columns] for row in rows]
    trace: Trace = {
        "type": "heatmap", "x": columns, "y": rows,
        "z": [[one and one["difference"] for one in line] for line in cells],
        "text": [[_cell_text(one) if one else "" for one in line] for line in cells],
        "hovertext": [[_hover_text(one) if one else "" for one in line] for line in cells],
        "texttemplate": "%{text}", "hovertemplate": "%{hovertext}<extra></extra>",
        "xgap": 1, "ygap": 1, "hoverongaps": False, "showscale": False,
    }  # fmt: skip
    layout = {
        "yaxis": {"type": "category", "autorange": "reversed", "tickvals": rows,
                  "ticktext": list(map(short, rows)), "showgrid": False},
        "xaxis": {"type": "category", "side": "top", "tickvals": columns,
                  "ticktext": list(map(short, columns)), "showgrid": False},
    }  # fmt: skip
    return Panel(title, "corrected p", 110 + 40 * len(rows), [trace], layout)


def _cell_text(row: Mapping[str, Any]) -> str:
    p = "&lt;.001" if row["p_holm"] < 0.001 else f"{row['p_holm']:.3f}".lstrip("0")
    return f"{p} {'↑' if row['difference'] > 0 else '↓' if row['difference'] < 0 else '='}"


def _hover_text(row: Mapping[str, Any]) -> str:
    limits = ""
    if row["difference" + LOW] is not None:
        low, high = fixed(row["difference" + LOW], 3), fixed(row["difference" + HIGH], 3)
        limits = f", {low} to {high}"
    return (
        f"{row['second']} less {row['first']}<br>{fixed(row['difference'], 3)}{limits}<br>"
        f"p {row['p']:.4f}, corrected {row['p_holm']:.4f}<br>{counted(row['difference.n'], 'deal')}"
    )
