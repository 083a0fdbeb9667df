"""Counts of the moves, messages and words of each seat in a study's matches."""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import polars as pl
import sqlalchemy as sa
from pydantic import ValidationError

from cheaptalk.frames.reader import AT_ONCE
from cheaptalk.records import Status, Store
from cheaptalk.records.exports.columns import JSON
from cheaptalk.records.exports.sheets import VALUES
from cheaptalk.records.identity import Configuration
from cheaptalk.records.moves import COUNTS, count_moves
from cheaptalk.records.store import schema
from cheaptalk.records.store.reader import chunks
from cheaptalk.rules import UnknownName
from cheaptalk.statistics.columns import with_matching

matches = schema.matches


class _Answer(msgspec.Struct, gc=False):
    actor: str
    action: dict[str, Any] | None


class _Line(msgspec.Struct, gc=False):
    actor: str
    text: str | None


class _Answers(msgspec.Struct, gc=False):
    answers: list[_Answer]
    chat: list[_Line] = []


DECODER = msgspec.json.Decoder(_Answers)


def move_columns(seats: Iterable[str]) -> dict[str, Any]:
    """Return the names and types of the columns with the moves of these seats."""
    counts = {f"{count}_{seat}": pl.Int64 for seat in seats for count in COUNTS}
    return {**counts, "first_move": pl.String}


def with_moves(
    store: Store,
    study: str,
    frame: pl.DataFrame,
    seats: Sequence[str],
    configurations: Mapping[int, Configuration],
) -> pl.DataFrame:
    """Add the columns of ``moves`` of :func:`.read_matches` to a frame with the matches' numbers.

    Raises:
        DamagedStore: a record is damaged.
    """
    ids = frame["configuration_id"].unique(maintain_order=True)
    places = {id_: _places(configurations[id_], seats) for id_ in ids}
    query = sa.select(matches.c.number, matches.c.configuration_id, matches.c.body)
    rows: list[list[Any]] = []
    with store.reading() as connection:
        for numbers in chunks(frame.filter(status=Status.FINISHED)["number"].to_list(), AT_ONCE):
            chosen = query.where(matches.c.number.in_(numbers)).order_by(matches.c.number)
            for number, configuration, body in connection.execute(chosen):
                played = _answers(store, study, number, body)
                answers, place = played.answers, places[configuration]
                counts = count_moves(answers, place, len(seats), played.chat)
                first = answers[0].action if answers else None
                rows.append([number, *counts, None if first is None else VALUES[JSON](first)])
    counted = pl.DataFrame(rows, {"number": pl.Int64, **move_columns(seats)}, orient="row")
    return with_matching(frame, counted, "number").with_columns(
        pl.when(pl.col(f"player_{seat}").is_not_null()).then(f"{count}_{seat}").name.keep()
        for seat in seats
        for count in COUNTS
    )


def _places(configuration: Configuration, seats: Sequence[str]) -> dict[str, int]:
    """Return the index of each actor's seat; empty if the rules can't be loaded."""
    try:
        actors = configuration.rules.actors
    except (UnknownName, ValidationError):
        return {}
    return {actor.name: seats.index(actor.seat) for actor in actors}


def _answers(store: Store, study: str, number: int, body: bytes) -> _Answers:
    """Return the answers and chat of a match, if possible without the other recorded details."""
    try:
        return DECODER.decode(zlib.decompress(body))
    except (TypeError, zlib.error, msgspec.MsgspecError):  # older, with rare values, or damaged
        records = store.records(study, bodies=True, part=range(number, number + 1))
        record = next(records)
        answers = record.body["answers"]
        return _Answers(
            [_Answer(answer["actor"], answer["action"]) for answer in answers],
            [_Line(line.actor, line.text) for line in record.chat],
        )
