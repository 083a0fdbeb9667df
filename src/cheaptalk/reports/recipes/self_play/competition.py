"""The strictly competitive objective: how players fare against others, and how often they agree."""

from collections.abc import Iterator

import polars as pl

from cheaptalk.games.deal_or_no_deal.objectives import OBJECTIVES
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import Charts, Column, Lacking, Table
from cheaptalk.reports.recipes.self_play.cells import HEAD, cells, leads
from cheaptalk.reports.recipes.self_play.drawing import Shown, panels
from cheaptalk.reports.recipes.self_play.stages import ITSELF, Sides


def competition(evidence: Evidence) -> Iterator[Table | Charts]:
    """How players fare where one wins what the other loses.

    In self-play the mean score is 0 by the rules, so that only agreements show whether play
    improves; against an opponent the score shows it. The score is the player's own points less the
    opponent's, 0 without an agreement. Intervals are 95 % intervals clustered by deal.
    """
    sides = evidence.once(Sides)
    frame = sides.frame.filter(pl.col("weight") == OBJECTIVES["comp"])
    if frame.is_empty():
        raise Lacking(
            "no match under the strictly competitive objective has finished; add objective: comp"
        )
    against = pl.when(pl.col("partner") != ITSELF).then(pl.format("against {}", "opponent"))
    frame = frame.with_columns(against=against.otherwise(pl.lit(ITSELF)))
    made = cells(sides, frame, ["own", "agreement"], ["agreement"], by="against")
    met = made.filter(pl.col("against") != ITSELF)
    score, agreed = Shown("own", "mean score, points", 2), Shown("agreement", "% of matches")
    shown = [
        *(one._replace(title="Score") for one in panels(met, score, staged=sides.staged)),
        *(one._replace(title="Agreement") for one in panels(made, agreed, staged=sides.staged)),
    ]
    yield Charts("competition-figure", "Score against others, and agreements", shown)
    columns = (
        HEAD[0], Column("series", "Play"), Column("own", "Score", "points", 2),
        Column("agreement", "Agreement", "% of matches", 1), Column("own.n", "Matches", "", 0),
    )  # fmt: skip
    yield Table("competition", "Strict competition", made, columns, leads=leads(frame, "against"))
