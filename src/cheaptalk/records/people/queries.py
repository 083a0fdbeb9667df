"""Queries of the people who take part in a study: who came, what they did, where they stopped.

Names that people chose for the table are in none of them: they may be their own.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa

from cheaptalk.records.encoding import standard_json
from cheaptalk.records.store import schema
from cheaptalk.records.store.reader import StoreReader

STEP_KINDS = (
    "consent", "first_name", "screening", "instructions", "comprehension", "quiz", "survey",
    "debrief", "games", "assignment", "go_on", "end", "ended",
)  # fmt: skip
"""The kinds of steps that are answered, by people or by the server for them."""
CONSENT, NAME, CODE_WORD, COMPREHENSION, QUIZ, SURVEY = (
    "consent", "first_name", "instructions", "comprehension", "quiz", "survey",
)  # fmt: skip
ATTENTION = "attention"
CHECKS = (CODE_WORD, COMPREHENSION, QUIZ)
"""Steps at which something is wanted: the word in the instructions, and two kinds of questions."""
people, answers, games = schema.participants, schema.responses, schema.plays
notices, paid = schema.notices, schema.payments


class Participant(NamedTuple):
    """A person in a study; see :data:`.schema.participants`."""

    participant: str
    cohort: str
    step: str
    visit: int
    ending: str | None
    language: str | None
    flags: list[str]
    begun: float
    changed: float


class Response(NamedTuple):
    """What a person answered at a step; see :data:`.schema.responses`."""

    participant: str
    number: int
    step: str
    visit: int
    game: int
    answer: Mapping[str, Any]
    right: bool | None
    shown: float | None
    answered: float


class Play(NamedTuple):
    """A game of a person; see :data:`.schema.plays`."""

    participant: str
    number: int
    treatment: str
    game: str
    match: str | None
    place: str | None
    state: str
    payoff: float | None
    cents: int | None
    assigned: float
    ended: float | None


class PlayedSettings(NamedTuple):
    """What somebody's game was set to: its match, the treatment, and its configuration."""

    match: str
    treatment: str
    digest: str
    parameters: dict[str, Any]


class Payment(NamedTuple):
    """What a person is paid for one thing; see :data:`.schema.payments`."""

    participant: str | None
    kind: str
    key: str
    cents: int
    made: float
    paid_out: bool


class Notice(NamedTuple):
    """A message or a prompt to a person; see :data:`.schema.notices`."""

    participant: str
    kind: str
    text: str
    wanted: str | None
    sent: float
    due: float | None
    answered: float | None
    right: bool | None


class PassedCheck(NamedTuple):
    """How many people passed a kind of check.

    Attributes:
        kind: one of :data:`CHECKS`, or ``attention``.
        answered: people who answered one.
        first: those of them who had all of its questions right and none wrong before.
        passed: those who have all of them right, at whichever try.
    """

    kind: str
    answered: int
    first: int
    passed: int


class ReachedStep(NamedTuple):
    """How many people came to a step of the path.

    Attributes:
        step: its name.
        reached: people who answered it or are at it.
        answered: those who answered it.
        checked: whether anything was wanted there.
    """

    step: str
    reached: int
    answered: int
    checked: bool


class AnsweredItem(NamedTuple):
    """One item of a response; ``item`` is None of a response without any.

    Attributes:
        item: its name.
        text: the answer as text.
        number: the answer where it is one.
    """

    item: str | None
    text: str | None
    number: float | None


def items_of_response(one: Response) -> Iterator[AnsweredItem]:
    """The items of a response, in order; one without a name where there is none."""
    for item, answer in one.answer.items():
        is_text = answer is None or isinstance(answer, str)
        yield AnsweredItem(item, answer if is_text else standard_json(answer), number_of(answer))
    if not one.answer:
        yield AnsweredItem(None, None, None)


def number_of(answer: object) -> float | None:
    """An answer as a number; None of all that is none."""
    if isinstance(answer, bool) or not isinstance(answer, int | float):
        return None
    return float(answer)


def step_kind(step: str) -> str | None:
    """The kind of a step by its name, which is the kind or begins with its word; None for others.

    >>> step_kind("comprehension"), step_kind("survey-2"), step_kind("surveyor")
    ('comprehension', 'survey', None)
    """
    word = re.split(r"[^a-z_]", step, maxsplit=1)[0]
    return word if word in STEP_KINDS else None


def has_people(store: StoreReader, study: str) -> bool:
    """Whether anybody ever took part in a study."""
    with store.reading() as connection:
        return connection.scalar(sa.select(people.c.id).where(_in(study)).limit(1)) is not None


