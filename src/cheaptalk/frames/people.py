"""Data frames of a study's participants: progress, responses, games and payments.

Participants are identified only by their codes: no frame contains names or other identifying data.
A study without participants gives empty frames; an unknown study raises StoreError. Missing values
are null, and times are date-times in UTC.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple, get_type_hints

import polars as pl

from cheaptalk.frames.reader import date_time
from cheaptalk.printing.printout import frames_html
from cheaptalk.records import Store
from cheaptalk.records.exports.columns import TIME, row_columns
from cheaptalk.records.exports.tables import TABLES, people_columns
from cheaptalk.records.people import queries
from cheaptalk.records.people.rows import Response
from cheaptalk.records.store.lookup import StoreLike, StudyLike, reads
from cheaptalk.records.store.schema import ENDINGS
from cheaptalk.statistics.participants import PEOPLE


def read_participants(store: StoreLike, study: StudyLike) -> pl.DataFrame:
    """Return the participants of a study, one row each, in the order of arrival.

    The columns are those of the exported table.
    """
    return _frame(store, study, "participants")


def read_plays(store: StoreLike, study: StudyLike) -> pl.DataFrame:
    """Return the games of a study's participants, one row each, ordered by participant.

    The columns are those of the exported table.
    """
    return _frame(store, study, "plays")


def with_people(
    store: Store, study: str, frames: Mapping[str, pl.DataFrame]
) -> dict[str, pl.DataFrame]:
    """Add a column with the codes of each match's participants, if the study has participants.

    Returns:
        The frames with the column :data:`.PEOPLE`, a list, null in matches without participants.
    """
    seated = _frame(store, study, "plays").filter(pl.col("match_id") != "")
    if seated.is_empty():
        return dict(frames)
    codes = pl.col("participant").unique(maintain_order=True)
    people = seated.group_by("match_id", maintain_order=True).agg(codes.alias(PEOPLE))
    return {
        game: frame.join(people, on="match_id", how="left", validate="m:1", maintain_order="left")
        for game, frame in frames.items()
    }


def read_payments(store: StoreLike, study: StudyLike) -> pl.DataFrame:
    """Return the payments of a study's participants, one row per payment.

    The columns are those of the exported table.
    """
    return _frame(store, study, "payments")


def read_corrections(store: StoreLike, study: StudyLike) -> pl.DataFrame:
    """Return the corrections of participants' texts, one row per text, in order.

    The columns are those of the exported table.
    """
    return _frame(store, study, "corrections")


def read_responses(store: StoreLike, study: StudyLike) -> pl.DataFrame:
    """Return participants' responses, one row per item, ordered by participant.

    The columns are those of the exported table.
    """
    return _frame(store, study, "responses")


@reads
def read_survey_answers(store: StoreLike, study: StudyLike) -> pl.DataFrame:
    """Return survey answers, one row per participant who answered any question.

    Columns: ``participant``, then one per item, numeric if there are answers to the item and all
    are numbers. If a participant answered an item several times, for example after each game, the
    last answer is used. If two steps contain an item of the same name, the columns are named
    ``STEP_ITEM``.
    """
    assert isinstance(store, Store)
    assert isinstance(study, str)
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
            item if names.count(item) == 1 else f"{step}_{item}",
            [items.get((step, item)) for items in answers.values()],
        )
        for step, item in keys
    ]
    return pl.DataFrame([pl.Series("participant", list(answers), pl.String), *columns])


def in_survey(response: Response) -> bool:
    """Return whether a response is from a survey, or from a custom step without a solution."""
    return response.correct is None and queries.step_kind(response.step) in (queries.SURVEY, None)


@reads
def _frame(store: StoreLike, study: StudyLike, table: str) -> pl.DataFrame:
    """Return an exported table as a data frame, with times as date-times in UTC."""
    assert isinstance(store, Store)
    assert isinstance(study, str)
    store.study(study, counted=False)  # raises StoreError if there is none
    row_type, read = TABLES[table]
    fields, columns = row_columns(row_type), people_columns()[table]
    rows = pl.DataFrame(list(read(store, study)), get_type_hints(row_type), orient="row")
    rows = rows.rename(dict(zip(rows.columns, (field.name for field in fields), strict=True)))
    times = [pl.col(field.name) for field in fields if field.range == TIME]
    return rows.with_columns(
        pl.lit(study).alias("study"),
        pl.lit(queries.currency_of(store, study)).alias("currency"),
        *map(date_time, times),
    ).select(column.name for column in columns)


def _column(name: str, responses: list[Response | None]) -> pl.Series:
    answered = [item for item in responses if item is not None and item.answer is not None]
    if answered and all(item.value is not None for item in answered):
        return pl.Series(name, [item and item.value for item in responses], pl.Float64)
    return pl.Series(name, [item and item.answer for item in responses], pl.String)


NOBODYS = ("assignment", "end", "ended")
"""Steps without a page for participants: the server completes them."""
ANSWERED: dict[str, Any] = {
    "participant": pl.String,
    "number": pl.Int64,
    "step": pl.String,
    "game": pl.Int64,
    "correct": pl.Boolean,
    "kind": pl.String,
}
"""The columns of answered steps, with the kind of each step."""


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

    def _repr_html_(self) -> str:
        return frames_html(self._asdict())


@reads
def funnel(store: StoreLike, study: StudyLike) -> Funnel:
    """Count a study's participants by stage, by step, by ending and by result of each check.

    Raises:
        StoreError: there is no such study.
    """
    assert isinstance(store, Store)
    assert isinstance(study, str)
    people, played = read_participants(store, study), read_plays(store, study)
    rows = [(*row, queries.step_kind(row.step)) for row in queries.answered_steps(store, study)]
    answered = pl.DataFrame(rows, ANSWERED, orient="row")
    steps, checks = _steps(people, answered), _checks(answered, _prompts(store, study))
    stages = _stages(people, played, answered, steps, checks) if people.height else {}
    counts = Counter(people["ending"])
    endings: dict[str | None, int] = {
        ending: counts[ending] for ending in (*ENDINGS, None) if counts[ending]
    }
    columns = "step", "people", "share", "answered", "under_way", "stopped"
    return Funnel(
        _shares("stage", stages, people.height),
        steps.filter(~pl.col("step").is_in(NOBODYS)).select(columns),
        _shares("ending", endings, people.height),
        checks,
    )


def _shares(name: str, counts: Mapping[str | None, int], total: int) -> pl.DataFrame:
    shares = [(key, people, people / total) for key, people in counts.items()]
    schema = {name: pl.String, "people": pl.Int64, "share": pl.Float64}
    return pl.DataFrame(shares, schema, orient="row")


def _steps(people: pl.DataFrame, answered: pl.DataFrame) -> pl.DataFrame:
    """Return a row per step that participants reached, in the order in which they take the steps.

    A step's position is the earliest at which a participant reached it. Of two steps at the same
    position, the step without answers, such as a game, comes first. ``checked`` is whether any
    answer is expected.
    """
    positions = answered.group_by("participant", maintain_order=True).agg(
        number=pl.col("step").n_unique()
    )
    current = people.select("participant", "step", "ending", current=True).join(
        positions, on="participant", how="left", validate="1:1", maintain_order="left"
    )
    reached = pl.concat(
        [answered.with_columns(current=False), current], how="diagonal_relaxed"
    ).with_columns(pl.col("number").fill_null(0))
    steps = reached.group_by("step", maintain_order=True).agg(
        people=pl.col("participant").n_unique(),
        answered=pl.col("participant").filter(~pl.col("current")).n_unique(),
        under_way=(pl.col("current") & pl.col("ending").is_null()).sum(),
        stopped=pl.col("ending").is_not_null().sum(),
        checked=pl.col("correct").is_not_null().any(),
        number=pl.col("number").min(),
    )
    ordered = steps.sort("number", pl.col("answered") > 0, "step")
    counts = pl.col("people", "answered", "under_way", "stopped").cast(pl.Int64)
    shares = [count / people.height for count in ordered["people"]]
    return ordered.with_columns(counts, pl.Series("share", shares, pl.Float64))


def _prompts(store: Store, study: str) -> pl.DataFrame:
    """Return participants' attention prompts as answered steps."""
    rows = [
        (notice.participant, number, str(number), 0, notice.correct, notice.kind)
        for number, notice in enumerate(queries.notices_of(store, study))
        if notice.kind == queries.ATTENTION
    ]
    return pl.DataFrame(rows, ANSWERED, orient="row")


