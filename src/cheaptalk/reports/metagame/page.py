"""Writing the pages of empirical games: one HTML file that needs nothing else."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import polars as pl

from cheaptalk.equilibrium.analysis.analysis import Analysis
from cheaptalk.equilibrium.analysis.estimation import (
    AnalysisOptions,
    SeatsOptions,
    analyse,
    analyse_seats,
)
from cheaptalk.equilibrium.analysis.providers import providers_of_models
from cheaptalk.equilibrium.analysis.selection import MANY, Selected, measures_shown, selected
from cheaptalk.equilibrium.analysis.two_seats import SeatsAnalysis
from cheaptalk.frames import match_frames
from cheaptalk.frames.unscored import unscored
from cheaptalk.records import Store
from cheaptalk.records.store.queries import places_of
from cheaptalk.reports.charts.chart import Chart
from cheaptalk.reports.charts.colours import tones_of
from cheaptalk.reports.metagame.behaviour_figures import (
    concession_curves,
    deal_histogram,
    demands,
    self_play_radar,
)
from cheaptalk.reports.metagame.parts import analysis_parts
from cheaptalk.reports.metagame.seats_parts import seats_parts
from cheaptalk.reports.output import write_page
from cheaptalk.reports.pages import VIEWER
from cheaptalk.reports.recipes.evidence import check_players
from cheaptalk.reports.recipes.parts import MadePart, Recipe, RecipePart, Shown, painted
from cheaptalk.reports.samples import packed, sampled
from cheaptalk.rules import Chance
from cheaptalk.rules.display import brief
from cheaptalk.studies.lookup import Named, Place, name_of
from cheaptalk.text import capital


class Played(NamedTuple):
    """The matches behind some games.

    Attributes:
        store, study: where they are recorded.
        frames: as :func:`.match_frames` makes them, with the measures that pages make use of.
        sample: transcripts in the page, for each pairing and way of ending.
        viewer: the address of a viewer, for links to all other transcripts.
        others: studies whose matches are taken together with the study's.
    """

    store: Store
    study: str
    frames: Mapping[str, pl.DataFrame]
    sample: int = 1
    viewer: str = VIEWER
    others: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return brief(self, f"{', '.join(self.studies)}: {', '.join(self.frames)}")

    @classmethod
    def of(
        cls, store: Place, study: Named, *others: Named, sample: int = 1, viewer: str = VIEWER
    ) -> "Played":
        """The matches of a study, with the measures that the page shows.

        Args:
            others: studies to take together with it; a match that is in several counts once.

        Raises:
            StoreError: there is no such study.
            CheaptalkError: a game is not installed, or a measure failed.
        """
        first, *rest = names = [name_of(one) for one in (study, *others)]
        with Store.opened(store) as opened:
            check_players(opened, names)
            frames = [
                match_frames(opened, one, only=measures_shown(places_of(opened, one)))
                for one in names
            ]
        return cls(opened, first, _together(frames), sample, viewer, tuple(rest))

    @property
    def studies(self) -> tuple[str, ...]:
        """The study and those taken together with it."""
        return (self.study, *self.others)

    def analyses(
        self, games: Sequence[str] = (), **options: Unpack[AnalysisOptions]
    ) -> list[Analysis]:
        """The games asked for, analysed; see :func:`.selected` and :func:`.analyse`."""
        return [analyse(one, **options) for one in self.games(games)]

    def games(self, wanted: Sequence[str] = ()) -> list[Selected]:
        """The games asked for, with their matches; see :func:`.selected`."""
        return selected(self.frames, wanted)

    @property
    def providers(self) -> dict[str, str]:
        """Whose models played, by label, as far as their names say."""
        specs: dict[str, Any] = {}
        for one in reversed(self.studies):
            specs |= self.store.study(one, counted=False).spec.get("players", {})
        return providers_of_models(specs)

    @property
    def unscored(self) -> dict[str, int]:
        """Matches that are no part of any payoff, by status."""
        counts: Counter[str] = Counter()
        for frame in self.frames.values():
            counts.update(unscored(frame))
        return dict(counts)


def metagame_report(
    name: str,
    analyses: Sequence[Analysis],
    out: Path | str,
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
    conduct = _conduct(analyses, played)
    tones = tones_of(label for one in analyses for label in one.labels)
    parts = [
        _part(one.name, _by_choice, painted(analysis_parts(one, tones, conduct[one.name]), tones))
        for one in analyses
    ]
    views = [one.selected.view for one in analyses if one.selected]
    methods = {title: text for view in views if view for title, text in view.methods.items()}
    _write("methods", parts, out, name, seed, played, analyses=analyses, by_game=methods)


def _by_choice(_: object) -> Iterator[Shown]:
    """If everybody chose a strategy to play here, whom would they choose, and how would they do?

    Everybody sits in both seats. Deals are drawn again with replacement, and each draw's game is
    solved anew: numbers are of the symmetric equilibrium of most entropy, and an interval holds
    95 % of the draws.
    """
    yield from ()


def _by_seat(_: object) -> Iterator[Shown]:
    """If one side chose who sits in the first seat, and the other who sits in the second."""
    yield from ()


def _part(
    title: str, about: Callable[[object], Iterator[Shown]], shown: Iterable[Shown]
) -> MadePart:
    return MadePart(RecipePart(capital(title), "", about), tuple(shown))


def _write(
    methods: str, parts: Sequence[MadePart], out: Path | str, name: str, seed: int,
    played: Played | None, **shown: Any,
) -> None:  # fmt: skip
    """Write a page on empirical games, with the template of its methods and what that takes."""
    made = tuple(one.part for one in parts)
    recipe = Recipe(
        "metagame", "empirical games and their equilibria", "", made,
        methods=f"metagame/{methods}.html.jinja", heading=f"The meta-game of “{name}”",
    )  # fmt: skip
    write_page(
        recipe,
        parts,
        out,
        name=name,
        leads_to=played.study if played else "",
        viewer=played.viewer if played else "",
        played=played,
        transcripts=_transcripts(played) if played else "",
        store=played.store.title if played else "",
        seed=seed,
        **shown,
    )


def _conduct(analyses: Sequence[Analysis], played: Played | None) -> dict[str, list[Chart]]:
    """How each game was played: concessions, and what its box says is worth drawing."""
    rounds = _together([demands(played.store, one) for one in played.studies]) if played else {}
    found: dict[str, list[Chart]] = {}
    for one in analyses:
        panels: list[Chart | None] = []
        if one.selected is not None:
            frame, box = one.selected.frame, one.selected.box
            if box in rounds:
                panels.append(concession_curves(box, frame, rounds[box], one.labels))
            if view := one.selected.view:
                panels += [self_play_radar(frame, one.labels, radar) for radar in view.radars]
                panels += [deal_histogram(frame, histogram) for histogram in view.histograms]
        found[one.name] = [panel for panel in panels if panel]
    return found


def _transcripts(played: Played) -> str:
    """A sample of the study's own transcripts, of each configuration where they are not many."""
    store, study = played.store, played.study
    frames = match_frames(store, study, only=()) if played.others else played.frames
    few = all(frame["configuration"].n_unique() <= MANY for frame in frames.values())
    by = ("configuration",) if few else ()
    return packed(store, study, sampled(frames, played.sample, Chance(study), by))