def participants_of(store: StoreReader, study: str) -> Iterator[Participant]:
    """The people of a study in the order in which they came."""
    columns = (people.c.code, *(people.c[name] for name in Participant._fields[1:]))
    for row in _rows(store, sa.select(*columns).where(_in(study)).order_by(people.c.id)):
        yield Participant(*row)


def responses_of(store: StoreReader, study: str) -> Iterator[Response]:
    """What the people of a study answered, each in order; not what they want to be called."""
    columns = (people.c.code, *(answers.c[name] for name in Response._fields[1:]))
    query = _of(answers, study, *columns).order_by(people.c.id, answers.c.number)
    for row in _rows(store, query):
        one = Response(*row)
        yield one._replace(answer={}) if step_kind(one.step) == NAME else one


def plays_of(store: StoreReader, study: str) -> Iterator[Play]:
    """The games of the people of a study, each person's in order."""
    called = {"match": "match_id"}
    columns = (games.c[called.get(name, name)] for name in Play._fields[1:])
    query = _of(games, study, people.c.code, *columns).order_by(people.c.id, games.c.number)
    for row in _rows(store, query):
        yield Play(*row)


def settings_played(store: StoreReader, study: str) -> Iterator[PlayedSettings]:
    """The settings of the games of people whose matches are in the store."""
    matches, configurations = schema.matches, schema.configurations
    query = (
        _of(
            games, study, matches.c.id, games.c.treatment, configurations.c.digest,
            configurations.c.parameters,
        )
        .join(matches, matches.c.id == games.c.match_id)
        .join(configurations, configurations.c.id == matches.c.configuration_id)
    )  # fmt: skip
    for row in _rows(store, query):
        yield PlayedSettings(*row)


def payments_of(store: StoreReader, study: str) -> Iterator[Payment]:
    """What the people of a study are paid, in the order in which it was earned."""
    query = (
        sa.select(
            people.c.code, paid.c.kind, paid.c.key, paid.c.cents, paid.c.made,
            sa.type_coerce(paid.c.payout_id.is_not(None), sa.Boolean),
        )
        .join(schema.studies, schema.studies.c.id == paid.c.study_id)
        .join(people, people.c.id == paid.c.participant_id, isouter=True)
        .where(schema.studies.c.name == study)
        .order_by(paid.c.id)
    )  # fmt: skip
    for row in _rows(store, query):
        yield Payment(*row)


def notices_of(store: StoreReader, study: str) -> Iterator[Notice]:
    """The messages and prompts to the people of a study, each person's in order."""
    columns = (people.c.code, *(notices.c[name] for name in Notice._fields[1:]))
    query = _of(notices, study, *columns).order_by(people.c.id, notices.c.id)
    for row in _rows(store, query):
        yield Notice(*row)


def currency_of(store: StoreReader, study: str) -> str:
    """In what the people of a study are paid, such as USD."""
    spec = store.study(study, counted=False).spec
    return str(((spec.get("people") or {}).get("pay") or {}).get("currency", "USD"))


def ended_at(store: StoreReader, study: str) -> dict[tuple[str, str | None], int]:
    """How many people are at each step with each ending; None for those who are under way."""
    query = sa.select(people.c.step, people.c.ending, sa.func.count()).where(_in(study))
    rows = _rows(store, query.group_by(people.c.step, people.c.ending))
    return {(step, ending): count for step, ending, count in rows}


def steps_reached(store: StoreReader, study: str) -> list[ReachedStep]:
    """The steps that people came to, in the order of the path.

    A step stands where the first person came to it. Of two that stand at one place the one that
    nobody answers, such as a game, is first.
    """
    steps = sa.func.count(answers.c.step.distinct())
    own = sa.select(steps).where(answers.c.participant_id == people.c.id)
    here = sa.select(
        people.c.id.label("who"), people.c.step, own.scalar_subquery().label("number"),
        sa.null().label("answerer"), sa.literal(0).label("checked"),
    ).where(_in(study))  # fmt: skip
    before = _of(
        answers, study, answers.c.participant_id, answers.c.step, answers.c.number,
        answers.c.participant_id, sa.case((answers.c.right.is_(None), 0), else_=1),
    )  # fmt: skip
    found = sa.union_all(here, before).subquery()
    count = sa.func.count
    answered = count(found.c.answerer.distinct())
    query = (
        sa.select(
            found.c.step,
            count(found.c.who.distinct()),
            answered,
            sa.type_coerce(sa.func.max(found.c.checked) > 0, sa.Boolean),
        )
        .group_by(found.c.step)
        .order_by(sa.func.min(found.c.number), sa.case((answered > 0, 1), else_=0), found.c.step)
    )
    return [ReachedStep(*row) for row in _rows(store, query)]


