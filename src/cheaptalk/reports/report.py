"""Writing a study's report: one page that needs nothing else."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from plotly.offline import get_plotlyjs

from cheaptalk.frames import match_frames
from cheaptalk.records import Store
from cheaptalk.records.store.pages import places_of, some
from cheaptalk.records.unanswered import Standing
from cheaptalk.reports import figures
from cheaptalk.reports.facts import NOBODY, study_facts
from cheaptalk.reports.judges import agreement_lines, judge_sections
from cheaptalk.reports.pages import PORT, environment, policy, source, verbatim
from cheaptalk.reports.scores import GameScores
from cheaptalk.reports.transcripts import packed, sampled
from cheaptalk.rules import Chance, CheaptalkError

SCRIPT = "page.js"
"""What every page does: sorting, filtering, reading transcripts."""
SAVING = "saving.js"
"""Saving figures as files."""


def report(
    store: Store,
    study: str,
    out: Path,
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
    pages = environment()
    template = pages.get_template("match.html.jinja")
    transcripts = packed(some(store, study, chosen), template, Standing(store, study))
    plotly = verbatim(get_plotlyjs() if games else "")
    script = source(SCRIPT)
    page = pages.get_template("report.html.jinja").stream(
        study=summary,
        facts=study_facts(store, summary, frames),
        games=games,
        figures={name: _panels(game) for name, game in games.items()},
        colours=figures.COLOURS,
        judges=judge_sections(store, study),
        agreement_lines=agreement_lines,
        NOBODY=NOBODY,
        as_published=as_published,
        sample=sample,
        sampled=len(chosen),
        transcripts=transcripts,
        scripts=(plotly, script),
        policy=policy(plotly, script),
        viewer=f"http://127.0.0.1:{port}",
        store=store.title,
    )
    page.enable_buffering(100)
    with written_whole(out) as file:
        file.writelines(page)


def _panels(game: GameScores) -> dict[str, list[figures.Panel]]:
    return {
        "gains": figures.gains(game),
        "matrices": figures.matrices(game),
        "trade_off": figures.trade_off(game),
        "distributions": figures.distributions(game),
    }


@contextmanager
def written_whole(out: Path) -> Iterator[IO[str]]:
    """A file that takes its name when it is complete; after an error nothing is left of it."""
    half = out.with_name(f".{out.name}.{os.getpid()}.part")
    try:
        with half.open("w", encoding="utf-8") as file:
            yield file
        half.replace(out)
    except OSError as error:
        raise CheaptalkError(f"{out}: cannot be written: {error.strerror}") from error
    finally:
        half.unlink(missing_ok=True)
