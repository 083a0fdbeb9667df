"""Data frames of a study's participants: progress, responses, games and payments.

Participants are identified only by their codes: no frame contains names or other identifying data.
A study without participants gives empty frames; an unknown study raises StoreError. Missing values
are null, and times are in seconds since 1970.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, get_type_hints

import polars as pl

from cheaptalk.records import Store
from cheaptalk.records.people import queries
from cheaptalk.records.people.rows import Participant, Payment, Play, Response
from cheaptalk.records.store.schema import ENDINGS
from cheaptalk.statistics.participants import PEOPLE
from cheaptalk.studies.lookup import reads_study


@reads_study
def participants(store: Store, study: str) -> pl.DataFrame:
    """Return the participants of a study, one row each, in the order of arrival.

    The columns are the fields of :class:`.Participant`.
    """
    store.study(study, counted=False)
    return _frame(queries.participants_of(store, study), Participant)


@reads_study
def plays(store: Store, study: str) -> pl.DataFrame:
    """Return the games of a study's participants, one row each, ordered by participant.

    The columns are the fields of :class:`.Play`.
    """
    store.study(study, counted=False)
    return _frame(queries.plays_of(store, study), Play)


def with_people(
    store: Store, study: str, frames: Mapping[str, pl.DataFrame]
) -> dict[str, pl.DataFrame]:
    """Add a column with the codes of each match's participants, if the study has participants.

    Returns:
        The frames with the column :data:`.PEOPLE`, a list, null in matches without participants.
    """
    seated = [
        (play.match_id, play.participant)
        for play in queries.plays_of(store, study)
        if play.match_id
    ]
    if not seated:
        return dict(frames)
    people = (
        pl.DataFrame(seated, {"match_id": pl.String, PEOPLE: pl.String}, orient="row")
        .group_by("match_id", maintain_order=True)
        .agg(pl.col(PEOPLE).unique(maintain_order=True))
    )
    return {
        game: frame.join(people, on="match_id", how="left", validate="m:1", maintain_order="left")
        for game, frame in frames.items()
    }


@reads_study
def payments(store: Store, study: str) -> pl.DataFrame:
    """Return the payments of a study's participants, one row per payment.

    The columns are the fields of :class:`.Payment`.
    """
    store.study(study, counted=False)
    return _frame(queries.payments_of(store, study), Payment)


@reads_study
def responses(store: Store, study: str) -> pl.DataFrame:
    """Return participants' responses, one row per item, ordered by participant.

    The columns are the fields of :class:`.Response`.
    """
    store.study(study, counted=False)
    return _frame(queries.responses_of(store, study), Response)


@reads_study
def survey_answers(store: Store, study: str) -> pl.DataFrame:
    """Return survey answers, one row per participant who answered any question.

    Columns: ``participant``, then one per item, numeric if all answers to the item are. If a
    participant answered an item several times, for example after each game, the last answer is
    used. If two steps contain an item of the same name, the columns are named ``STEP.ITEM``.
    """
    store.study(study, counted=False)
    answers: dict[str, dict[tuple[str, str], Response]] = {}
    for response in filter(in_survey, queries.responses_of(store, study)):
        items = answers.setdefault(response.participant, {})
        if response.item is not None:
            items[response.step, response.item] = response
    keys = list(dict.fromkeys(key for items in answers.values() for key in items))
    names = [item for _, item in keys] + ["participant"]
    columns = [
        _column(
            item if names.count(item) == 1 else f"{step}.{item}",
            [items.get((step, item)) for items in answers.values()],
        )
        for step, item in keys
    ]
    return pl.DataFrame([pl.Series("participant", list(answers), pl.String), *columns])


def in_survey(response: Response) -> bool:
    """Return whether a response is from a survey, or from a custom step without a solution."""
    return response.correct is None and queries.step_kind(response.step) in (queries.SURVEY, None)


def _frame(rows: Iterable[tuple[Any, ...]], row_type: type[tuple[Any, ...]]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), get_type_hints(row_type), orient="row")


def _column(name: str, responses: list[Response | None]) -> pl.Series:
    answered = [item for item in responses if item is not None and item.answer is not None]
    if all(item.value is not None for item in answered):
        return pl.Series(name, [item and item.value for item in responses], pl.Float64)
    return pl.Series(name, [item and item.answer for item in responses], pl.String)


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
    steps = queries.steps_reached(store, study)
    stops = queries.ended_at(store, study)
    total = sum(stops.values())
    checks, stages = _stages(store, study, steps)
    return Funnel(
        _shares("stage", stages if total else [], total),
        _steps(steps, stops, total),
        _shares("ending", _endings(stops), total),
        checks,
    )


def _stages(
    store: Store, study: str, steps: list[queries.ReachedStep]
) -> tuple[pl.DataFrame, list[tuple[str | None, int]]]:
    """Return a frame with the results of checks, and the number of participants at each stage."""
    by_kind: dict[str, list[str]] = {}
    for item in steps:
        kind = queries.step_kind(item.step)
        if kind is not None and (kind not in queries.CHECKS or item.checked):
            by_kind.setdefault(kind, []).append(item.step)
    progress = queries.progress_of(store, study, by_kind)
    passed = {item.kind: item for item in queries.checks_passed(store, study, by_kind)}
    stages: list[tuple[str | None, int]] = [("came", progress.came)]
    if queries.CONSENT in by_kind:
        stages.append(("consented", progress.consented))
    if queries.CODE_WORD in passed:
        stages.append(("code_word", passed[queries.CODE_WORD].passed))
    if queries.COMPREHENSION in passed:
        comprehension = passed[queries.COMPREHENSION]
        stages += [
            ("comprehension_first", comprehension.first),
            ("comprehension", comprehension.passed),
        ]
    stages += [("began", progress.began), ("finished", progress.finished)]
    if queries.QUIZ in passed:
        stages.append(("quiz", passed[queries.QUIZ].passed))
    stages.append(("completed", progress.completed))
    prompts = queries.attention_passed(store, study)
    results = [*passed.values(), *([prompts] if prompts.answered else [])]
    schema = {"check": pl.String} | dict.fromkeys(("answered", "first", "passed"), pl.Int64)
    failed = pl.col("answered") - pl.col("passed")
    checks = pl.DataFrame(results, schema, orient="row").with_columns(
        pl.col("check").replace(queries.CODE_WORD, "code_word"),
        failed=failed,
        failing=failed / pl.col("answered"),
    )
    return checks, stages


def _steps(
    steps: list[queries.ReachedStep], stops: dict[tuple[str, str | None], int], total: int
) -> pl.DataFrame:
    stopped = Counter[str]()
    for (step, ending), count in stops.items():
        stopped[step] += count if ending is not None else 0
    rows = [
        (name, reached, reached / total, answered, stops.get((name, None), 0), stopped[name])
        for name, reached, answered, _ in steps
        if name not in NOBODYS
    ]
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
