"""Costs of studies, matches and players so far, read from the store."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa

from cheaptalk.models import Usage
from cheaptalk.records.costs import Cost, cost_of
from cheaptalk.records.ledger.ledger import KEY, CallKey
from cheaptalk.records.record import MatchRecord
from cheaptalk.records.store import schema
from cheaptalk.records.store.lookup import StoreLike, StudyLike, reads
from cheaptalk.records.store.reader import StoreReader, members_of, patient
from cheaptalk.records.store.store import Store, set_aside

matches, members, calls = schema.matches, schema.members, schema.calls
studies, purchases = schema.studies, schema.purchases


def spent(store: StoreReader, study_id: int) -> Cost:
    """Return the cost that a study has paid so far, over all runs and all attempts of its calls.

    Calls of shared matches that other studies bought are excluded.
    """
    names = list(Cost().columns)
    totals = (sa.func.coalesce(sa.func.sum(purchases.c[name]), 0) for name in names)
    query = sa.select(*totals).where(purchases.c.study_id == study_id)
    with store.reading() as connection:  # one snapshot, so that each call is counted once
        recorded = dict(zip(names, connection.execute(query).one(), strict=True))
        return Cost.from_columns(recorded) + _in_ledger(connection, _sent_by(study_id))


def _sent_by(study_id: int) -> Any:
    """Return the SQL condition that selects the calls of a study in the ledger."""
    return sa.and_(calls.c.study_id == study_id, calls.c.match_id.in_(sa.select(matches.c.id)))


SAMPLE = 50
"""Number of matches, and of open calls, in a sample of recent calls."""


@reads
def study_cost(store: StoreLike, study: StudyLike) -> Cost:
    """Return the cost that a study, given by its name, has paid so far."""
    assert isinstance(store, Store)
    assert isinstance(study, str)
    return spent(store, store.study_id(study))


@reads
def unassigned_cost(store: StoreLike) -> Cost:
    """Return the cost of judges' calls that belong to no study."""
    assert isinstance(store, Store)
    with store.reading() as connection:
        return _in_ledger(connection, calls.c.study_id.is_(None))


@reads
def paid_by_others(store: StoreLike, study: StudyLike) -> dict[str, int]:
    """Count the matches of a study that reuse calls paid for by other studies, by paying study."""
    assert isinstance(store, Store)
    assert isinstance(study, str)
    query = (
        sa.select(studies.c.name, sa.func.count())
        .join(purchases, purchases.c.study_id == studies.c.id)
        .where(purchases.c.match_number.in_(members_of(study)), studies.c.name != study)
        .group_by(studies.c.name)
        .order_by(studies.c.name)
    )
    return dict(store.rows(query))


@patient
def spent_on(store: StoreReader, match_id: str) -> Cost:
    """Return the cost of a match's calls that are in the ledger but not in its record."""
    with store.reading() as connection:
        return _in_ledger(connection, calls.c.match_id == match_id)


class Buyers:
    """The studies that paid for the calls of matches."""

    def __init__(self, store: StoreReader, where: Any) -> None:
        query = (
            sa.select(matches.c.id, studies.c.name)
            .join(purchases, purchases.c.match_number == matches.c.number)
            .join(studies, studies.c.id == purchases.c.study_id)
            .where(where)
            .order_by(studies.c.id)
        )
        self._names: dict[str, list[str]] = {}
        for id_, name in store.rows(query):
            self._names.setdefault(id_, []).append(name)

    @classmethod
    def of_study(cls, store: StoreReader, study: str) -> "Buyers":
        """Return the paying studies of all matches of a study, including superseded matches."""
        return cls(store, matches.c.number.in_(members_of(study, past=True)))

    def of_match(self, match_id: str) -> list[str]:
        """Return the studies that paid for calls of an ended match, oldest first."""
        return self._names.get(match_id, [])

    def of(self, record: MatchRecord) -> Iterator[tuple[str, Mapping[str, Any], str | None]]:
        """Yield each call of an ended match with its actor and the study that paid for it.

        Older records do not contain the buyer of each call; one study bought all their calls.
        """
        only_buyer = next(iter(self.of_match(record.id)), None)
        for actor, entry in record.made_calls:
            yield actor, entry, entry.get("bought_by", only_buyer)


def uncounted(store: StoreReader, study_id: int) -> Iterator[Mapping[str, Any]]:
    """Yield a study's calls that have no token count but may have used tokens."""
    yield from _uncounted_in_ledger(store, _sent_by(study_id))
    numbers = sa.select(purchases.c.match_number).where(
        purchases.c.study_id == study_id, purchases.c.uncounted > 0
    )
    study = store.scalar(sa.select(studies.c.name).where(studies.c.id == study_id))
    buyers = Buyers(store, matches.c.number.in_(numbers))
    for record in store.records(bodies=True, where=matches.c.number.in_(numbers)):
        for _, entry, buyer in buyers.of(record):
            if "model" in entry["call"] and cost_of(entry["reply"]).unknown and buyer == study:
                yield entry["call"]