def _together(frames: Sequence[Mapping[str, pl.DataFrame]]) -> dict[str, pl.DataFrame]:
    """The rows of several studies as one frame a game; of a match that is in several, the first."""
    found: dict[str, pl.DataFrame] = {}
    for games in frames:
        for game, frame in games.items():
            if game in found:
                new = frame.join(found[game], on="match", how="anti")
                found[game] = pl.concat([found[game], new], how="diagonal_relaxed")
            else:
                found[game] = frame
    return found


def analyses_by_seat(
    played: Played, games: Sequence[str] = (), **options: Unpack[SeatsOptions]
) -> list[SeatsAnalysis]:
    """The games asked for, by seat; see :func:`.selected` and :func:`.analyse_seats`."""
    return [analyse_seats(one, **options) for one in selected(played.frames, games)]


def seats_report(
    name: str,
    analyses: Sequence[SeatsAnalysis],
    out: Path | str,
    *,
    seed: int = 0,
    played: Played | None = None,
) -> None:
    """Write a page on games of two seats: equilibria, payoff maps, every pair with intervals.

    All arguments, and what is raised, are as for :func:`.metagame_report`.
    """
    parts = [_part(one.name, _by_seat, seats_parts(one)) for one in analyses]
    _write("seats_methods", parts, out, name, seed, played, analyses=analyses)
