"""Errors and aborts by iteration."""

from collections.abc import Iterator

from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import Charts, Column, Table
from cheaptalk.reports.recipes.self_play.cells import HEAD, SERIES, cells, leads
from cheaptalk.reports.recipes.self_play.drawing import Shown, panels
from cheaptalk.reports.recipes.self_play.stages import Sides

RATES = {
    "erred": Column(
        "erred", "Errors", "% of matches", 1, "Matches in which an answer of the player's was not "
        "valid at the first try: it was asked again with the reason, or finally failed. In "
        "self-play an answer of either copy's counts.",
    ),
    "aborted": Column(
        "aborted", "Aborts", "% of matches", 1, "Matches that ended because a player, of either "
        "side, finally gave no valid answer; five tries are allowed unless a player sets others.",
    ),
}  # fmt: skip


def faults(evidence: Evidence) -> Iterator[Table | Charts]:
    """How many matches have an answer that is no legal move, and how many end for want of one.

    Hand-written negotiators make no such errors; what never happened is not drawn. Intervals are
    95 % intervals clustered by deal.
    """
    sides = evidence.once(Sides)
    frame = cells(sides, sides.frame, list(RATES), list(RATES))
    for key, column in RATES.items():
        shown = Shown(key, f"{column.title.lower()}, {column.unit}")
        if frame[key].sum():
            yield Charts(f"{key}-figure", column.title, panels(frame, shown, staged=sides.staged))
    columns = (*HEAD, SERIES, *RATES.values(), Column("erred.n", "Matches", "", 0))
    yield Table("errors-aborts", "Errors and aborts", frame, columns, leads=leads(sides.frame))
