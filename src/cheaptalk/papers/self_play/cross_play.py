"""Cross-play between iterations of one or more lineages."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from cheaptalk.papers.self_play.stages import GAME, OWN, PERCENT, Sides, ordered, table
from cheaptalk.reports.charts.chart import Chart, Lead
from cheaptalk.reports.charts.kinds import Cell, cells
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import means
from cheaptalk.reports.recipes.parts import Charts, NoData, Shown
from cheaptalk.reports.recipes.tables import estimate
from cheaptalk.rules import counted
from cheaptalk.statistics.limits import Bounds, BoundsColumns
from cheaptalk.text import capital, fixed

MET = ("objective", "weight", "lineage", "iteration", "player", "family", "met", "opponent")


def cross_play(evidence: Evidence) -> Iterator[Shown]:
    """Report each iteration's score and share of agreements with other iterations.

    A lineage that develops its own language agrees with itself, but less with earlier iterations or
    with a lineage of another seed. The score is that of the row's player, with 0 for matches
    without an agreement. 95 % confidence intervals are clustered by instance.
    """
    sides = evidence.once(Sides)
    if sides.kin.is_empty():
        raise NoData("no two iterations met; add pairings such as [iteration-0, iteration-5]")
    limits: dict[str, Bounds | BoundsColumns] = {"own": OWN, "agreement": PERCENT}
    frame = means(sides.kin, ["own", "agreement"], MET, bounds=limits)
    frame = ordered(sides, frame.with_columns(partner=pl.lit("")))
    frame = frame.sort("weight", "lineage", "iteration", "family", "met", maintain_order=True)
    panels = []
    within = frame.filter(pl.col("family") == pl.col("lineage")).filter(
        (pl.col("met") != pl.col("iteration")).any().over("objective", "lineage")
    )
    for (objective, lineage), part in within.group_by("objective", "lineage", maintain_order=True):
        title = ", ".join(filter(None, (capital(str(objective)), str(lineage))))
        panels.append(_map(title, part))
    if panels:
        yield Charts("cross-play-figure", "Agreements between iterations, % of matches", panels)
    yield table(evidence, "cross-play", frame, leads=_lead)


def _map(title: str, frame: pl.DataFrame) -> Chart:
    rows = {(str(row["iteration"]), str(row["met"])): row for row in frame.iter_rows(named=True)}
    names = [str(number) for number in sorted({*frame["iteration"], *frame["met"]})]

    def cell(iteration: str, opponent: str) -> Cell | None:
        row = rows.get((iteration, opponent))
        if row is None:
            return None
        agreement, score = estimate(row, "agreement"), estimate(row, "own")
        text = (
            f"iteration {iteration} with {opponent}\n{fixed(row['agreement'], 1)} % agree"
            f"{agreement.within(1)}\nscore {fixed(row['own'], 2)}{score.within(2)}\n"
            f"{counted(row['own.n'], 'match')}"
        )
        return Cell(row["agreement"], text, _lead(row))

    return cells(title, "", ("iteration", names), ("opponent", names), cell, decimals=0)


def _lead(row: Mapping[str, Any]) -> Lead:
    query = {"status": "finished", "player": row["player"]}
    return Lead(GAME, query | {"player_player": row["opponent"]})