def _checks(answered: pl.DataFrame, prompts: pl.DataFrame) -> pl.DataFrame:
    """Return the numbers of participants who answered, passed and failed each kind of check.

    Participants must pass all code word and comprehension steps, but only those quizzes and prompts
    that they reached.
    """
    kind, passed = pl.col("check"), pl.col("passed")
    attempts = (
        pl.concat([answered.filter(pl.col("kind").is_in(queries.CHECKS)), prompts])
        .drop_nulls("correct")
        .with_columns(
            check=pl.col("kind").replace(queries.CODE_WORD, "code_word"),
            steps=pl.col("step").n_unique().over("kind"),
        )
    )
    answers = attempts.group_by(
        "check", "steps", "participant", "step", "game", maintain_order=True
    ).agg(passed=pl.col("correct").any(), failed=(~pl.col("correct")).any())
    required = pl.when(kind.is_in(["code_word", "comprehension"])).then("steps").otherwise("own")
    people = (
        answers.group_by("check", "steps", "participant", maintain_order=True)
        .agg(passed.sum(), pl.col("failed").any(), own=pl.len())
        .with_columns(passed=passed >= required)
    )
    counts = people.group_by("check", maintain_order=True).agg(
        answered=pl.len(), first=(passed & ~pl.col("failed")).sum(), passed=passed.sum()
    )
    failed = pl.col("answered") - passed
    order = pl.Enum(["code_word", "comprehension", "quiz", queries.ATTENTION])
    return (
        counts.sort(kind.cast(order))
        .with_columns(pl.exclude("check").cast(pl.Int64))
        .with_columns(failed=failed, failing=failed / pl.col("answered"))
    )


