"""Judgements of recorded matches, stored separately so that players never see them."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import sqlalchemy as sa

from cheaptalk.players import Kind
from cheaptalk.records.costs import Cost, cost_of
from cheaptalk.records.ledger.ledger import CallKey
from cheaptalk.records.store import schema
from cheaptalk.records.store.lookup import StoreLike, StudyLike, reads
from cheaptalk.records.store.reader import StoreReader, members_of
from cheaptalk.records.store.schema import insert
from cheaptalk.records.store.store import Store

judges, judgements, calls = schema.judges, schema.judgements, schema.calls
PREFIX = "judge"
ANSWERS = "answers:"
"""Prefix of a participant's code that replaces a match id."""
VERDICT_KINDS = (Kind.OK, Kind.REPAIRED)
"""Kinds of valid judge answers."""


@dataclass(frozen=True)
class Judgement:
    """A judge's verdict on an item of a match, or of a participant's :func:`answers_id`.

    ``judge`` is the digest of a rubric and a model with all settings. ``item`` is
    ``REQUEST/ACTOR`` for an action, an actor, ``match``, or a question. ``verdict`` is None if the
    judge gave no valid answer. ``made`` is in seconds since 1970.
    """

    match_id: str
    judge: str
    item: str
    kind: Kind
    verdict: dict[str, Any] | None
    calls: list[dict[str, Any]]
    made: float

    def as_json(self) -> dict[str, Any]:
        data = vars(self) | {"kind": self.kind.value}
        return {name: value for name, value in data.items() if name != "match_id"}

    @property
    def cost(self) -> Cost:
        return sum((cost_of(call["reply"]) for call in self.calls), Cost())


def answers_id(participant: str) -> str:
    """Return the id that replaces a match id in judgements of a participant's free-text answers."""
    return f"{ANSWERS}{participant}"


def ledger_id(judge: str, match_id: str) -> str:
    """Return the ledger's id for the calls that a judge makes about a match."""
    return f"{PREFIX}:{judge}:{match_id}"


def ledger_place(id_: str) -> str:
    """Describe the match or judge to which an id in the ledger refers.

    >>> ledger_place("4f1c"), ledger_place(ledger_id("aa8cc0d9", "4f1c"))
    ('match 4f1c', 'judge aa8cc0 on match 4f1c')
    >>> ledger_place(ledger_id("aa8cc0d9", answers_id("p7")))
    'judge aa8cc0 on answers of p7'
    """
    prefix, _, remainder = id_.partition(":")
    if prefix != PREFIX:
        return f"match {id_}"
    judge, _, match_id = remainder.partition(":")
    person = match_id.removeprefix(ANSWERS)
    subject = f"match {match_id}" if person == match_id else f"answers of {person}"
    return f"judge {judge[:6]} on {subject}"


def register_judge(store: Store, digest: str, spec: Mapping[str, Any]) -> None:
    """Store the definition of a judge."""
    with store.transaction() as connection:
        values = {"digest": digest, "spec": dict(spec)}
        connection.execute(insert(judges).values(values).on_conflict_do_nothing())


def write_judgement(
    connection: sa.Connection, study_id: int, judgement: Judgement, keys: list[CallKey]
) -> None:
    """Store a judgement, and delete from the ledger the calls that the judgement contains.

    The caller's transaction is used. An existing verdict is kept. A judgement without a verdict is
    replaced; the new judgement must include its calls.
    """
    values = vars(judgement) | {"kind": judgement.kind.value, "study_id": study_id}
    new = insert(judgements).values(values)
    connection.execute(
        new.on_conflict_do_update(
            index_elements=["match_id", "judge", "item"],
            set_={name: new.excluded[name] for name in ("kind", "verdict", "calls", "made")},
            where=judgements.c.kind.not_in(VERDICT_KINDS),
        )
    )
    for key in keys:
        condition = [calls.c[name] == value for name, value in key._asdict().items()]
        connection.execute(sa.delete(calls).where(*condition, calls.c.state == "answered"))


def forget_answers(connection: sa.Connection, participant: str) -> None:
    """Delete all judgements of a participant's answers, and the judges' calls with their costs."""
    id_ = answers_id(participant)
    connection.execute(sa.delete(judgements).where(judgements.c.match_id == id_))
    connection.execute(
        sa.delete(calls).where(
            calls.c.match_id.startswith(f"{PREFIX}:"),
            calls.c.match_id.endswith(f":{id_}", autoescape=True),
        )
    )