def latest_replies(
    store: StoreReader, study_id: int
) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Yield a sample of a study's recent calls, each with its response."""
    query = sa.select(calls.c.call, calls.c.reply).where(
        _sent_by(study_id), calls.c.state != "sent", _to_model()
    )
    last = (
        sa.select(purchases.c.match_number)
        .where(purchases.c.study_id == study_id)
        .order_by(purchases.c.match_number.desc())
    )
    for call, reply in store.rows(query.order_by(calls.c.id.desc()).limit(SAMPLE)):
        yield call, reply or {}
    numbers = store.scalars(last.limit(SAMPLE))
    for record in store.records(bodies=True, where=matches.c.number.in_(numbers)):
        for _, entry in record.made_calls:
            if "model" in entry["call"]:
                yield entry["call"], entry["reply"] or {}


@patient
def uncounted_on(store: StoreReader, match_id: str) -> list[Mapping[str, Any]]:
    """Return a match's calls that have no token count and are not in its record."""
    return _uncounted_in_ledger(store, calls.c.match_id == match_id)


def _uncounted_in_ledger(store: StoreReader, where: Any) -> list[Mapping[str, Any]]:
    query = sa.select(calls.c.call, calls.c.reply).where(
        where, calls.c.state != "sent", _to_model()
    )
    return [call for call, reply in store.rows(query) if cost_of(reply).unknown]


@reads
def reused_costs(store: StoreLike) -> dict[str, dict[str, Cost]]:
    """Return the cost that resumed matches save by reusing responses, by match and actor.

    Cached responses are included, because a resumed match repeats none of these calls.
    """
    assert isinstance(store, Store)
    query = sa.select(calls.c.match_id, calls.c.actor, calls.c.reply).where(
        calls.c.state == "answered", _to_model()
    )
    costs: dict[str, dict[str, Cost]] = {}
    for match_id, actor, reply in store.rows(query):
        usage = Usage.model_validate(reply.get("usage", {}))
        by_actor = costs.setdefault(match_id, {})
        by_actor[actor] = by_actor.get(actor, Cost()) + Cost(1, usage)
    return costs


class Sending(NamedTuple):
    """One attempt of a model call: its player's label, and the requested model string.

    ``ended`` is the end of the match in seconds since 1970, or None. ``planned`` is whether the
    match is in the study's current plan.
    """

    player: str
    model: str
    reply: Mapping[str, Any] | None
    ended: float | None
    bought_by: str | None
    planned: bool


def sendings(store: StoreReader, study: str) -> Iterator[Sending]:
    """Yield every attempt to call a model in a study's matches, match by match.

    Superseded matches are included, as they are in the study's cost.
    """
    superseded = set_aside(store, study)
    open_calls: dict[str, list[tuple[str, str, Any, str | None]]] = {}
    model = calls.c.call["model"].as_string()
    query = (
        sa.select(calls.c.match_id, calls.c.actor, model, calls.c.reply, studies.c.name)
        .join(matches, matches.c.id == calls.c.match_id)
        .join(studies, studies.c.id == calls.c.study_id, isouter=True)
        .where(matches.c.number.in_(members_of(study, past=True)), _to_model())
    )
    for match_id, *call in store.rows(query):
        open_calls.setdefault(match_id, []).append(tuple(call))
    buyers = Buyers.of_study(store, study)
    has_calls = sa.or_(matches.c.calls > 0, matches.c.id.in_(sa.select(calls.c.match_id)))
    for record in store.records(study, bodies=True, where=has_calls, past=True):
        recorded = [
            (actor, entry["call"]["model"], entry["reply"], buyer)
            for actor, entry, buyer in buyers.of(record)
            if "model" in entry["call"]
        ]
        for actor, model_string, reply, buyer in [*recorded, *open_calls.get(record.id, ())]:
            player = record.label(record.seat_of(actor))
            planned = record.id not in superseded
            yield Sending(player, model_string, reply, record.finished, buyer, planned)


@reads
def costs_by_player(store: StoreLike, study: StudyLike) -> dict[str, Cost]:
    """Return the cost that a study has paid so far, by player label.

    The costs sum to :func:`study_cost`.
    """
    assert isinstance(store, Store)
    assert isinstance(study, str)
    costs: dict[str, Cost] = {}
    for attempt in sendings(store, study):
        if attempt.bought_by == study:
            costs[attempt.player] = costs.get(attempt.player, Cost()) + cost_of(attempt.reply)
    return costs


def _in_ledger(connection: sa.Connection, where: Any) -> Cost:
    """Return the total cost of the calls in the ledger that satisfy an SQL condition."""
    replies = sa.select(calls.c.reply).where(where, _to_model())
    return sum(map(cost_of, connection.scalars(replies)), Cost())


def _to_model() -> Any:
    return calls.c.call["model"].as_string().is_not(None)


class FailedAttempt(NamedTuple):
    """A failed attempt of a call, with its failure (see :class:`.Reply`)."""

    key: CallKey
    reply: Mapping[str, Any]


@patient
def failed_attempts(store: StoreReader, study: str) -> dict[str, list[FailedAttempt]]:
    """Return the failed attempts of model and agent calls by match, oldest first.

    A final timeout is not included, because play uses it: it is in the match's record.
    """
    query = (
        sa.select(*KEY, calls.c.reply)
        .join(matches, matches.c.id == calls.c.match_id)
        .where(
            matches.c.number.in_(members_of(study)),
            calls.c.state == "failed",
            _to_model(),
        )
        .order_by(calls.c.id)
    )
    failed: dict[str, list[FailedAttempt]] = {}
    for *key, reply in store.rows(query):
        attempt = FailedAttempt(CallKey(*key), reply or {})
        failed.setdefault(attempt.key.match_id, []).append(attempt)
    return failed
