"""Counts of the moves, messages and words of each seat in a study's matches."""

import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import polars as pl
import sqlalchemy as sa
from pydantic import ValidationError

from cheaptalk.records import Status, Store
from cheaptalk.records.encoding import text_of
from cheaptalk.records.identity import Configuration
from cheaptalk.records.store import schema
from cheaptalk.records.store.parts import Part, over_parts
from cheaptalk.records.store.reader import load_configurations, members_of
from cheaptalk.rules import UnknownName

matches = schema.matches
COUNTS = ("moves", "messages", "words", "decisions")
COLUMNS: dict[str, Any] = {
    **dict.fromkeys(("match_id", "seat"), pl.String),
    **dict.fromkeys(COUNTS, pl.Int64),
    "first": pl.String,
}


class _Answer(msgspec.Struct, gc=False):
    actor: str
    action: dict[str, Any] | None


class _Answers(msgspec.Struct, gc=False):
    answers: list[_Answer]


DECODER = msgspec.json.Decoder(_Answers)


def move_counts(store: Store, study: str, *, workers: int = 1) -> pl.DataFrame:
    """Return how much each seat moved and wrote in the finished matches of a study.

    Returns:
        One row per match and seat that made a move: ``match_id``; ``seat``; ``moves``, the number
            of requested moves that were made; ``messages``, the moves with a nonempty message;
            ``words`` in messages, separated by whitespace; ``decisions``, the moves that accept or
            reject, buy or pass; and ``first``, the first move of the match as JSON, null in the
            rows of other seats.

    Raises:
        DamagedStore: a record is damaged.
    """
    return pl.concat(over_parts(store, study, workers, _count_part))


def _count_part(store: Store, study: str, part: Part) -> pl.DataFrame:
    query = (
        sa.select(matches.c.number, matches.c.id, matches.c.configuration_id, matches.c.body)
        .where(matches.c.status == Status.FINISHED.value)
        .where(matches.c.number.in_(members_of(study, part)))
        .order_by(matches.c.number)
    )
    rows: list[tuple[Any, ...]] = []
    known: dict[int, Configuration] = {}
    seats: dict[int, dict[str, str]] = {}
    with store.backend.explaining(), store.reading() as connection:
        for chunk in connection.execute(query.execution_options(yield_per=1000)).partitions():
            load_configurations(known, {row.configuration_id for row in chunk}, connection)
            seats |= {id_: _seats(item) for id_, item in known.items() if id_ not in seats}
            for number, id_, configuration, body in chunk:
                answers = _answers(store, study, number, body)
                rows += ((id_, *counts) for counts in _counted(answers, seats[configuration]))
    return pl.DataFrame(rows, COLUMNS, orient="row")


def _seats(configuration: Configuration) -> dict[str, str]:
    """Return the seat of each actor; empty if the installed rules can't replay the matches."""
    try:
        return {actor.name: actor.seat for actor in configuration.rules.actors}
    except (UnknownName, ValidationError):
        return {}


def _answers(store: Store, study: str, number: int, body: bytes) -> Sequence[_Answer]:
    """Return the answers of a match, decoded without the other recorded details if possible."""
    try:
        return DECODER.decode(zlib.decompress(body)).answers
    except (TypeError, zlib.error, msgspec.MsgspecError):  # older, with rare values, or damaged
        records = store.records(study, bodies=True, part=range(number, number + 1))
        answers = next(records).body["answers"]
        return [_Answer(answer["actor"], answer["action"]) for answer in answers]


def _counted(answers: Sequence[_Answer], seats: dict[str, str]) -> Iterator[tuple[Any, ...]]:
    counts: dict[str, list[int]] = {}
    for answer in answers:
        if (action := answer.action) is not None:
            seat = seats.get(answer.actor, answer.actor)
            if (tally := counts.get(seat)) is None:
                tally = counts[seat] = [0, 0, 0, 0]
            tally[0] += 1
            if (message := action.get("message")) and (words := len(message.split())):
                tally[1] += 1
                tally[2] += words
            if "decision" in action:
                tally[3] += 1
    first = answers[0] if answers else None
    for seat, tally in counts.items():
        own = first and first.action and seats.get(first.actor, first.actor) == seat
        yield seat, *tally, text_of(first.action) if first and own else None
