"""What studies, matches and players have taken so far, read from the store."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from cheaptalk.models import Usage
from cheaptalk.records.costs import Cost, cost_of
from cheaptalk.records.record import MatchRecord
from cheaptalk.records.store import schema
from cheaptalk.records.store.reader import StoreReader, members_of, patient
from cheaptalk.records.store.store import set_aside

matches, members, calls, studies, purchases = (
    schema.matches, schema.members, schema.calls, schema.studies, schema.purchases,
)  # fmt: skip


def spent(store: StoreReader, study_id: int) -> Cost:
    """What a study has bought so far, over all its runs and all sendings of its calls.

    What other studies bought of matches that they share is no part of it.
    """
    none = sa.literal(0)  # what is unresolved or reached no server is in the ledger
    ended = sa.select(
        *(_total(column) for column in (
            purchases.c.calls, purchases.c.input_tokens, purchases.c.output_tokens,
            purchases.c.cached_tokens, purchases.c.reasoning_tokens, purchases.c.dollars,
            purchases.c.unpriced, none, none, purchases.c.uncounted,
            purchases.c.implausible,
        ))
    ).where(purchases.c.study_id == study_id)  # fmt: skip
    with store.reading() as connection:
        past = _cost(connection.execute(ended).one())
        return past + _in_ledger(connection, _sent_by(study_id))


def _sent_by(study_id: int) -> Any:
    """The calls of matches that a study has sent, of which no record holds what came."""
    return sa.and_(calls.c.study_id == study_id, calls.c.match_id.in_(sa.select(matches.c.id)))


SAMPLE = 50
"""Matches, and open calls, from which one sees what calls take."""


def study_cost(store: StoreReader, study: str) -> Cost:
    """What a study has bought so far, by its name."""
    return spent(store, store.study_id(study))


def unassigned_cost(store: StoreReader) -> Cost:
    """What the calls took that belong to no study: those about answers that judges code."""
    with store.reading() as connection:
        return _in_ledger(connection, calls.c.study_id.is_(None))


def paid_by_others(store: StoreReader, study: str) -> dict[str, int]:
    """How many matches of a study hold calls that other studies bought, by their names."""
    query = (
        sa.select(studies.c.name, sa.func.count())
        .join(purchases, purchases.c.study_id == studies.c.id)
        .where(purchases.c.match_number.in_(members_of(study)), studies.c.name != study)
        .group_by(studies.c.name)
        .order_by(studies.c.name)
    )
    with store.reading() as connection:
        return dict(connection.execute(query).all())


@patient
def spent_on(store: StoreReader, match_id: str) -> Cost:
    """What a match has taken so far that is not part of its record yet."""
    with store.reading() as connection:
        return _in_ledger(connection, calls.c.match_id == match_id)


class Buyers:
    """The studies that bought the calls of matches.

    Args:
        where: which matches, as a condition on their table.
    """

    def __init__(self, store: StoreReader, where: Any) -> None:
        query = (
            sa.select(matches.c.id, studies.c.name)
            .join(purchases, purchases.c.match_number == matches.c.number)
            .join(studies, studies.c.id == purchases.c.study_id)
            .where(where)
            .order_by(studies.c.id)
        )
        self._names: dict[str, list[str]] = {}
        with store.reading() as connection:
            for id_, name in connection.execute(query):
                self._names.setdefault(id_, []).append(name)

    @classmethod
    def of_study(cls, store: StoreReader, study: str) -> "Buyers":
        """Of all matches of a study, those of its earlier forms among them."""
        return cls(store, matches.c.number.in_(members_of(study, past=True)))

    def of_match(self, match_id: str) -> list[str]:
        """The studies that bought calls of a match that ended, the oldest first."""
        return self._names.get(match_id, [])

    def of(self, record: MatchRecord) -> Iterator[tuple[str, Mapping[str, Any], str | None]]:
        """The calls of a match that ended: the seat, what is recorded, and who bought it.

        Older records do not say it of each call; all theirs are of one study.
        """
        alone = next(iter(self.of_match(record.id)), None)
        for answer in record.answers:
            for entry in answer.calls:
                yield answer.seat, entry, entry.get("bought_by", alone)


def uncounted(store: StoreReader, study_id: int) -> Iterator[Mapping[str, Any]]:
    """The calls that a study bought of which no count of tokens came back, and which may have
    taken some.
    """
    yield from _uncounted_in_ledger(store, _sent_by(study_id))
    ours = sa.select(purchases.c.match_number).where(
        purchases.c.study_id == study_id, purchases.c.uncounted > 0
    )
    with store.reading() as connection:
        study = connection.scalar(sa.select(studies.c.name).where(studies.c.id == study_id))
    bought = Buyers(store, matches.c.number.in_(ours))
    for record in store.records(bodies=True, where=matches.c.number.in_(ours)):
        for _, entry, buyer in bought.of(record):
            if "model" in entry["call"] and cost_of(entry["reply"]).unknown and buyer == study:
                yield entry["call"]


def latest_replies(
    store: StoreReader, study_id: int
) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Some calls that a study has bought, with their replies: those that stand in the ledger, and
    those of the matches that it bought last.
    """
    query = sa.select(calls.c.call, calls.c.reply).where(
        _sent_by(study_id), calls.c.state != "sent", _to_model()
    )
    last = (
        sa.select(purchases.c.match_number)
        .where(purchases.c.study_id == study_id)
        .order_by(purchases.c.match_number.desc())
    )
    with store.reading() as connection:
        for call, reply in connection.execute(query.order_by(calls.c.id.desc()).limit(SAMPLE)):
            yield call, reply or {}
        numbers = connection.scalars(last.limit(SAMPLE)).all()
    for record in store.records(bodies=True, where=matches.c.number.in_(numbers)):
        for answer in record.answers:
            for entry in answer.calls:
                if "model" in entry["call"]:
                    yield entry["call"], entry["reply"] or {}


