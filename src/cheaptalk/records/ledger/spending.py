"""What studies, matches and players have taken so far, read from the store."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from cheaptalk.models import Usage
from cheaptalk.records.costs import Cost, cost_of
from cheaptalk.records.record import SETTLED
from cheaptalk.records.store import schema
from cheaptalk.records.store.reader import StoreReader, members_of

matches, members, calls, studies = (
    schema.matches, schema.members, schema.calls, schema.studies,
)  # fmt: skip

UNCOUNTED_BEFORE = sa.case((matches.c.input_tokens == 0, matches.c.calls), else_=0)
"""What a match recorded before such calls were counted shows of those without a count of tokens."""


def spent(store: StoreReader, study_id: int) -> Cost:
    """What a study has taken so far, over all its runs and all sendings of its calls."""
    ours = sa.select(members.c.match_number).where(members.c.study_id == study_id)
    none = sa.literal(0)  # what is unresolved or reached no server is in the ledger
    ended = sa.select(
        *(_total(column) for column in (
            matches.c.calls, matches.c.input_tokens, matches.c.output_tokens,
            matches.c.cached_tokens, matches.c.reasoning_tokens, matches.c.dollars,
            sa.func.coalesce(matches.c.unpriced, matches.c.calls), none, none,
            sa.func.coalesce(matches.c.uncounted, UNCOUNTED_BEFORE), matches.c.implausible,
        ))
    ).where(matches.c.number.in_(ours), matches.c.status.in_(SETTLED))  # fmt: skip
    mine = sa.select(matches.c.id).where(matches.c.number.in_(ours))
    with store.reading() as connection:
        past = _cost(connection.execute(ended).one())
        return past + _in_ledger(connection, calls.c.match_id.in_(mine))


def study_cost(store: StoreReader, study: str) -> Cost:
    """What a study has taken so far, by its name."""
    with store.reading() as connection:
        number = connection.scalar(sa.select(studies.c.id).where(studies.c.name == study))
    return spent(store, number or 0)


def spent_on(store: StoreReader, match_id: str) -> Cost:
    """What a match has taken so far that is not part of its record yet."""
    with store.reading() as connection:
        return _in_ledger(connection, calls.c.match_id == match_id)


def uncounted(store: StoreReader, study_id: int) -> Iterator[Mapping[str, Any]]:
    """A study's calls of which no count of tokens came back, and which may have taken some."""
    ours = sa.select(members.c.match_number).where(members.c.study_id == study_id)
    mine = sa.select(matches.c.id).where(matches.c.number.in_(ours))
    yield from _uncounted_in_ledger(store, calls.c.match_id.in_(mine))
    lacking = sa.and_(matches.c.number.in_(ours), matches.c.uncounted > 0)
    for record in store.records(bodies=True, where=lacking):
        for answer in record.answers:
            for entry in answer.calls:
                if "model" in entry["call"] and cost_of(entry.get("reply")).unknown:
                    yield entry["call"]


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
    """

    player: str
    model: str
    reply: Mapping[str, Any] | None
    ended: float | None


def sendings(store: StoreReader, study: str) -> Iterator[Sending]:
    """Every sending of a study's calls to models so far, match by match."""
    waiting: dict[str, list[tuple[str, str, Any]]] = {}
    model = calls.c.call["model"].as_string()
    query = (
        sa.select(calls.c.match_id, calls.c.seat, model, calls.c.reply)
        .join(matches, matches.c.id == calls.c.match_id)
        .where(matches.c.number.in_(members_of(study)), _to_model())
    )
    with store.reading() as connection:
        for match_id, *call in connection.execute(query):
            waiting.setdefault(match_id, []).append(tuple(call))
    called = sa.or_(matches.c.calls > 0, matches.c.id.in_(sa.select(calls.c.match_id)))
    for record in store.records(study, bodies=True, where=called):
        made = [
            (answer.seat, entry["call"]["model"], entry.get("reply"))
            for answer in record.answers
            for entry in answer.calls
            if "model" in entry["call"]
        ]
        for seat, asked, reply in [*made, *waiting.get(record.id, ())]:
            yield Sending(record.label(record.place_of(seat)), asked, reply, record.finished)


def costs_by_player(store: StoreReader, study: str) -> dict[str, Cost]:
    """What a study has taken so far, by the label of the player whose calls they were."""
    found: dict[str, Cost] = {}
    for one in sendings(store, study):
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
    lost = calls.c.state == "unresolved"
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
