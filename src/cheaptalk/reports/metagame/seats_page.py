"""Writing the page of games of two seats."""

from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

from cheaptalk.reports.metagame.naming import selected
from cheaptalk.reports.metagame.page import Played, write_page
from cheaptalk.reports.metagame.seats import SeatsAnalysis
from cheaptalk.reports.metagame.seats_figures import payoff_maps, query
from cheaptalk.reports.metagame.seats_making import SeatWishes, analyse_seats


def analyses_by_seat(
    played: Played, games: Sequence[str] = (), **wishes: Unpack[SeatWishes]
) -> list[SeatsAnalysis]:
    """The games asked for, by seat; see :func:`.selected` and :func:`.analyse_seats`."""
    return [analyse_seats(one, **wishes) for one in selected(played.frames, games)]


def seats_report(
    name: str,
    analyses: Sequence[SeatsAnalysis],
    out: Path,
    *,
    seed: int = 0,
    played: Played | None = None,
) -> None:
    """Write a page on games of two seats: equilibria, payoff maps, every pair with intervals.

    All arguments, and what is raised, are as for :func:`.metagame_report`.
    """
    write_page(
        "metagame_seats.html.jinja",
        out,
        name,
        seed,
        played,
        analyses=analyses,
        maps={one.name: payoff_maps(one) for one in analyses},
        query=query,
    )
