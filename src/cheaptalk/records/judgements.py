"""What judges said of recorded matches, kept apart from them: no player ever sees it."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import sqlalchemy as sa

from cheaptalk.players import Kind
from cheaptalk.records.costs import Cost, cost_of
from cheaptalk.records.ledger.ledger import CallKey
from cheaptalk.records.store import schema
from cheaptalk.records.store.reader import StoreReader, members_of
from cheaptalk.records.store.schema import insert
from cheaptalk.records.store.store import Store

judges, judgements, calls = schema.judges, schema.judgements, schema.calls
PREFIX = "judge"
ANSWERS = "answers:"
"""What stands before a person's code where judgements of matches have the match."""
GIVEN = (Kind.OK, Kind.REPAIRED)
"""The kinds of answers that are verdicts."""


@dataclass(frozen=True)
class Judgement:
    """What a judge said of one item of a match.

    Attributes:
        match_id: the match; or what :func:`answers_id` calls a person's answers.
        judge: digest of the judge: its rubric and its model with all settings.
        item: what was judged: ``REQUEST/SEAT`` for a move, a seat, ``match``, or what was asked.
        kind: what became of the question to the judge.
        verdict: what it said; None where it finally gave no valid answer.
        calls: every call it took, with its reply.
        made: when, in seconds since 1970.
    """

    match_id: str
    judge: str
    item: str
    kind: Kind
    verdict: dict[str, Any] | None
    calls: list[dict[str, Any]]
    made: float

    def as_json(self) -> dict[str, Any]:
        """The judgement as plain data, without its match."""
        data = vars(self) | {"kind": self.kind.value}
        return {name: value for name, value in data.items() if name != "match_id"}

    @property
    def cost(self) -> Cost:
        """What its calls took."""
        return sum((cost_of(call["reply"]) for call in self.calls), Cost())


def answers_id(participant: str) -> str:
    """Under which name judgements of a person's free answers are kept."""
    return f"{ANSWERS}{participant}"


def ledger_id(judge: str, match_id: str) -> str:
    """Under which name the ledger keeps a judge's calls about a match, apart from the match's."""
    return f"{PREFIX}:{judge}:{match_id}"


def ledger_place(id_: str) -> str:
    """For people, whose calls the ledger keeps under a name.

    >>> ledger_place("4f1c"), ledger_place(ledger_id("aa8cc0d9", "4f1c"))
    ('match 4f1c', 'judge aa8cc0 on match 4f1c')
    >>> ledger_place(ledger_id("aa8cc0d9", answers_id("p7")))
    'judge aa8cc0 on answers of p7'
    """
    prefix, _, rest = id_.partition(":")
    if prefix != PREFIX:
        return f"match {id_}"
    judge, _, match_id = rest.partition(":")
    person = match_id.removeprefix(ANSWERS)
    what = f"match {match_id}" if person == match_id else f"answers of {person}"
    return f"judge {judge[:6]} on {what}"


def register_judge(store: Store, digest: str, spec: Mapping[str, Any]) -> None:
    """Note all that makes a judge."""
    with store.transaction() as connection:
        values = {"digest": digest, "spec": dict(spec)}
        connection.execute(insert(judges).values(values).on_conflict_do_nothing())


def write_judgement(
    connection: sa.Connection, study_id: int, judgement: Judgement, keys: list[CallKey]
) -> None:
    """Store a judgement in the caller's transaction and drop its answered calls, now part of it.

    A verdict stays as it is. One that follows an answer without a verdict takes its place, and must
    hold its calls, too.

    Args:
        study_id: the study for which it was made.
    """
    values = vars(judgement) | {"kind": judgement.kind.value, "study_id": study_id}
    new = insert(judgements).values(values)
    connection.execute(
        new.on_conflict_do_update(
            index_elements=["match_id", "judge", "item"],
            set_={name: new.excluded[name] for name in ("kind", "verdict", "calls", "made")},
            where=judgements.c.kind.not_in(GIVEN),
        )
    )
    for key in keys:
        own = [calls.c[name] == value for name, value in key._asdict().items()]
        connection.execute(sa.delete(calls).where(*own, calls.c.state == "answered"))


def forget_answers(connection: sa.Connection, participant: str) -> None:
    """Delete what judges read and said of a person's answers, in the caller's transaction.

    What they took is then counted no more.
    """
    id_ = answers_id(participant)
    connection.execute(sa.delete(judgements).where(judgements.c.match_id == id_))
    connection.execute(
        sa.delete(calls).where(
            calls.c.match_id.startswith(f"{PREFIX}:"),
            calls.c.match_id.endswith(f":{id_}", autoescape=True),
        )
    )


