"""Writing the page of empirical games: one HTML file that needs nothing else."""

import platform
import re
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import jinja2
import polars as pl
from plotly.offline import get_plotlyjs

from cheaptalk import __version__
from cheaptalk.equilibrium.drawing import DRAWS
from cheaptalk.records import Status, Store
from cheaptalk.records.browsing import some
from cheaptalk.records.redeals import Standing
from cheaptalk.reports.figures import Panel
from cheaptalk.reports.metagame import figures
from cheaptalk.reports.metagame.analysis import Analysis, analyse
from cheaptalk.reports.metagame.conduct import mistake_radar, opposition_histogram
from cheaptalk.reports.metagame.graph import Graph, best_response_graph
from cheaptalk.reports.metagame.naming import selected
from cheaptalk.reports.pages import PORT, environment, policy, source, verbatim
from cheaptalk.reports.report import SCRIPT, TOOLS, written_whole
from cheaptalk.reports.samples import packed, sampled
from cheaptalk.rules import Chance
from cheaptalk.statistics import match_frames

SAVING = "saving.js"


class Played(NamedTuple):
    """The matches behind some games.

    Attributes:
        store, study: where they are recorded.
        frames: as :func:`.match_frames` makes them.
        sample: transcripts in the page, for each pairing and way of ending.
        port: where ``cheaptalk view`` will listen, for links to all other transcripts.
    """

    store: Store
    study: str
    frames: Mapping[str, pl.DataFrame]
    sample: int = 1
    port: int = PORT

    @classmethod
    def of(cls, store: Store, study: str, *, sample: int = 1, port: int = PORT) -> "Played":
        """The matches of a study.

        Raises:
            StoreError: there is no such study.
            CheaptalkError: a game is not installed, or a measure failed.
        """
        return cls(store, study, match_frames(store, study), sample, port)

    def analyses(
        self,
        games: Sequence[str] = (),
        *,
        draws: int = DRAWS,
        seed: int = 0,
        without: Sequence[str] = (),
    ) -> list[Analysis]:
        """The games asked for, analysed; see :func:`.selected` and :func:`.analyse`."""
        chosen = selected(self.frames, games)
        return [analyse(one, draws=draws, seed=seed, without=without) for one in chosen]

    @property
    def unscored(self) -> dict[str, int]:
        """Matches that are no part of any payoff, by status."""
        counts: dict[str, int] = {}
        for frame in self.frames.values():
            for status, dropped, number in frame.group_by("status", "dropped").len().iter_rows():
                what = "dropped" if dropped and status == Status.FINISHED.value else status
                counts[what] = counts.get(what, 0) + number
        counts.pop(Status.FINISHED.value, None)
        return counts


def metagame_report(
    name: str,
    analyses: Sequence[Analysis],
    out: Path,
    *,
    seed: int = 0,
    played: Played | None = None,
) -> None:
    """Write a page on empirical games: their equilibria, graphs and measures, with intervals.

    It works offline; the same matches and seed give the same page. An existing file is replaced at
    the end, whole.

    Args:
        name: of the study or file, for the heading.
        analyses: the games, in order.
        out: the file to write.
        seed: with which bootstrap games were drawn, to be stated.
        played: the matches behind them, if there are any.

    Raises:
        CheaptalkError: the file cannot be written.
    """
    pages = environment()
    pages.filters["anchor"] = anchor
    plotly, scripts = verbatim(get_plotlyjs()), (source(SCRIPT), source(SAVING))
    page = pages.get_template("metagame.html.jinja").stream(
        name=name,
        analyses=analyses,
        figures={one.name: _panels(one) for one in analyses},
        maps={one.name: figures.payoff_map(one) for one in analyses},
        conduct={one.name: _conduct(one) for one in analyses},
        graphs={one.name: _graph(one) for one in analyses},
        number=figures.number,
        played=played,
        transcripts=_transcripts(played, pages) if played else "",
        viewer=f"http://127.0.0.1:{played.port}" if played else "",
        seed=seed,
        versions={"cheaptalk": __version__, "Python": platform.python_version()}
        | {tool: version(tool) for tool in TOOLS},
        scripts=(plotly, *scripts),
        policy=policy(plotly, *scripts),
    )
    page.enable_buffering(100)
    with written_whole(out) as file:
        file.writelines(page)


def anchor(text: str) -> str:
    """A text as it can stand in an address or the name of a file.

    >>> anchor("discount 0.9, rounds 3")
    'discount-0.9-rounds-3'
    """
    return re.sub(r"[^\w.]+", "-", text).strip("-")


def _panels(analysis: Analysis) -> list[Panel]:
    return [figures.mixture_bars(analysis), figures.regret_ranking(analysis)]


def _conduct(analysis: Analysis) -> list[Panel]:
    """How item bargaining was played."""
    if analysis.selected is None or analysis.selected.box != "item_bargaining":
        return []
    frame = analysis.selected.frame
    panels = (mistake_radar(frame, analysis.labels), opposition_histogram(frame))
    return [panel for panel in panels if panel]


def _graph(analysis: Analysis) -> Graph:
    shares = [figures.number(one) for one in analysis.against("mixture")]
    responses = analysis.responses
    return best_response_graph(analysis.labels, responses.payoffs, responses.alone, shares)


def _transcripts(played: Played, pages: jinja2.Environment) -> str:
    """A sample of transcripts, as the page of a study has it."""
    store, study = played.store, played.study
    chosen = sampled(played.frames, played.sample, Chance(study))
    template = pages.get_template("match.html.jinja")
    return packed(some(store, study, chosen), template, Standing(store, study))