def _stages(
    people: pl.DataFrame,
    played: pl.DataFrame,
    answered: pl.DataFrame,
    steps: pl.DataFrame,
    checks: pl.DataFrame,
) -> dict[str | None, int]:
    """Count the participants who reached each stage that the study uses."""
    passed = dict(checks.select("check", "passed").iter_rows())
    first = dict(checks.select("check", "first").iter_rows())
    agreed = answered.filter(pl.col("correct").fill_null(True), kind=queries.CONSENT)
    declined = people.filter(ending="declined")
    has_consent = queries.CONSENT in map(queries.step_kind, steps["step"])
    over_or_gone = pl.col("state").is_in(["finished", "erased"])
    checked = steps.filter("checked")["step"].implode()
    in_quiz = answered.filter(pl.col("step").is_in(checked), kind=queries.QUIZ)
    finished = {*played.filter(state="finished")["participant"], *in_quiz["participant"]}
    began = played.filter(pl.col("match_id").is_not_null() | over_or_gone)
    stages: dict[str | None, int | None] = {
        "came": people.height,
        "consented": len({*agreed["participant"]} - {*declined["participant"]})
        if has_consent
        else None,
        "code_word": passed.get("code_word"),
        "comprehension_first": first.get("comprehension"),
        "comprehension": passed.get("comprehension"),
        "began": began["participant"].n_unique(),
        "finished": len(finished),
        "quiz": passed.get("quiz"),
        "completed": people.filter(ending="complete").height,
    }
    return {stage: count for stage, count in stages.items() if count is not None}
