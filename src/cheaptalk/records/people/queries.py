"""Queries about a study's participants: arrivals, answers, games and dropout.

No query returns the names that participants chose, because these may be real names.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa

from cheaptalk.records.encoding import standard_json
from cheaptalk.records.people.rows import Notice, Participant, Payment, Play, Response
from cheaptalk.records.store import schema
from cheaptalk.records.store.reader import StoreReader

CONSENT, NAME, CODE_WORD = "consent", "first_name", "instructions"
COMPREHENSION, QUIZ, SURVEY = "comprehension", "quiz", "survey"
PAGES = (CONSENT, NAME, "screening", CODE_WORD, COMPREHENSION, QUIZ, SURVEY, "debrief")
STEP_KINDS = (*PAGES, "games", "assignment", "go_on", "end", "ended")
"""Kinds of steps on a participant's path, including those that the server completes."""
ATTENTION = "attention"
CHECKS = (CODE_WORD, COMPREHENSION, QUIZ)
"""Kinds of steps with expected answers: the code word in the instructions, and quizzes."""
people, answers, games = schema.participants, schema.responses, schema.plays
notices, paid = schema.notices, schema.payments


class PlayedSettings(NamedTuple):
    """The match, treatment and configuration of a participant's game."""

    match_id: str
    treatment: str
    digest: str
    parameters: dict[str, Any]


class PassedCheck(NamedTuple):
    """Numbers of participants who answered and who passed one kind of check.

    ``kind`` is one of :data:`CHECKS`, or ``attention``. ``first`` counts participants who answered
    all questions correctly at the first attempt, ``passed`` at any attempt.
    """

    kind: str
    answered: int
    first: int
    passed: int


class ReachedStep(NamedTuple):
    """Numbers of participants at a step, which has expected answers if it is checked."""

    step: str
    reached: int
    answered: int
    checked: bool


def number_of(answer: object) -> float | None:
    """Return a numeric answer as a float; None for any other answer."""
    if isinstance(answer, bool) or not isinstance(answer, int | float):
        return None
    return float(answer)


def step_kind(step: str) -> str | None:
    """Return the kind of a step, given its name; None for custom steps.

    >>> step_kind("comprehension"), step_kind("survey-2"), step_kind("surveyor")
    ('comprehension', 'survey', None)
    """
    word = re.split(r"[^a-z_]", step, maxsplit=1)[0]
    return word if word in STEP_KINDS else None


def has_people(store: StoreReader, study: str) -> bool:
    """Return whether a study has participants."""
    return store.scalar(sa.select(people.c.id).where(_in(study)).limit(1)) is not None


def participants_of(store: StoreReader, study: str) -> Iterator[Participant]:
    """Yield the participants of a study in the order of arrival."""
    columns = (people.c.code, *(people.c[name] for name in Participant._fields[1:]))
    query = sa.select(*columns).where(_in(study)).order_by(people.c.id)
    yield from map(Participant._make, _rows(store, query))


def responses_of(store: StoreReader, study: str) -> Iterator[Response]:
    """Yield each item of the participants' responses in order, omitting self-chosen names."""
    columns = (answers.c[name] for name in Response._fields if name in answers.c)
    query = _of(answers, study, people.c.code, *columns).order_by(people.c.id, answers.c.number)
    for code, number, step, visit, game, stored, *others in _rows(store, query):
        items = {} if step_kind(step) == NAME else stored
        for item, answer in items.items() or [(None, None)]:
            text = answer if answer is None or isinstance(answer, str) else standard_json(answer)
            value = number_of(answer)
            yield Response(code, number, step, visit, game, item, text, value, *others)


def plays_of(store: StoreReader, study: str) -> Iterator[Play]:
    """Yield the games of a study's participants, ordered by participant."""
    columns = (people.c.code, *(games.c[name] for name in Play._fields[1:]))
    query = _of(games, study, *columns).order_by(people.c.id, games.c.number)
    yield from map(Play._make, _rows(store, query))


