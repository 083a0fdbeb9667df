"""Whether scores rise with the iterations, and whether those of agreements do."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from cheaptalk.reports.pages import capital
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import COUNT, HIGH, LOW, Column, Lacking, Table
from cheaptalk.reports.recipes.self_play.cells import SERIES, WITH, ordered
from cheaptalk.reports.recipes.self_play.stages import ONE_ITERATION, Sides
from cheaptalk.statistics import DEALS, StatisticsError, correlation

GROUP = ("weight", "objective", "lineage", "partner")


def rises(evidence: Evidence) -> Iterator[Table]:
    """Pearson's correlation of the iteration with the score of a match.

    Over all matches, and over those with an agreement only: where the second is near 0, scores rise
    because more matches end in an agreement, not because agreements get better. The score is the
    mean of both players' in self-play, the player's own elsewhere. 95 % intervals are percentiles
    of bootstrap draws of whole deals.
    """
    sides = evidence.once(Sides)
    frame = sides.frame.drop_nulls("iteration").with_columns(score=pl.col("own"))
    frame = frame.filter(pl.col("iteration").n_unique().over(GROUP) > 1)
    if frame.is_empty():
        raise Lacking(ONE_ITERATION)
    notes: list[str] = []
    rows = [
        dict(zip(GROUP, key, strict=True)) | _correlations(part, evidence, notes)
        for key, part in frame.group_by(GROUP, maintain_order=True)
    ]
    made = pl.DataFrame(rows, infer_schema_length=None).with_columns(
        pl.lit(0).alias("iteration"), pl.lit("").alias("player"),
        pl.col("^(all|agreed)(\\.low|\\.high)?$").cast(pl.Float64),
    )  # fmt: skip
    columns = (
        Column("objective", "Objective"), SERIES,
        Column("all", "All matches", "r", 2), Column("all.n", "Matches", "", 0),
        Column("agreed", "Agreements only", "r", 2), Column("agreed.n", "Agreements", "", 0),
    )  # fmt: skip
    yield Table(
        "correlations", "Correlation of iteration and score",
        ordered(sides, made).drop("iteration", "player"), columns, notes=tuple(notes),
    )  # fmt: skip


def _correlations(part: pl.DataFrame, evidence: Evidence, notes: list[str]) -> dict[str, Any]:
    """The correlation over all matches and over those with an agreement; why there is none."""
    found: dict[str, Any] = {}
    groups = {"all": part, "agreed": part.filter(pl.col("agreement") == 100)}
    for key, rows in groups.items():
        found |= {key: None, key + LOW: None, key + HIGH: None, key + COUNT: rows.height}
        try:
            one = correlation(
                rows.select("iteration", "score", *DEALS), "iteration", "score",
                draws=evidence.draws, seed=evidence.seed,
            )  # fmt: skip
        except StatisticsError as error:
            which = "all matches" if key == "all" else "agreements"
            play = WITH[part["partner"][0]]
            notes.append(f"{capital(part['objective'][0])}, {play}, {which}: {error}.")
        else:
            found |= {key: one.estimate, key + LOW: one.low, key + HIGH: one.high}
    return found