def judges_of(store: StoreReader, study: str) -> dict[str, dict[str, Any]]:
    """The judges who judged matches of a study: their rubrics and models, by digest."""
    return _specs(store, sa.select(judgements.c.judge).where(_of(study)))


def specs_of_judges(store: StoreReader, digests: Collection[str]) -> dict[str, dict[str, Any]]:
    """The rubrics and models of some judges, by digest."""
    return _specs(store, list(digests))


def _specs(store: StoreReader, digests: Any) -> dict[str, dict[str, Any]]:
    query = sa.select(judges.c.digest, judges.c.spec).where(judges.c.digest.in_(digests))
    with store.reading() as connection:
        return dict(connection.execute(query.order_by(judges.c.id)).all())


def read_judgements(
    store: StoreReader,
    *,
    study: str | None = None,
    judge: str | None = None,
    match_id: str | None = None,
) -> Iterator[Judgement]:
    """Judgements of a study's matches, of a judge, of a match, or all, in the order made."""
    wanted = [
        *([] if study is None else [_of(study)]),
        *([] if judge is None else [judgements.c.judge == judge]),
        *([] if match_id is None else [judgements.c.match_id == match_id]),
    ]
    return _read(store, *wanted)


def read_judged_answers(store: StoreReader, study: str) -> Iterator[Judgement]:
    """Judgements of the free answers of a study's people, in the order made."""
    return _read(store, _of_people(study))


def _read(store: StoreReader, *wanted: sa.ColumnElement[bool]) -> Iterator[Judgement]:
    query = sa.select(*(judgements.c[one.name] for one in fields(Judgement))).where(*wanted)
    with store.reading() as connection:
        paged = query.order_by(judgements.c.id).execution_options(yield_per=1000)
        with connection.execute(paged) as found:
            for row in found.mappings():
                yield Judgement(**{**row, "kind": Kind(row["kind"])})


def judged_items(store: StoreReader, study: str, judge: str) -> dict[tuple[str, str], Kind]:
    """The items of a study that a judge was asked about, by match and item, and what came of it.

    Those of people's answers stand under :func:`answers_id`.
    """
    columns = judgements.c.match_id, judgements.c.item, judgements.c.kind
    ours = _of(study) | _of_people(study)
    query = sa.select(*columns).where(ours, judgements.c.judge == judge)
    with store.reading() as connection:
        rows = connection.execute(query)
        return {(match_id, item): Kind(kind) for match_id, item, kind in rows}


def deals_of(store: StoreReader, study: str) -> dict[str, tuple[int, str]]:
    """What each match of a study was played on: its configuration and deal."""
    matches = schema.matches.c
    query = sa.select(matches.id, matches.configuration_id, matches.deal)
    with store.reading() as connection:
        rows = connection.execute(query.where(matches.number.in_(members_of(study))))
        return {id_: (configuration, deal) for id_, configuration, deal in rows}


def judge_cost(store: StoreReader, judge: str, study: str) -> Cost:
    """What a judge has taken for a study so far, over all its runs and all sendings.

    As in what players took, matches of earlier forms of the study are counted, and calls that
    another study has paid for are not. Calls of which older records do not say who paid are those
    of the study for which the verdict was made.
    """
    start = ledger_id(judge, "")
    study_id = store.study_id(study)
    waiting = sa.select(calls.c.reply).where(
        calls.c.match_id.startswith(start, autoescape=True), calls.c.study_id == study_id
    )
    made = sa.select(judgements.c.calls, judgements.c.study_id).where(judgements.c.judge == judge)
    with store.reading() as connection:
        open_ = sum(map(cost_of, connection.scalars(waiting)), Cost())
        recorded = (
            call["reply"]
            for of, for_ in connection.execute(made)
            for call in of
            if call.get("bought_by", study if for_ == study_id else None) == study
        )
        return sum(map(cost_of, recorded), open_)


def judging_cost(store: StoreReader, study: str) -> Cost:
    """What all judges have taken for a study so far; it is no part of the study's own cost."""
    with store.reading() as connection:
        known = connection.scalars(sa.select(judges.c.digest)).all()
    return sum((judge_cost(store, judge, study) for judge in known), Cost())


def _of(study: str) -> sa.ColumnElement[bool]:
    return judgements.c.match_id.in_(_matches(study))


def _of_people(study: str) -> sa.ColumnElement[bool]:
    people, studies = schema.participants.c, schema.studies.c
    own = sa.select(studies.id).where(studies.name == study)
    answers = sa.select(sa.literal(ANSWERS) + people.code).where(people.study_id.in_(own))
    return judgements.c.match_id.in_(answers)


def _matches(study: str) -> Any:
    ours = schema.matches.c.number.in_(members_of(study))
    return sa.select(schema.matches.c.id).where(ours)