def checks_passed(
    store: StoreReader, study: str, steps: Mapping[str, list[str]]
) -> list[PassedCheck]:
    """How many people passed each kind of check, in the order of :data:`CHECKS`.

    Of the word and of comprehension all steps of the path are to be passed; of quizzes, which
    follow games, those that a person came to.

    Args:
        steps: the steps of each kind at which something is wanted.
    """
    found = []
    for kind in CHECKS:
        if not steps.get(kind):
            continue
        right = sa.case((answers.c.right, 1), else_=0)
        step = (
            _of(
                answers, study, answers.c.participant_id,
                sa.func.max(right).label("passed"), sa.func.max(1 - right).label("failed"),
            )
            .where(answers.c.right.is_not(None), answers.c.step.in_(steps[kind]))
            .group_by(answers.c.participant_id, answers.c.step, answers.c.game)
            .subquery()
        )  # fmt: skip
        wanted = sa.func.count() if kind == QUIZ else sa.literal(len(steps[kind]))
        person = sa.select(
            sa.case((sa.func.sum(step.c.passed) >= wanted, 1), else_=0).label("passed"),
            sa.func.max(step.c.failed).label("failed"),
        ).group_by(step.c.participant_id).subquery()  # fmt: skip
        found.append(_passed(store, kind, person))
    return found


def attention_passed(store: StoreReader, study: str) -> PassedCheck:
    """How many people answered the prompts that they were sent, and in time; see ``notices``."""
    wrong = sa.func.max(sa.case((notices.c.right, 0), else_=1)).label("failed")
    person = (
        _of(notices, study, wrong, (1 - wrong).label("passed"))
        .where(notices.c.kind == ATTENTION, notices.c.right.is_not(None))
        .group_by(notices.c.participant_id)
        .subquery()
    )
    return _passed(store, ATTENTION, person)


def _passed(store: StoreReader, kind: str, person: sa.Subquery) -> PassedCheck:
    """How many people passed, given a row for each with what they passed and failed."""
    first = person.c.passed * (1 - person.c.failed)
    total = sa.func.coalesce
    query = sa.select(
        sa.func.count(), total(sa.func.sum(first), 0), total(sa.func.sum(person.c.passed), 0)
    ).select_from(person)
    ((answered, at_first, passed),) = _rows(store, query)
    return PassedCheck(kind, answered, at_first, passed)


class Progress(NamedTuple):
    """How many people came so far.

    Attributes:
        came: all of them.
        consented: those who agreed to take part, and did not decline later.
        began: those of whom a game began.
        finished: those of whom one came to its end, which answers to a quiz show, too.
        completed: those who came to the end of the path.
    """

    came: int
    consented: int
    began: int
    finished: int
    completed: int


def progress_of(store: StoreReader, study: str, steps: Mapping[str, list[str]]) -> Progress:
    """How many people of a study came so far; see :class:`Progress`.

    Args:
        steps: the steps of each kind.
    """
    fine = answers.c.right.is_(None) | answers.c.right
    stayed = people.c.ending.is_(None) | (people.c.ending != "declined")
    agreed = _answered(steps.get(CONSENT, []), fine) & stayed
    over_or_gone = games.c.state.in_(("finished", "erased"))
    began = games.c.match_id.is_not(None) | over_or_gone
    own = games.c.participant_id == people.c.id
    over = sa.exists().where(own, games.c.state == "finished")
    conditions = (
        sa.true(),
        agreed,
        sa.exists().where(own, began),
        over | _answered(steps.get(QUIZ, [])),
        people.c.ending == "complete",
    )
    counts = [sa.func.coalesce(sa.func.sum(sa.case((one, 1), else_=0)), 0) for one in conditions]
    ((came, *others),) = _rows(store, sa.select(*counts).select_from(people).where(_in(study)))
    return Progress(came, *others)


def _answered(steps: list[str], *where: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
    """Whether a person answered one of these steps, in such a way."""
    own = answers.c.participant_id == people.c.id
    return sa.exists().where(own, answers.c.step.in_(steps), *where)


def _in(study: str) -> sa.ColumnElement[bool]:
    """Whether a participant is of a study."""
    own = sa.select(schema.studies.c.id).where(schema.studies.c.name == study)
    return people.c.study_id.in_(own)


def _of(table: sa.Table, study: str, *columns: sa.ColumnElement[Any]) -> sa.Select[Any]:
    """Columns of what belongs to the participants of a study."""
    return (
        sa.select(*columns)
        .select_from(table)
        .join(people, people.c.id == table.c.participant_id)
        .where(_in(study))
    )


def _rows(store: StoreReader, query: sa.Select[Any]) -> Iterator[tuple[Any, ...]]:
    paged = query.execution_options(yield_per=5_000)
    with store.reading() as connection, connection.execute(paged) as found:
        yield from map(tuple, found)