@patient
def uncounted_on(store: StoreReader, match_id: str) -> list[Mapping[str, Any]]:
    """Such calls of a match that are not part of its record yet."""
    return _uncounted_in_ledger(store, calls.c.match_id == match_id)


def _uncounted_in_ledger(store: StoreReader, where: Any) -> list[Mapping[str, Any]]:
    query = sa.select(calls.c.call, calls.c.reply).where(
        where, calls.c.state != "sent", _to_model()
    )
    with store.reading() as connection:
        return [call for call, reply in connection.execute(query) if cost_of(reply).unknown]


def answered(store: StoreReader) -> dict[str, dict[str, Cost]]:
    """What replies took that wait in the ledger for their matches to go on, by match and seat.

    Replies from a cache are among them; a resumed match makes none of these calls again.
    """
    query = sa.select(calls.c.match_id, calls.c.seat, calls.c.reply).where(
        calls.c.state == "answered", _to_model()
    )
    found: dict[str, dict[str, Cost]] = {}
    with store.reading() as connection:
        for match_id, seat, reply in connection.execute(query):
            usage = Usage.model_validate(reply.get("usage", {}))
            seats = found.setdefault(match_id, {})
            seats[seat] = seats.get(seat, Cost()) + Cost(1, usage)
    return found


class Sending(NamedTuple):
    """One sending of a call to a model.

    Attributes:
        player: the label of the player whose call it was.
        model: the model string asked.
        reply: as recorded; None where none came.
        ended: when its match ended, in seconds since 1970; None where it has not.
        bought_by: the study that bought it.
        planned: whether the study as it now stands has the match.
    """

    player: str
    model: str
    reply: Mapping[str, Any] | None
    ended: float | None
    bought_by: str | None
    planned: bool


def sendings(store: StoreReader, study: str) -> Iterator[Sending]:
    """Every sending of the calls of a study's matches to models so far, match by match.

    Matches of earlier forms of the study are among them, as they are in what it has spent.
    """
    aside = set_aside(store, study)
    waiting: dict[str, list[tuple[str, str, Any, str | None]]] = {}
    model = calls.c.call["model"].as_string()
    query = (
        sa.select(calls.c.match_id, calls.c.seat, model, calls.c.reply, studies.c.name)
        .join(matches, matches.c.id == calls.c.match_id)
        .join(studies, studies.c.id == calls.c.study_id, isouter=True)
        .where(matches.c.number.in_(members_of(study, past=True)), _to_model())
    )
    with store.reading() as connection:
        for match_id, *call in connection.execute(query):
            waiting.setdefault(match_id, []).append(tuple(call))
    bought = Buyers.of_study(store, study)
    called = sa.or_(matches.c.calls > 0, matches.c.id.in_(sa.select(calls.c.match_id)))
    for record in store.records(study, bodies=True, where=called, past=True):
        made = [
            (seat, entry["call"]["model"], entry["reply"], buyer)
            for seat, entry, buyer in bought.of(record)
            if "model" in entry["call"]
        ]
        for seat, asked, reply, buyer in [*made, *waiting.get(record.id, ())]:
            player = record.label(record.place_of(seat))
            planned = record.id not in aside
            yield Sending(player, asked, reply, record.finished, buyer, planned)


def costs_by_player(store: StoreReader, study: str) -> dict[str, Cost]:
    """What a study has bought so far, by the label of the player whose calls they were.

    Together this is :func:`study_cost`.
    """
    found: dict[str, Cost] = {}
    for one in sendings(store, study):
        if one.bought_by == study:
            found[one.player] = found.get(one.player, Cost()) + cost_of(one.reply)
    return found


def _in_ledger(connection: sa.Connection, where: Any) -> Cost:
    """What the calls in the ledger took, summed there."""
    reply = calls.c.reply
    tokens = [
        sa.func.coalesce(reply[("usage", name)].as_integer(), 0) for name in Usage.model_fields
    ]
    dollars = reply["dollars"].as_float()
    unreached = sa.cast(sa.func.coalesce(reply["unreached"].as_boolean(), False), sa.Integer)
    lost = sa.func.coalesce(sa.cast(reply, sa.String), "null") == "null"
    reached = sa.and_(sa.not_(lost), unreached == 0)
    unpriced = sa.and_(reached, dollars.is_(None))
    uncounted = sa.and_(reached, tokens[0] == 0, reply["status"].as_integer().is_(None))
    unresolved = sa.cast(lost, sa.Integer)
    implausible = sa.and_(reached, reply["reported"].as_string().is_not(None))
    counts = (
        1 - unreached, *tokens, dollars, sa.cast(unpriced, sa.Integer),
        unresolved, unreached, sa.cast(uncounted, sa.Integer),
        sa.cast(implausible, sa.Integer),
    )  # fmt: skip
    query = sa.select(*map(_total, counts)).where(
        where, _to_model(), sa.func.coalesce(reply["cached"].as_boolean(), False).is_(False)
    )
    return _cost(connection.execute(query).one())


def _to_model() -> Any:
    return calls.c.call["model"].as_string().is_not(None)


def _total(column: Any) -> Any:
    return sa.func.coalesce(sa.func.sum(column), 0)


def _cost(totals: Sequence[Any]) -> Cost:
    """Totals in the order of :class:`.Cost`, its tokens one by one."""
    number, *rest = totals
    tokens, (dollars, *others) = rest[: len(Usage.model_fields)], rest[len(Usage.model_fields) :]
    usage = Usage(**dict(zip(Usage.model_fields, tokens, strict=True)))
    return Cost(number, usage, float(dollars), *others)