def settings_played(store: StoreReader, study: str) -> Iterator[PlayedSettings]:
    """Yield the match, treatment and configuration of each participant's game in the store."""
    matches, configurations = schema.matches, schema.configurations
    settings = configurations.c.digest, configurations.c.parameters
    query = (
        _of(games, study, matches.c.id, games.c.treatment, *settings)
        .join(matches, matches.c.id == games.c.match_id)
        .join(configurations, configurations.c.id == matches.c.configuration_id)
    )
    yield from map(PlayedSettings._make, _rows(store, query))


def payments_of(store: StoreReader, study: str) -> Iterator[Payment]:
    """Yield the payments to a study's participants, in the order in which they were earned."""
    columns = (paid.c[name] for name in Payment._fields if name in paid.c)
    paid_out = sa.type_coerce(paid.c.payout_id.is_not(None), sa.Boolean)
    query = (
        sa.select(people.c.code, *columns, paid_out)
        .join(schema.studies, schema.studies.c.id == paid.c.study_id)
        .join(people, people.c.id == paid.c.participant_id, isouter=True)
        .where(schema.studies.c.name == study)
        .order_by(paid.c.id)
    )
    yield from map(Payment._make, _rows(store, query))


def notices_of(store: StoreReader, study: str) -> Iterator[Notice]:
    """Yield the messages and prompts to a study's participants, ordered by participant."""
    columns = (people.c.code, *(notices.c[name] for name in Notice._fields[1:]))
    query = _of(notices, study, *columns).order_by(people.c.id, notices.c.id)
    yield from map(Notice._make, _rows(store, query))


def currency_of(store: StoreReader, study: str) -> str:
    """Return the currency in which a study's participants are paid, such as USD."""
    spec = store.study(study, counted=False).spec
    return str(((spec.get("people") or {}).get("pay") or {}).get("currency", "USD"))


def ended_at(store: StoreReader, study: str) -> dict[tuple[str, str | None], int]:
    """Count the participants by current step and by how their visit ended (None if active)."""
    query = sa.select(people.c.step, people.c.ending, sa.func.count()).where(_in(study))
    rows = _rows(store, query.group_by(people.c.step, people.c.ending))
    return {(step, ending): count for step, ending, count in rows}


def steps_reached(store: StoreReader, study: str) -> list[ReachedStep]:
    """Return the steps that participants reached, in the order in which a study presents them.

    A step's position is the earliest at which a participant reached it. Of two steps at the same
    position, the step without answers, such as a game, comes first.
    """
    steps = sa.func.count(answers.c.step.distinct())
    answered_steps = sa.select(steps).where(answers.c.participant_id == people.c.id)
    current = sa.select(
        people.c.id.label("who"),
        people.c.step,
        answered_steps.scalar_subquery().label("number"),
        sa.null().label("answerer"),
        sa.literal(0).label("checked"),
    ).where(_in(study))
    past = _of(
        answers,
        study,
        answers.c.participant_id,
        answers.c.step,
        answers.c.number,
        answers.c.participant_id,
        sa.case((answers.c.correct.is_(None), 0), else_=1),
    )
    reached = sa.union_all(current, past).subquery().c
    answered = sa.func.count(reached.answerer.distinct())
    checked = sa.type_coerce(sa.func.max(reached.checked) > 0, sa.Boolean)
    has_answers = sa.case((answered > 0, 1), else_=0)
    query = (
        sa.select(reached.step, sa.func.count(reached.who.distinct()), answered, checked)
        .group_by(reached.step)
        .order_by(sa.func.min(reached.number), has_answers, reached.step)
    )
    return [ReachedStep(*row) for row in _rows(store, query)]


def checks_passed(
    store: StoreReader, study: str, steps: Mapping[str, list[str]]
) -> list[PassedCheck]:
    """Count the participants who answered and who passed each kind of check; ``steps`` are by kind.

    Participants must pass all code word and comprehension steps, but only those quizzes that they
    reached, because quizzes follow games.
    """
    checks = []
    for kind in CHECKS:
        if not steps.get(kind):
            continue
        correct = sa.case((answers.c.correct, 1), else_=0)
        step = (
            _of(
                answers,
                study,
                answers.c.participant_id,
                sa.func.max(correct).label("passed"),
                sa.func.max(1 - correct).label("failed"),
            )
            .where(answers.c.correct.is_not(None), answers.c.step.in_(steps[kind]))
            .group_by(answers.c.participant_id, answers.c.step, answers.c.game)
            .subquery()
        )
        required = sa.func.count() if kind == QUIZ else sa.literal(len(steps[kind]))
        person = (
            sa.select(
                sa.case((sa.func.sum(step.c.passed) >= required, 1), else_=0).label("passed"),
                sa.func.max(step.c.failed).label("failed"),
            )
            .group_by(step.c.participant_id)
            .subquery()
        )
        checks.append(_passed(store, kind, person))
    return checks


