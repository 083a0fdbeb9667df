"""Dropout of participants: progress by step, endings, and attention checks."""

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
"""Steps without a page for participants: the server completes them."""
COUNTED: dict[str, Any] = {"people": pl.Int64, "share": pl.Float64}


class Funnel(NamedTuple):
    """Progress of a study's participants; all shares are relative to everyone who arrived.

    Attributes:
        stages: one row per ``stage`` with ``people`` and ``share``: ``came``, ``consented``,
            ``code_word`` (gave the correct code word of the instructions), ``comprehension_first``
            (passed the comprehension check at the first attempt), ``comprehension`` (passed it at
            any attempt), ``began`` and ``finished`` (a game), ``quiz`` (no wrong quiz answer) and
            ``completed``. Stages that a study does not use have no row.
        steps: one row per ``step`` that participants take, in the order of the path, with
            ``people`` who reached it and ``share``, ``answered`` (participants who completed it),
            and how many are there now (``under_way``) or stopped there (``stopped``).
        endings: one row per ``ending`` that occurred, with ``people`` and ``share``; null for
            active participants.
        checks: one row per ``check`` with ``answered``, ``first`` (passed at the first attempt),
            ``passed``, ``failed`` (did not pass) and ``failing`` (the share of those who answered);
            ``attention`` covers prompts during games.
    """

    stages: pl.DataFrame
    steps: pl.DataFrame
    endings: pl.DataFrame
    checks: pl.DataFrame


@reads_study
def funnel(store: Store, study: str) -> Funnel:
    """Count a study's participants by stage, by step, by ending and by result of each check.

    Raises:
        StoreError: there is no such study.
    """
    store.study(study, counted=False)
    steps = steps_reached(store, study)
    stops = ended_at(store, study)
    total = sum(stops.values())
    checks, stages = _stages(store, study, steps)
    return Funnel(
        _shares("stage", stages if total else [], total),
        _steps(steps, stops, total),
        _shares("ending", _endings(stops), total),
        checks,
    )


def _stages(
    store: Store, study: str, steps: list[ReachedStep]
) -> tuple[pl.DataFrame, list[tuple[str | None, int]]]:
    """Return a frame with the results of checks, and the number of participants at each stage."""
    by_kind: dict[str, list[str]] = {}
    for item in steps:
        kind = step_kind(item.step)
        if kind is not None and (kind not in CHECKS or item.checked):
            by_kind.setdefault(kind, []).append(item.step)
    progress = progress_of(store, study, by_kind)
    passed = {item.kind: item for item in checks_passed(store, study, by_kind)}
    stages: list[tuple[str | None, int]] = [("came", progress.came)]
    if CONSENT in by_kind:
        stages.append(("consented", progress.consented))
    if CODE_WORD in passed:
        stages.append(("code_word", passed[CODE_WORD].passed))
    if COMPREHENSION in passed:
        comprehension = passed[COMPREHENSION]
        stages += [
            ("comprehension_first", comprehension.first),
            ("comprehension", comprehension.passed),
        ]
    stages += [("began", progress.began), ("finished", progress.finished)]
    if QUIZ in passed:
        stages.append(("quiz", passed[QUIZ].passed))
    stages.append(("completed", progress.completed))
    prompts = attention_passed(store, study)
    results = [*passed.values(), *([prompts] if prompts.answered else [])]
    schema = {"check": pl.String} | dict.fromkeys(("answered", "first", "passed"), pl.Int64)
    failed = pl.col("answered") - pl.col("passed")
    checks = pl.DataFrame(results, schema, orient="row").with_columns(
        pl.col("check").replace(CODE_WORD, "code_word"),
        failed=failed, failing=failed / pl.col("answered"),
    )  # fmt: skip
    return checks, stages


def _steps(
    steps: list[ReachedStep], stops: dict[tuple[str, str | None], int], total: int
) -> pl.DataFrame:
    rows = [
        (reached.step, reached.reached, reached.reached / total, reached.answered,
         stops.get((reached.step, None), 0),
         sum(count for (step, ending), count in stops.items()
             if step == reached.step and ending is not None))
        for reached in steps
        if reached.step not in NOBODYS
    ]  # fmt: skip
    counts = dict.fromkeys(("answered", "under_way", "stopped"), pl.Int64)
    return pl.DataFrame(rows, {"step": pl.String} | COUNTED | counts, orient="row")


def _endings(stops: dict[tuple[str, str | None], int]) -> Iterator[tuple[str | None, int]]:
    for ending in (*ENDINGS, None):
        count = sum(count for (_, stop), count in stops.items() if stop == ending)
        if count:
            yield ending, count


def _shares(name: str, rows: Iterable[tuple[str | None, int]], total: int) -> pl.DataFrame:
    shares = [(key, people, people / total) for key, people in rows]
    return pl.DataFrame(shares, {name: pl.String} | COUNTED, orient="row")
