"""How far the people of a study came: by step, by ending, and by the checks of their attention."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import polars as pl

from cheaptalk.records import Store
from cheaptalk.records.people.queries import (
    CHECKS,
    CODE_WORD,
    COMPREHENSION,
    CONSENT,
    QUIZ,
    ReachedStep,
    attention_passed,
    checks_passed,
    ended_at,
    progress_of,
    step_kind,
    steps_reached,
)
from cheaptalk.records.store.schema import ENDINGS
from cheaptalk.studies.lookup import reads_study

NOBODYS = ("assignment", "end", "ended")
"""Steps that the server answers, and the end."""
COUNTED: dict[str, Any] = {"people": pl.Int64, "share": pl.Float64}


class Funnel(NamedTuple):
    """How far people came; all shares are of those who came at all.

    Attributes:
        stages: one row a ``stage`` with ``people`` and ``share``: ``came``, ``consented``,
            ``code_word`` (answered the instructions' rightly), ``comprehension_first`` (passed all
            its questions at the first try), ``comprehension`` (passed them at any), ``began`` and
            ``finished`` (a game), ``quiz`` (no quiz wrong) and ``completed``. What a study does not
            ask for has no row.
        steps: one row a ``step`` that people take, in the order of the path, with ``people`` who
            came to it and ``share``, ``answered`` (people who answered it), and how many are at it
            now (``under_way``) or stopped there (``stopped``).
        endings: one row an ``ending`` that occurred, with ``people`` and ``share``; null for those
            who are under way.
        checks: one row a ``check`` with ``answered``, ``first`` (passed at the first try),
            ``passed``, ``failed`` (did not pass) and ``failing`` (the share of those who answered);
            ``attention`` are prompts during the games.
    """

    stages: pl.DataFrame
    steps: pl.DataFrame
    endings: pl.DataFrame
    checks: pl.DataFrame


@reads_study
def funnel(store: Store, study: str) -> Funnel:
    """How far the people of a study came: by stage, by step of the path, by ending and by check.

    A study without people gives empty frames.

    Raises:
        StoreError: there is no such study.
    """
    store.study(study, counted=False)
    steps = steps_reached(store, study)
    stops = ended_at(store, study)
    everybody = sum(stops.values())
    checks, stages = _stages(store, study, steps)
    return Funnel(
        _shares("stage", stages if everybody else [], everybody),
        _steps(steps, stops, everybody),
        _shares("ending", _endings(stops), everybody),
        checks,
    )


def _stages(
    store: Store, study: str, steps: list[ReachedStep]
) -> tuple[pl.DataFrame, list[tuple[str | None, int]]]:
    """The checks, and how many came to each stage."""
    by_kind: dict[str, list[str]] = {}
    for one in steps:
        kind = step_kind(one.step)
        if kind is not None and (kind not in CHECKS or one.checked):
            by_kind.setdefault(kind, []).append(one.step)
    progress = progress_of(store, study, by_kind)
    passed = {one.kind: one for one in checks_passed(store, study, by_kind)}
    stages: list[tuple[str | None, int]] = [("came", progress.came)]
    if CONSENT in by_kind:
        stages.append(("consented", progress.consented))
    if CODE_WORD in passed:
        stages.append(("code_word", passed[CODE_WORD].passed))
    if COMPREHENSION in passed:
        known = passed[COMPREHENSION]
        stages += [("comprehension_first", known.first), ("comprehension", known.passed)]
    stages += [("began", progress.began), ("finished", progress.finished)]
    if QUIZ in passed:
        stages.append(("quiz", passed[QUIZ].passed))
    stages.append(("completed", progress.completed))
    prompts = attention_passed(store, study)
    found = [*passed.values(), *([prompts] if prompts.answered else [])]
    schema = {"check": pl.String} | dict.fromkeys(("answered", "first", "passed"), pl.Int64)
    failed = pl.col("answered") - pl.col("passed")
    checks = pl.DataFrame(found, schema, orient="row").with_columns(
        pl.col("check").replace(CODE_WORD, "code_word"),
        failed=failed, failing=failed / pl.col("answered"),
    )  # fmt: skip
    return checks, stages


def _steps(
    steps: list[ReachedStep], stops: dict[tuple[str, str | None], int], everybody: int
) -> pl.DataFrame:
    rows = [
        (one.step, one.reached, one.reached / everybody, one.answered,
         stops.get((one.step, None), 0),
         sum(count for (step, ending), count in stops.items()
             if step == one.step and ending is not None))
        for one in steps
        if one.step not in NOBODYS
    ]  # fmt: skip
    counts = dict.fromkeys(("answered", "under_way", "stopped"), pl.Int64)
    return pl.DataFrame(rows, {"step": pl.String} | COUNTED | counts, orient="row")


def _endings(stops: dict[tuple[str, str | None], int]) -> Iterator[tuple[str | None, int]]:
    for ending in (*ENDINGS, None):
        count = sum(count for (_, one), count in stops.items() if one == ending)
        if count:
            yield ending, count


def _shares(name: str, rows: Iterable[tuple[str | None, int]], everybody: int) -> pl.DataFrame:
    found = [(key, people, people / everybody) for key, people in rows]
    return pl.DataFrame(found, {name: pl.String} | COUNTED, orient="row")
