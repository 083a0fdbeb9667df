"""Writing a study's report: one page that needs nothing else."""

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

import polars as pl
import yaml
from plotly.offline import get_plotlyjs

from cheaptalk import __version__
from cheaptalk.records import Status, Store, StudySummary
from cheaptalk.records.browsing import places_of, some
from cheaptalk.records.costs import Cost
from cheaptalk.records.judgements import judging_cost
from cheaptalk.records.lost import lost_calls
from cheaptalk.records.redeals import Standing, excluded
from cheaptalk.records.spending import sendings, study_cost
from cheaptalk.reports import figures
from cheaptalk.reports.exclusions import exclusions
from cheaptalk.reports.judges import agreement_lines, judge_sections
from cheaptalk.reports.pages import PORT, environment, policy, source, verbatim
from cheaptalk.reports.samples import packed, sampled
from cheaptalk.reports.scores import GameScores
from cheaptalk.reports.served import NOBODY, served
from cheaptalk.rules import Chance, CheaptalkError
from cheaptalk.statistics import match_frames
from cheaptalk.studies import lay_out, money, parse_study

SCRIPT = "page.js"
TOOLS = ("polars", "numpy", "scipy", "plotly")
"""Packages whose versions a report states: those that made its numbers and figures."""


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
        facts=_facts(summary, store, frames),
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
        store=store.path.name,
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


def _facts(summary: StudySummary, store: Store, frames: dict[str, pl.DataFrame]) -> dict[str, Any]:
    """What the page says of the study as a whole."""
    ends = [frame["finished"] for frame in frames.values()]
    ended = pl.concat(ends) if ends else pl.Series([], dtype=pl.Float64)
    taken = study_cost(store, summary.name)
    judging = judging_cost(store, summary.name)
    ways, costs = served(sendings(store, summary.name))
    planned = _planned(summary, store)
    begun = sum(summary.counts.values())
    return {
        "counts": {status.value: summary.counts.get(status.value, 0) for status in Status},
        "planned": planned,
        "set_aside": summary.set_aside,
        "not_begun": max(0, (planned or begun) - begun),
        "problems": store.problems(summary.name),
        "exclusions": exclusions(summary.spec, frames),
        "lost": lost_calls(store, summary.name),
        "began": ended.min(),
        "ended": ended.max(),
        "calls": taken.calls,
        "tokens": taken.tokens,
        "uncounted": taken.uncounted,
        "dollars": dollars_text(taken),
        "judging": judging,
        "judging_dollars": dollars_text(judging),
        "served": ways,
        "costs": {label: (cost, dollars_text(cost)) for label, cost in costs.items()},
        "spec": yaml.safe_dump(
            _stated(summary.spec), sort_keys=False, allow_unicode=True, default_flow_style=None
        ),
        "versions": {"cheaptalk": __version__, "Python": platform.python_version()}
        | {name: version(name) for name in TOOLS},
    }


def dollars_text(cost: Cost) -> str:
    """What calls cost, as far as it is known.

    >>> dollars_text(Cost(2, dollars=0.5)), dollars_text(Cost(2, unpriced=2))
    ('$0.50', 'not known')
    """
    return "not known" if cost.dollars_known is None else money(cost.dollars)


def _stated(value: Any) -> Any:
    """A study's text without what it leaves open."""
    if isinstance(value, dict):
        stated = {key: _stated(inner) for key, inner in value.items()}
        return {key: inner for key, inner in stated.items() if inner not in (None, {}, [], [{}])}
    return [_stated(inner) for inner in value] if isinstance(value, list) else value


def _planned(summary: StudySummary, store: Store) -> int | None:
    """How many matches the study consists of; None where that cannot be said any more."""
    if "players" not in summary.spec:
        return None
    try:
        laid = lay_out(parse_study(summary.spec, summary.name), store)
    except CheaptalkError:
        return None
    return len(laid.matches) + excluded(store, summary.name).redealt


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
