"""What studies, matches and players have taken so far, read from the store."""

from typing import Any

import sqlalchemy as sa

from cheaptalk.models import Usage
from cheaptalk.records import schema
from cheaptalk.records.costs import Cost, cost_of
from cheaptalk.records.errors import clear_errors
from cheaptalk.records.reading import StoreReader, members_of
from cheaptalk.records.record import MatchRecord

matches, members, calls, studies = (
    schema.matches, schema.members, schema.calls, schema.studies,
)  # fmt: skip

ENDED = ("finished", "forfeited")
"""Statuses of matches whose calls are in their records; all others' are in the ledger."""


def spent(store: StoreReader, study_id: int) -> Cost:
    """What a study has taken so far, over all its runs and all sendings of its calls."""
    ours = sa.select(members.c.match_number).where(members.c.study_id == study_id)
    ended = sa.select(
        *(_total(column) for column in (
            matches.c.calls, matches.c.input_tokens, matches.c.output_tokens,
            matches.c.cached_tokens, matches.c.reasoning_tokens, matches.c.dollars,
            sa.func.coalesce(matches.c.unpriced, matches.c.calls),
        ))
    ).where(matches.c.number.in_(ours), matches.c.status.in_(ENDED))  # fmt: skip
    mine = sa.select(matches.c.id).where(matches.c.number.in_(ours))
    with clear_errors(store.path), store.engine.connect() as connection:
        past = _cost(*connection.execute(ended).one())
        return past + _in_ledger(connection, calls.c.match_id.in_(mine))


def study_cost(store: StoreReader, study: str) -> Cost:
    """What a study has taken so far, by its name."""
    with clear_errors(store.path), store.engine.connect() as connection:
        number = connection.scalar(sa.select(studies.c.id).where(studies.c.name == study))
    return spent(store, number or 0)


def spent_on(store: StoreReader, match_id: str) -> Cost:
    """What a match has taken so far that is not part of its record yet."""
    with clear_errors(store.path), store.engine.connect() as connection:
        return _in_ledger(connection, calls.c.match_id == match_id)


def costs_by_player(store: StoreReader, study: str) -> dict[str, Cost]:
    """What a study has taken so far, by the label of the player whose calls they were."""
    waiting: dict[str, list[tuple[str, Cost]]] = {}
    query = (
        sa.select(calls.c.match_id, calls.c.seat, calls.c.reply)
        .join(matches, matches.c.id == calls.c.match_id)
        .where(matches.c.number.in_(members_of(study)), _to_model())
    )
    with clear_errors(store.path), store.engine.connect() as connection:
        for match_id, seat, reply in connection.execute(query):
            waiting.setdefault(match_id, []).append((seat, cost_of(reply)))
    called = sa.or_(matches.c.calls > 0, matches.c.id.in_(sa.select(calls.c.match_id)))
    found: dict[str, Cost] = {}
    for record in store.records(study, bodies=True, where=called):
        at = {seat.name: seat.place for seat in record.rules.seats}
        for seat, cost in [*_recorded(record), *waiting.get(record.id, ())]:
            label = record.label(at[seat])
            found[label] = found.get(label, Cost()) + cost
    return found


def _recorded(record: MatchRecord) -> list[tuple[str, Cost]]:
    return [
        (answer.seat, cost_of(entry.get("reply")))
        for answer in record.answers
        for entry in answer.calls
        if "model" in entry["call"]
    ]


def _in_ledger(connection: sa.Connection, where: Any) -> Cost:
    """What the calls in the ledger took, summed there."""
    reply = calls.c.reply
    tokens = [
        sa.func.coalesce(reply[("usage", name)].as_integer(), 0) for name in Usage.model_fields
    ]
    dollars = reply["dollars"].as_float()
    unknown = sa.and_(
        dollars.is_(None), sa.or_(reply["text"].as_string().is_not(None), tokens[0] + tokens[1] > 0)
    )
    query = sa.select(
        sa.func.count(),
        *map(_total, (*tokens, dollars, sa.cast(unknown, sa.Integer))),
        _total(sa.cast(calls.c.state == "unresolved", sa.Integer)),
    ).where(where, _to_model(), sa.func.coalesce(reply["cached"].as_boolean(), False).is_(False))
    return _cost(*connection.execute(query).one())


def _to_model() -> Any:
    return calls.c.call["model"].as_string().is_not(None)


def _total(column: Any) -> Any:
    return sa.func.coalesce(sa.func.sum(column), 0)


def _cost(
    number: int,
    input_tokens: int,
    output_tokens: int,
    cached_tokens: int,
    reasoning_tokens: int,
    dollars: float,
    unpriced: int,
    unresolved: int = 0,
) -> Cost:
    usage = Usage(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cached_tokens=cached_tokens,
        reasoning_tokens=reasoning_tokens,
    )
    return Cost(number, usage, float(dollars), unpriced, unresolved)
