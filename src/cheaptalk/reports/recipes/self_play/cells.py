"""Means by objective, player and kind of partner, in the order in which they are shown."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from cheaptalk.games.deal_or_no_deal.rules import PLAYERS
from cheaptalk.reports.recipes.cells import means
from cheaptalk.reports.recipes.parts import Column, Lead
from cheaptalk.reports.recipes.self_play.stages import (
    GAME,
    ITSELF,
    OBJECTIVES,
    OTHERS,
    PEOPLE,
    Sides,
)

CELL = ("objective", "weight", "lineage", "iteration", "player")
WITH = {ITSELF: "self-play", PEOPLE: "with people", OTHERS: "with other players"}
"""What play with each kind of partner is called."""
PERCENT = (0.0, 100.0)
HEAD = (Column("player", "Player"), Column("objective", "Objective"))
SERIES = Column("series", "Play")


def cells(
    sides: Sides,
    frame: pl.DataFrame,
    values: Sequence[str],
    shares: Sequence[str] = (),
    by: str = "partner",
) -> pl.DataFrame:
    """One row a cell, each value ``x`` with ``x.low``, ``x.high`` and so on, and ``series``.

    Args:
        sides: where the frame comes from.
        frame: one row an observation, with the columns of ``CELL`` and ``by``.
        values: columns to take means of.
        shares: those of them that are percentages.
        by: a column that tells rows of one player and objective apart.
    """
    made = means(frame, values, [*CELL, by], bounds=dict.fromkeys(shares, PERCENT))
    return ordered(sides, made, by)


def ordered(sides: Sides, frame: pl.DataFrame, by: str = "partner") -> pl.DataFrame:
    """Rows by objective as the paper names them, lineage, iteration and ``by``; with ``series``."""
    return frame.with_columns(series=_series(sides, by)).sort(
        place("weight", OBJECTIVES), "weight", "lineage", "iteration", "player",
        place(by, WITH), by, nulls_last=True, maintain_order=True,
    )  # fmt: skip


def place(column: str, known: Iterable[Any]) -> pl.Expr:
    """For sorting: the place of a column's value among those that are known, then all others."""
    values = list(known)
    places = range(len(values))
    return pl.col(column).replace_strict(values, places, default=99, return_dtype=pl.Int64)


def _series(sides: Sides, by: str) -> pl.Expr:
    """What the line of a row is called: its lineage where there are several, and ``by``."""
    what = pl.col(by).replace(list(WITH), list(WITH.values()))
    if not sides.staged:
        return what
    named = pl.format("{}, {}", "lineage", what).str.strip_prefix(", ")
    several = sides.frame.drop_nulls("iteration")["lineage"].n_unique() > 1
    lineage = named if several else what
    alone = pl.when(pl.col(by) == ITSELF).then("lineage").otherwise(named)
    return pl.when(pl.col("iteration").is_null()).then(alone).otherwise(lineage)


def leads(frame: pl.DataFrame, by: str = "partner") -> Callable[[Mapping[str, Any]], Lead | None]:
    """What leads from rows of :func:`cells` to their matches, where a query can tell these."""
    cell = ["player", "weight", by]
    found = frame.group_by(cell).agg(pl.col("opponent", "configuration").unique().sort())
    places = {tuple(row[:3]): row[3:] for row in found.iter_rows()}

    def lead(row: Mapping[str, Any]) -> Lead | None:
        player, opponents, configurations = row["player"], *places[tuple(row[key] for key in cell)]
        if len(opponents) > 1:
            return None
        query = {"status": "finished", "configuration": ",".join(configurations)}
        if opponents == [player]:
            return Lead(GAME, query | {f"player.{place}": player for place in PLAYERS})
        return Lead(GAME, query | {"player": player, "player.player": opponents[0]})

    return lead
