"""Iterations against one another, of a lineage and of several: who gets what from whom."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from cheaptalk.papers.self_play.stages import GAME, OWN, PERCENT, Sides, ordered
from cheaptalk.reports.charts.chart import Chart, Lead
from cheaptalk.reports.charts.kinds import Cell, cells
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import means
from cheaptalk.reports.recipes.parts import Charts, Lacking
from cheaptalk.reports.recipes.tables import Header, ReportTable, estimate
from cheaptalk.rules import counted
from cheaptalk.statistics.intervals import Bounds, BoundsColumns
from cheaptalk.text import capital, fixed

MET = ("objective", "weight", "lineage", "iteration", "player", "family", "met", "opponent")


def cross_play(evidence: Evidence) -> Iterator[ReportTable | Charts]:
    """What each iteration gets from other ones, and how often they agree.

    A lineage that learned a language of its own agrees with itself, and less with the iterations
    before it, or with a lineage of another seed. A row's player is the one whose score it is;
    scores count 0 without an agreement. Intervals are 95 % intervals clustered by deal.
    """
    sides = evidence.once(Sides)
    if sides.kin.is_empty():
        raise Lacking("no two iterations met; list seatings such as [iteration-0, iteration-5]")
    limits: dict[str, Bounds | BoundsColumns] = {"own": OWN, "agreement": PERCENT}
    frame = means(sides.kin, ["own", "agreement"], MET, bounds=limits)
    frame = ordered(sides, frame.with_columns(partner=pl.lit("")))
    frame = frame.sort("weight", "lineage", "iteration", "family", "met", maintain_order=True)
    shown = []
    within = frame.filter(pl.col("family") == pl.col("lineage")).filter(
        (pl.col("met") != pl.col("iteration")).any().over("objective", "lineage")
    )
    for (objective, lineage), part in within.group_by("objective", "lineage", maintain_order=True):
        title = ", ".join(filter(None, (capital(str(objective)), str(lineage))))
        shown.append(_map(title, part))
    if shown:
        yield Charts("cross-play-figure", "Agreements of iterations, % of matches", shown)
    columns = (
        Header("player", "Player"), Header("opponent", "Meets"), Header("objective", "Objective"),
        Header("own", "Score", "points", 2, "The player's own mean payoff."),
        Header("agreement", "Agreement", "% of matches", 1), Header("own.n", "Matches", "", 0),
    )  # fmt: skip
    yield ReportTable("cross-play", "Iterations against one another", frame, columns, leads=_lead)


def _map(title: str, frame: pl.DataFrame) -> Chart:
    """Who agrees with whom: a row an iteration, a column the one it meets."""
    rows = {(str(one["iteration"]), str(one["met"])): one for one in frame.iter_rows(named=True)}
    names = [str(one) for one in sorted({*frame["iteration"], *frame["met"]})]

    def cell(row: str, column: str) -> Cell | None:
        one = rows.get((row, column))
        if one is None:
            return None
        agreed, score = estimate(one, "agreement"), estimate(one, "own")
        said = (
            f"iteration {row} with {column}\n{fixed(one['agreement'], 1)} % agree"
            f"{agreed.within(1)}\nscore {fixed(one['own'], 2)}{score.within(2)}\n"
            f"{counted(one['own.n'], 'match')}"
        )
        return Cell(one["agreement"], said, _lead(one))

    return cells(title, "", ("iteration", names), ("meets iteration", names), cell, places=0)


def _lead(row: Mapping[str, Any]) -> Lead:
    query = {"status": "finished", "player": row["player"]}
    return Lead(GAME, query | {"player.player": row["opponent"]})
