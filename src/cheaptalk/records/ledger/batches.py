"""Batches in the store: which calls went to a provider together, and what came of them.

A batch and the intents of its calls are committed together before it is submitted, its replies
together when it has ended. A kill in between leaves an open batch, which a later run collects.
"""

import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from cheaptalk.models import Reply
from cheaptalk.models.structured_output import REFUSALS
from cheaptalk.records.ledger.ledger import number_of
from cheaptalk.records.store import schema
from cheaptalk.records.store.reader import members_of
from cheaptalk.records.store.store import Store

batches, calls = schema.batches, schema.calls


class Intent(NamedTuple):
    """A call that is to be sent, as :class:`.CallKey` and plain data."""

    match_id: str
    request: int
    seat: str
    attempt: int
    sending: int
    call: dict[str, Any]


class BatchCall(NamedTuple):
    """A call in a batch; its number is what the ledger settles."""

    number: int
    call: dict[str, Any]


class Batch(NamedTuple):
    """A batch that is not collected yet.

    Attributes:
        model: the model string of all its calls.
        tag: our word for it, which the provider keeps: no other batch has it.
        planned: when it was committed, in seconds since 1970.
        calls: the calls in it.
        name: what the provider calls it; None where nobody knows whether it was submitted.
    """

    id: int
    model: str
    tag: str
    planned: float
    calls: Sequence[BatchCall]
    name: str | None = None


class BatchSummary(NamedTuple):
    """A batch, whatever became of it.

    Attributes:
        state: ``planned``, ``submitted`` or ``collected``.
        calls: how many are in it.
        planned, submitted, collected: when, in seconds since 1970; None where it was not.
    """

    model: str
    name: str | None
    state: str
    calls: int
    planned: float
    submitted: float | None
    collected: float | None


def plan_batch(
    connection: sa.Connection, model: str, tag: str, intents: Sequence[Intent], study_id: int | None
) -> Batch:
    """Note a batch that is about to be submitted, with the intents of all its calls.

    Args:
        study_id: the study that they are charged to.
    """
    now = time.time()
    values = {
        "model": model, "tag": tag, "state": "planned", "calls": len(intents), "planned": now,
    }  # fmt: skip
    number = number_of(connection.execute(sa.insert(batches).values(values)))
    noted = []
    for intent in intents:
        row = intent._asdict() | {"try": intent.sending, "state": "sent", "sent": now}
        row["study_id"] = study_id
        del row["sending"]
        made = connection.execute(sa.insert(calls).values(row | {"batch": number}))
        noted.append(BatchCall(number_of(made), intent.call))
    return Batch(number, model, tag, now, noted)


def note_submitted(connection: sa.Connection, batch: Batch, name: str) -> Batch:
    """Note what the provider calls a batch."""
    connection.execute(
        sa.update(batches)
        .where(batches.c.id == batch.id)
        .values(name=name, state="submitted", submitted=time.time())
    )
    return batch._replace(name=name)


def note_full(connection: sa.Connection, batch: Batch, tag: str) -> Batch:
    """Note that the provider had no room for a batch, which is to go out under another tag."""
    values = {"name": None, "state": "planned", "submitted": None, "tag": tag}
    connection.execute(sa.update(batches).where(batches.c.id == batch.id).values(values))
    return batch._replace(name=None, tag=tag)


def collect(
    connection: sa.Connection, batch: Batch, replies: Iterable[tuple[int, str, Reply | None]]
) -> None:
    """Settle all calls of a batch at once: by number, the state and the reply."""
    now = time.time()
    for number, state, reply in replies:
        written = None if reply is None else reply.model_dump(mode="json", exclude_none=True)
        connection.execute(
            sa.update(calls)
            .where(calls.c.id == number)
            .values(state=state, reply=written, received=now)
        )
    connection.execute(
        sa.update(batches).where(batches.c.id == batch.id).values(state="collected", collected=now)
    )


def open_batches(store: Store, matches: Iterable[str]) -> list[Batch]:
    """The batches that are not collected yet and hold calls of these matches."""
    query = (
        sa.select(batches, calls.c.id.label("number"), calls.c.match_id, calls.c.call)
        .join(calls, calls.c.batch == batches.c.id)
        .where(batches.c.state != "collected")
        .order_by(batches.c.id, calls.c.id)
    )
    found: dict[int, Batch] = {}
    held: dict[int, list[BatchCall]] = {}
    inside: dict[int, set[str]] = {}
    with store.reading() as connection:
        for row in connection.execute(query):
            ours = held.setdefault(row.id, [])
            found[row.id] = Batch(row.id, row.model, row.tag, row.planned, ours, row.name)
            ours.append(BatchCall(row.number, row.call))
            inside.setdefault(row.id, set()).add(row.match_id)
    anywhere = set().union(*inside.values())
    wanted = {id_ for id_ in matches if id_ in anywhere} if anywhere else set()
    return [batch for number, batch in found.items() if inside[number] & wanted]


def calls_in_batches(store: Store, matches: Iterable[str]) -> int:
    """How many calls are in batches that are not collected yet and hold calls of these matches."""
    return sum(len(one.calls) for one in open_batches(store, matches))


def refusals(store: Store) -> list[tuple[str, Reply]]:
    """What calls brought that may have been refused for how they asked, with their models."""
    model, reply = calls.c.call["model"].as_string(), calls.c.reply
    refused = reply["status"].as_integer().in_(REFUSALS)
    query = sa.select(model, reply).where(refused)
    with store.reading() as connection:
        return [(row[0], Reply.model_validate(row[1])) for row in connection.execute(query)]


def all_batches(store: Store) -> list[BatchSummary]:
    """All batches of a store, the oldest first."""
    return _summaries(store, sa.true())


def waiting_batches(store: Store, study: str) -> list[BatchSummary]:
    """The batches that are not collected yet and hold calls of a study, the oldest first."""
    matches = schema.matches
    ours = (
        sa.select(calls.c.batch)
        .join(matches, matches.c.id == calls.c.match_id)
        .where(matches.c.number.in_(members_of(study, past=True)))
    )
    return _summaries(store, sa.and_(batches.c.state != "collected", batches.c.id.in_(ours)))


def _summaries(store: Store, where: sa.ColumnElement[bool]) -> list[BatchSummary]:
    columns = (batches.c[name] for name in BatchSummary._fields)
    query = sa.select(*columns).where(where).order_by(batches.c.id)
    with store.reading() as connection:
        return [BatchSummary(*row) for row in connection.execute(query)]
