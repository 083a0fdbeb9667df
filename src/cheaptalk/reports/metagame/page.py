"""Write pages on empirical games as self-contained HTML files."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
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
from cheaptalk.equilibrium.analysis.selection import MANY, Selected, selected, shown_metrics
from cheaptalk.equilibrium.analysis.two_seats import SeatsAnalysis
from cheaptalk.frames import read_matches
from cheaptalk.frames.unscored import unscored
from cheaptalk.records import Store
from cheaptalk.records.store.lookup import StoreLike, StudyLike, name_of
from cheaptalk.records.store.queries import seats_of
from cheaptalk.reports.charts.chart import Chart, tones_of
from cheaptalk.reports.metagame import figures
from cheaptalk.reports.metagame.parts import analysis_parts
from cheaptalk.reports.metagame.seats_parts import seats_parts
from cheaptalk.reports.output import packed, sampled, write_page
from cheaptalk.reports.pages import VIEWER
from cheaptalk.reports.recipes.evidence import check_players
from cheaptalk.reports.recipes.parts import MadePart, Recipe, RecipePart, Shown, painted
from cheaptalk.rules import Chance
from cheaptalk.rules.arguments import checked
from cheaptalk.rules.display import brief
from cheaptalk.text import capital


class Played(NamedTuple):
    """The matches of the games on a page about empirical games.

    Attributes:
        store, study: the store and the study.
        frames: the matches, as :func:`.read_matches` returns them, with the metrics of the page.
        sample: the number of transcripts in the page for each pairing and ending.
        viewer: the address of a viewer for links to other transcripts.
        others: further studies whose matches are included.
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
    @checked
    def of(
        cls,
        store: StoreLike,
        study: StudyLike,
        *others: StudyLike,
        sample: int = 1,
        viewer: str = VIEWER,
    ) -> "Played":
        """Load the matches of a study with the metrics of the page.

        Args:
            others: further studies to include; a match of several studies counts once.

        Raises:
            StoreError: a study doesn't exist.
            CheaptalkError: a game is not installed, or a metric failed.
        """
        first, *rest = names = [name_of(name) for name in (study, *others)]
        with Store.opened(store) as opened:
            check_players(opened, names)
            frames = [
                read_matches(opened, name, only=shown_metrics(seats_of(opened, name)))
                for name in names
            ]
        return cls(opened, first, _together(frames), sample, viewer, tuple(rest))

    @property
    def studies(self) -> tuple[str, ...]:
        return (self.study, *self.others)

    def analyses(
        self, games: Sequence[str] = (), **options: Unpack[AnalysisOptions]
    ) -> list[Analysis]:
        """Return the analyses of the selected games."""
        return [analyse(game, **options) for game in self.games(games)]

    def games(self, names: Sequence[str] = ()) -> list[Selected]:
        """Return the games with the given names, together with their matches."""
        return selected(self.frames, names)

    @property
    def providers(self) -> dict[str, str]:
        """Return the provider of each label's model, as far as model names reveal it."""
        specs: dict[str, Any] = {}
        for study in reversed(self.studies):
            specs |= self.store.study(study, counted=False).spec.get("players", {})
        return providers_of_models(specs)

    @property
    def unscored(self) -> dict[str, int]:
        """Return the number of matches without a score, by status."""
        counts: Counter[str] = Counter()
        for frame in self.frames.values():
            counts.update(unscored(frame))
        return dict(counts)


