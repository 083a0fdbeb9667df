"""Queries about a study's participants: arrivals, answers, games and dropout.

No query returns the names that participants chose, because these may be real names.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from cheaptalk.records.encoding import standard_json
from cheaptalk.records.people.rows import Notice, Participant, Payment, Play, Response
from cheaptalk.records.store import schema
from cheaptalk.records.store.reader import StoreReader

CONSENT: Final = "consent"
NAME: Final = "first_name"
CODE_WORD: Final = "instructions"
COMPREHENSION, QUIZ, SURVEY = "comprehension", "quiz", "survey"
PAGES = (CONSENT, NAME, "screening", CODE_WORD, COMPREHENSION, QUIZ, SURVEY, "payment", "debrief")
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


class AnsweredStep(NamedTuple):
    """A participant's response to a step; ``correct`` is None if no answer is expected.

    ``number`` counts the participant's responses from 0; ``game`` is that of the step.
    """

    participant: str
    number: int
    step: str
    game: int
    correct: bool | None


def number_of(answer: object) -> float | None:
    """Return a numeric answer as a float; None for any other answer."""
    if isinstance(answer, bool) or not isinstance(answer, int | float):
        return None
    return float(answer)


@cache
def step_kind(step: str) -> str | None:
    """Return the kind of a step, given its name; None for custom steps.

    >>> step_kind("comprehension"), step_kind("first_name_2"), step_kind("surveyor")
    ('comprehension', 'first_name', None)
    """
    word = re.split(r"[^a-z_]", step, maxsplit=1)[0].rstrip("_")
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


def answered_steps(store: StoreReader, study: str) -> Iterator[AnsweredStep]:
    """Yield each response of a study's participants, without its answers."""
    columns = people.c.code, *(answers.c[name] for name in AnsweredStep._fields[1:])
    yield from map(AnsweredStep._make, _rows(store, _of(answers, study, *columns)))


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