def attention_passed(store: StoreReader, study: str) -> PassedCheck:
    """Count the participants who answered all attention prompts correctly and in time."""
    failed = sa.func.max(sa.case((notices.c.correct, 0), else_=1)).label("failed")
    person = (
        _of(notices, study, failed, (1 - failed).label("passed"))
        .where(notices.c.kind == ATTENTION, notices.c.correct.is_not(None))
        .group_by(notices.c.participant_id)
        .subquery()
    )
    return _passed(store, ATTENTION, person)


def _passed(store: StoreReader, kind: str, person: sa.Subquery) -> PassedCheck:
    """Count the participants who answered or passed a check; each query row is a participant."""
    first = person.c.passed * (1 - person.c.failed)
    coalesce = sa.func.coalesce
    query = sa.select(
        sa.func.count(), coalesce(sa.func.sum(first), 0), coalesce(sa.func.sum(person.c.passed), 0)
    ).select_from(person)
    ((answered, at_first, passed),) = _rows(store, query)
    return PassedCheck(kind, answered, at_first, passed)


class Progress(NamedTuple):
    """Numbers of participants who reached each stage of a study.

    ``consented`` excludes participants who declined later; ``began`` and ``finished`` refer to any
    game, which answers to a quiz also show to be finished.
    """

    came: int
    consented: int
    began: int
    finished: int
    completed: int


def progress_of(store: StoreReader, study: str, steps: Mapping[str, list[str]]) -> Progress:
    """Count the participants who reached each stage, given the study's steps by kind."""
    valid = answers.c.correct.is_(None) | answers.c.correct
    stayed = people.c.ending.is_(None) | (people.c.ending != "declined")
    agreed = _answered(steps.get(CONSENT, []), valid) & stayed
    over_or_gone = games.c.state.in_(("finished", "erased"))
    began = games.c.match_id.is_not(None) | over_or_gone
    is_own = games.c.participant_id == people.c.id
    finished_game = sa.exists().where(is_own, games.c.state == "finished")
    conditions = (
        sa.true(),
        agreed,
        sa.exists().where(is_own, began),
        finished_game | _answered(steps.get(QUIZ, [])),
        people.c.ending == "complete",
    )
    flags = (sa.case((condition, 1), else_=0) for condition in conditions)
    counts = (sa.func.coalesce(sa.func.sum(flag), 0) for flag in flags)
    (row,) = _rows(store, sa.select(*counts).select_from(people).where(_in(study)))
    return Progress(*row)


def _answered(steps: list[str], *where: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
    """Return the SQL condition that a participant answered any of the given steps."""
    is_own = answers.c.participant_id == people.c.id
    return sa.exists().where(is_own, answers.c.step.in_(steps), *where)


def _in(study: str) -> sa.ColumnElement[bool]:
    """Return the SQL condition that a participant belongs to a study."""
    study_ids = sa.select(schema.studies.c.id).where(schema.studies.c.name == study)
    return people.c.study_id.in_(study_ids)


def _of(table: sa.Table, study: str, *columns: sa.ColumnElement[Any]) -> sa.Select[Any]:
    """Select columns of a table, restricted to the rows of a study's participants."""
    return (
        sa.select(*columns)
        .select_from(table)
        .join(people, people.c.id == table.c.participant_id)
        .where(_in(study))
    )


def _rows(store: StoreReader, query: sa.Select[Any]) -> Iterator[tuple[Any, ...]]:
    paged = query.execution_options(yield_per=5_000)
    with store.reading() as connection, connection.execute(paged) as result:
        yield from map(tuple, result)