def judges_of(store: StoreReader, study: str) -> dict[str, dict[str, Any]]:
    """Return the rubrics and models of a study's judges, by digest."""
    return _specs(store, sa.select(judgements.c.judge).where(_of(study)))


def specs_of_judges(store: StoreReader, digests: Collection[str]) -> dict[str, dict[str, Any]]:
    """Return the rubrics and models of the given judges, by digest."""
    return _specs(store, list(digests))


def _specs(store: StoreReader, digests: Any) -> dict[str, dict[str, Any]]:
    query = sa.select(judges.c.digest, judges.c.spec).where(judges.c.digest.in_(digests))
    return dict(store.rows(query.order_by(judges.c.id)))


def read_judgements(
    store: StoreReader,
    *,
    study: str | None = None,
    judge: str | None = None,
    match_id: str | None = None,
) -> Iterator[Judgement]:
    """Yield judgements, optionally only those of one study, judge or match, oldest first."""
    return _read(
        store,
        sa.true() if study is None else _of(study),
        sa.true() if judge is None else judgements.c.judge == judge,
        sa.true() if match_id is None else judgements.c.match_id == match_id,
    )


def read_judged_answers(store: StoreReader, study: str) -> Iterator[Judgement]:
    """Yield judgements of the free-text answers of a study's participants, oldest first."""
    return _read(store, _of_people(study))


def _read(store: StoreReader, *conditions: sa.ColumnElement[bool]) -> Iterator[Judgement]:
    columns = (judgements.c[column.name] for column in fields(Judgement))
    query = sa.select(*columns).where(*conditions)
    with store.reading() as connection:
        paged = query.order_by(judgements.c.id).execution_options(yield_per=1000)
        with connection.execute(paged) as result:
            for row in result.mappings():
                yield Judgement(**{**row, "kind": Kind(row["kind"])})


def judged_items(store: StoreReader, study: str, judge: str) -> dict[tuple[str, str], Kind]:
    """Map each judged item, by match (or :func:`answers_id`), to the kind of the answer."""
    columns = judgements.c.match_id, judgements.c.item, judgements.c.kind
    of_study = _of(study) | _of_people(study)
    query = sa.select(*columns).where(of_study, judgements.c.judge == judge)
    return {(match_id, item): Kind(kind) for match_id, item, kind in store.rows(query)}


def instances_of(store: StoreReader, study: str) -> dict[str, tuple[int, str]]:
    """Return the configuration and instance of each match of a study."""
    matches = schema.matches.c
    query = sa.select(matches.id, matches.configuration_id, matches.instance)
    rows = store.rows(query.where(matches.number.in_(members_of(study))))
    return {id_: (configuration, instance) for id_, configuration, instance in rows}


def judge_cost(store: StoreReader, judge: str, study: str) -> Cost:
    """Return the cost of a judge's calls for a study so far, over all runs and attempts.

    Superseded matches are included; calls that another study bought are not. Calls without a
    recorded buyer are charged to the study for which the verdict was made.
    """
    start = ledger_id(judge, "")
    study_id = store.study_id(study)
    in_ledger = sa.select(calls.c.reply).where(
        calls.c.match_id.startswith(start, autoescape=True), calls.c.study_id == study_id
    )
    judged = sa.select(judgements.c.calls, judgements.c.study_id).where(judgements.c.judge == judge)
    with store.reading() as connection:  # one snapshot, so that each call is counted once
        replies = [*connection.scalars(in_ledger)]
        replies += (
            call["reply"]
            for judgement_calls, made_for in connection.execute(judged)
            for call in judgement_calls
            if call.get("bought_by", study if made_for == study_id else None) == study
        )
    return sum(map(cost_of, replies), Cost())


@reads
def judging_cost(store: StoreLike, study: StudyLike) -> Cost:
    """Return the cost of all judges' calls for a study, which the study's own cost excludes."""
    assert isinstance(store, Store)
    assert isinstance(study, str)
    digests = store.scalars(sa.select(judges.c.digest))
    return sum((judge_cost(store, judge, study) for judge in digests), Cost())


def _of(study: str) -> sa.ColumnElement[bool]:
    matches = schema.matches.c
    ids = sa.select(matches.id).where(matches.number.in_(members_of(study)))
    return judgements.c.match_id.in_(ids)


def _of_people(study: str) -> sa.ColumnElement[bool]:
    people, studies = schema.participants.c, schema.studies.c
    study_ids = sa.select(studies.id).where(studies.name == study)
    answers = sa.select(sa.literal(ANSWERS) + people.code).where(people.study_id.in_(study_ids))
    return judgements.c.match_id.in_(answers)
