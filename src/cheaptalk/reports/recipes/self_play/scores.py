"""Scores, agreements and their optimality by iteration, and how scores rise."""

from collections.abc import Iterator

import polars as pl

from cheaptalk.reports.recipes.cells import means, side_by_side
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import Charts, Column, Lacking, Table
from cheaptalk.reports.recipes.self_play.cells import (
    HEAD,
    PERCENT,
    SERIES,
    WITH,
    cells,
    leads,
    place,
)
from cheaptalk.reports.recipes.self_play.drawing import Shown, panels
from cheaptalk.reports.recipes.self_play.stages import (
    ITSELF,
    OBJECTIVES,
    ONE_ITERATION,
    PEOPLE,
    Sides,
)

RATES = {"agreement": "Agreement", "pareto_optimality": "Pareto optimality"}
ENDS = ("before", "after", "change")


def scores(evidence: Evidence) -> Iterator[Table | Charts]:
    """What a player scores on average: in self-play with its copy, with people, with others.

    A match counts 0 without an agreement. In self-play both players' scores are averaged; in other
    matches a score is the player's own, and its partner's stands beside it. Intervals are 95 %
    intervals clustered by deal.
    """
    sides = evidence.once(Sides)
    frame = cells(sides, sides.frame, ["own", "theirs"])
    frame = frame.with_columns(
        pl.when(pl.col("partner") != ITSELF).then(pl.col(name)).alias(name)
        for name in frame.columns if name.startswith("theirs")
    )  # fmt: skip
    number = Shown("own", "mean score, points", 2)
    yield Charts("scores-figure", "Score by iteration" if sides.staged else "Score by player",
                 panels(frame, number, staged=sides.staged),
                 "Whiskers are 95 % intervals clustered by deal.")  # fmt: skip
    columns = (
        *HEAD, SERIES,
        Column("own", "Score", "points", 2, "The mean payoff: own points plus lambda times the "
               "partner's, 0 without an agreement."),
        Column("theirs", "Partner's score", "points", 2, "What the partner got; in self-play it is "
               "part of the score."),
        Column("own.n", "Matches", "", 0),
    )  # fmt: skip
    yield Table("scores", "Mean scores", frame, columns, leads=leads(sides.frame))


def agreements(evidence: Evidence) -> Iterator[Table | Charts]:
    """How many matches end in an agreement, and how many in one that is Pareto-optimal.

    Both are shares of all matches: one without an agreement counts as not optimal. A division is
    Pareto-optimal if no other pays one player more and none less. Intervals are 95 % intervals
    clustered by deal.
    """
    sides = evidence.once(Sides)
    rates = list(RATES)
    frame = cells(sides, sides.frame, rates, rates)
    for key, title in RATES.items():
        shown = panels(frame, Shown(key, f"{title}, % of matches"), staged=sides.staged)
        yield Charts(f"{key}-figure", title, shown)
    columns = tuple(Column(key, title, "% of matches", 1) for key, title in RATES.items())
    shown_columns = (*HEAD, SERIES, *columns, Column("agreement.n", "Matches", "", 0))
    yield Table("agreements", "Agreement and Pareto optimality", frame, shown_columns,
                leads=leads(sides.frame))  # fmt: skip


def before_and_after(evidence: Evidence) -> Iterator[Table]:
    """Agreement and Pareto optimality of the first and the last iteration.

    The change is the share of the last iteration less that of the first. 95 % intervals are
    clustered by deal; that of the change allows for both meeting the same deals, where they did.
    """
    sides = evidence.once(Sides)
    cell = ["lineage", "weight", "partner"]
    at = pl.col("iteration")
    ends = sides.frame.drop_nulls("iteration").filter(
        pl.col("partner").is_in([ITSELF, PEOPLE]), at.n_unique().over(cell) > 1
    )
    if ends.is_empty():
        raise Lacking(f"in self-play or with people, {ONE_ITERATION}")
    order = [place("weight", OBJECTIVES), "weight", place("partner", WITH)]
    ends = ends.sort(order, maintain_order=True).with_columns(
        end=pl.when(at == at.min().over(cell)).then(pl.lit(ENDS[0]))
        .when(at == at.max().over(cell)).then(pl.lit(ENDS[1]))
    ).drop_nulls("end")  # fmt: skip
    long = pl.concat([_ends(ends, key, title) for key, title in RATES.items()])
    wide = side_by_side(long, "share", "end")
    rows = (Column("rate", "Rate"), *HEAD[1:], SERIES)
    lineage = (Column("lineage", "Lineage"),) if wide["lineage"].n_unique() > 1 else ()
    numbers = [Column(end, end.capitalize(), "% of matches", 1) for end in ENDS]
    yield Table(
        "before-after", "Before training and after the last iteration", wide,
        (*rows, *lineage, *numbers), f"Compared are: {_which(ends)}.",
    )  # fmt: skip


def _which(ends: pl.DataFrame) -> str:
    """Which iterations are compared, with each kind of partner."""
    spans = ends.group_by("partner", maintain_order=True).agg(
        pl.col("iteration").min().alias("first"), pl.col("iteration").max().alias("last")
    )
    return "; ".join(
        f"{WITH[partner]}, iterations {first} and {last}"
        for partner, first, last in spans.iter_rows()
    )


def _ends(ends: pl.DataFrame, key: str, title: str) -> pl.DataFrame:
    """A rate before and after, and its change, a row each."""
    cell = ["rate", "objective", "series", "lineage"]
    play = pl.col("partner").replace(list(WITH), list(WITH.values()))
    ends = ends.drop_nulls(key).with_columns(rate=pl.lit(title), series=play, share=pl.col(key))
    both = ends.filter(pl.col("end").n_unique().over(cell) == 2)
    levels = means(ends, ["share"], [*cell, "end"], bounds={"share": PERCENT})
    changes = means(_influence(both, cell), ["share"], [*cell, "end"])
    return pl.concat([levels, changes])


def _influence(both: pl.DataFrame, cell: list[str]) -> pl.DataFrame:
    """Rows of which the mean is the change, and the spread that of the change.

    With m and n the mean and number of matches of a row's end and N those of both ends, a row's
    value x becomes change +/- N / n (x - m): their mean is the change, and the interval of their
    mean by :func:`.mean_intervals` that of the difference of two means with clusters in common.
    """
    after = pl.col("end") == ENDS[1]
    share = pl.col("share")
    change = (share.filter(after).mean() - share.filter(~after).mean()).over(cell)
    weight = pl.len().over(cell) / pl.len().over([*cell, "end"])
    off = (share - share.mean().over([*cell, "end"])) * weight
    return both.with_columns(
        share=change + pl.when(after).then(off).otherwise(-off), end=pl.lit(ENDS[2])
    )