def metagame_report(
    name: str,
    analyses: Sequence[Analysis | SeatsAnalysis],
    out: Path | str,
    *,
    seed: int = 0,
    played: Played | None = None,
) -> None:
    """Write a page on empirical games: equilibria and payoffs, with intervals and graphs.

    The page works offline, and equal matches and seeds give equal pages. An existing file is
    replaced atomically.

    Args:
        name: the name of the study or file for the heading.
        analyses: the games, in order: all with one population, or all with one for each seat.
        out: the file to write.
        seed: the seed of the bootstrap draws, which the page reports.
        played: the matches, if there are any.

    Raises:
        CheaptalkError: the file cannot be written.
    """
    methods, parts = "seats_methods", []
    by_game: dict[str, str] = {}
    tones = tones_of(
        label for analysis in analyses for label in analysis.labels if isinstance(label, str)
    )
    rounds = {}
    if played and tones:
        rounds = _together([figures.demands(played.store, study) for study in played.studies])
    for analysis in analyses:
        if isinstance(analysis, SeatsAnalysis):
            about, contents = _by_seat, iter(seats_parts(analysis))
        else:
            conduct = [chart for chart in _conduct(analysis, rounds) if chart]
            about = _by_choice
            contents = painted(analysis_parts(analysis, tones, conduct), tones)
            methods = "methods"
            if analysis.selected and analysis.selected.view:
                by_game |= analysis.selected.view.methods
        parts.append(MadePart(RecipePart(capital(analysis.name), "", about), tuple(contents)))
    recipe = Recipe(
        "metagame",
        "empirical games and their equilibria",
        "",
        tuple(part.part for part in parts),
        methods=f"metagame/{methods}.html.jinja",
        heading=f"The meta-game of “{name}”",
    )
    context: dict[str, Any] = {"analyses": analyses, "by_game": by_game, "played": played}
    context |= dict.fromkeys(("leads_to", "viewer", "transcripts", "store"), "")
    if played:
        context |= {
            "leads_to": played.study,
            "viewer": played.viewer,
            "store": played.store.title,
            "transcripts": _transcripts(played),
        }
    write_page(recipe, parts, out, name=name, seed=seed, **context)


def _by_choice(_: object) -> Iterator[Shown]:
    """Show which strategies players choose at equilibrium, and how well those strategies perform.

    Each player acts in both seats. The bootstrap resamples instances and solves the game of each
    draw. Numbers are for the maximum-entropy symmetric equilibrium, with intervals that contain
    95 % of the draws.
    """
    yield from ()


def _by_seat(_: object) -> Iterator[Shown]:
    """Show the equilibria of the game in which each side chooses the strategy of its own seat."""
    yield from ()


def _conduct(analysis: Analysis, rounds: Mapping[str, pl.DataFrame]) -> Iterator[Chart | None]:
    """Yield charts of play; None for a chart without data."""
    if analysis.selected is None:
        return
    frame, game = analysis.selected.frame, analysis.selected.game_spec
    if game in rounds:
        yield figures.concession_curves(game, frame, rounds[game], analysis.labels)
    if view := analysis.selected.view:
        yield from (figures.self_play_radar(frame, analysis.labels, radar) for radar in view.radars)
        yield from (figures.instance_histogram(frame, histogram) for histogram in view.histograms)


def _transcripts(played: Played) -> str:
    """Return sampled transcripts, stratified by configuration if there are few configurations."""
    store, study = played.store, played.study
    frames = read_matches(store, study, only=()) if played.others else played.frames
    is_small = all(frame["configuration"].n_unique() <= MANY for frame in frames.values())
    strata = ("configuration",) if is_small else ()
    return packed(store, study, sampled(frames, played.sample, Chance(study), strata))


def _together(frames: Sequence[Mapping[str, pl.DataFrame]]) -> dict[str, pl.DataFrame]:
    """Combine the frames of several studies by game, without duplicate matches."""
    combined: dict[str, pl.DataFrame] = {}
    for games in frames:
        for game, frame in games.items():
            if game in combined:
                new = frame.join(combined[game], on="match_id", how="anti")
                combined[game] = pl.concat([combined[game], new], how="diagonal_relaxed")
            else:
                combined[game] = frame
    return combined


def analyses_by_seat(
    played: Played, games: Sequence[str] = (), **options: Unpack[SeatsOptions]
) -> list[SeatsAnalysis]:
    """Analyse the selected games, with separate strategies for each seat."""
    return [analyse_seats(game, **options) for game in selected(played.frames, games)]
