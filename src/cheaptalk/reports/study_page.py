"""Writing a study's report: one page that needs nothing else."""

from pathlib import Path

from cheaptalk.frames import match_frames
from cheaptalk.records import Store
from cheaptalk.records.store.queries import places_of
from cheaptalk.reports import figures
from cheaptalk.reports.judge_summaries import agreement_lines, judge_sections
from cheaptalk.reports.output import write_page
from cheaptalk.reports.pages import PORT
from cheaptalk.reports.scores import GameScores
from cheaptalk.reports.study_facts import NOBODY, study_facts
from cheaptalk.reports.transcripts import packed, sampled
from cheaptalk.rules import Chance
from cheaptalk.studies.lookup import reads_study

DRAWN = (figures.gains, figures.matrices, figures.trade_off, figures.distributions)
"""The figures of each game."""


@reads_study
def report(
    store: Store,
    study: str,
    out: Path | str,
    *,
    as_published: bool = False,
    sample: int = 3,
    port: int = PORT,
) -> None:
    """Write a study's report as one HTML file that works offline.

    It holds what is in the store now: a study under way or with failed matches is reported as
    far as it is, and the page says so. The same store gives the same page. An existing file is
    replaced at the end, whole.

    Args:
        study: the name of a study in the store.
        out: the file to write.
        as_published: compute measures as the published systems' code does, where that differs.
        sample: transcripts in the page, for each pairing and way of ending.
        port: where ``cheaptalk view`` will listen, for links to all other transcripts.

    Raises:
        StoreError: there is no such study.
        CheaptalkError: a game is not installed, a measure failed, or the file cannot be written.
    """
    summary = store.study(study)
    frames = match_frames(store, study, as_published=as_published)
    places = places_of(store, study)
    games = {name: GameScores(name, frame, places[name]) for name, frame in frames.items()}
    chosen = sampled(frames, sample, Chance(study))
    write_page(
        "report.html.jinja",
        out,
        leads_to=study,
        port=port,
        study=summary,
        facts=study_facts(store, summary, frames),
        games=games,
        figures={
            name: {draw.__name__: draw(game) for draw in DRAWN} for name, game in games.items()
        },
        judges=judge_sections(store, study),
        agreement_lines=agreement_lines,
        NOBODY=NOBODY,
        as_published=as_published,
        sample=sample,
        sampled=len(chosen),
        transcripts=packed(store, study, chosen),
        store=store.title,
    )
