"""Counts of the moves, messages and words of each seat in a study's matches."""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import polars as pl
import sqlalchemy as sa
from pydantic import ValidationError

from cheaptalk.records import Status, Store
from cheaptalk.records.encoding import text_of
from cheaptalk.records.identity import Configuration
from cheaptalk.records.store import schema
from cheaptalk.records.store.reader import chunks
from cheaptalk.rules import UnknownName
from cheaptalk.statistics.columns import with_matching

matches = schema.matches
COUNTS = ("moves", "messages", "words", "decisions")
AT_ONCE = 1_000
"""Number of records per read."""


class _Answer(msgspec.Struct, gc=False):
    actor: str
    action: dict[str, Any] | None


class _Answers(msgspec.Struct, gc=False):
    answers: list[_Answer]


DECODER = msgspec.json.Decoder(_Answers)


def with_moves(
    store: Store,
    study: str,
    frame: pl.DataFrame,
    seats: Sequence[str],
    configurations: Mapping[int, Configuration],
) -> pl.DataFrame:
    """Add the columns of ``moves`` of :func:`.match_frames` to a frame with the matches' numbers.

    Raises:
        DamagedStore: a record is damaged.
    """
    actors = {id_: _seat_of_actors(item) for id_, item in configurations.items()}
    query = sa.select(matches.c.number, matches.c.configuration_id, matches.c.body)
    rows: list[list[Any]] = []
    with store.reading() as connection:
        for numbers in chunks(frame.filter(status=Status.FINISHED)["number"].to_list(), AT_ONCE):
            chosen = query.where(matches.c.number.in_(numbers)).order_by(matches.c.number)
            for number, configuration, body in connection.execute(chosen):
                answers = _answers(store, study, number, body)
                rows.append([number, *_counted(answers, actors[configuration], seats)])
    columns = {seat: [f"{count}_{seat}" for count in COUNTS] for seat in seats}
    types = {name: pl.Int32 for names in columns.values() for name in names}
    counted = pl.DataFrame(
        rows, {"number": pl.Int64, **types, "first_move": pl.String}, orient="row"
    )
    return with_matching(frame, counted, "number").with_columns(
        pl.when(pl.col(f"player_{seat}").is_not_null()).then(pl.col(names)).name.keep()
        for seat, names in columns.items()
    )


def _seat_of_actors(configuration: Configuration) -> dict[str, str]:
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


def _counted(
    answers: Sequence[_Answer], seat_of: Mapping[str, str], seats: Iterable[str]
) -> list[int | str | None]:
    """Return the counts of each seat, and the first move as JSON."""
    tallies = {seat: [0, 0, 0, 0] for seat in seats}
    for answer in answers:
        tally = tallies.get(seat_of.get(answer.actor, answer.actor))
        if (action := answer.action) is not None and tally is not None:
            tally[0] += 1
            if (message := action.get("message")) and (words := len(message.split())):
                tally[1] += 1
                tally[2] += words
            if "decision" in action:
                tally[3] += 1
    counts: list[int | str | None] = [count for tally in tallies.values() for count in tally]
    first = answers[0].action if answers else None
    return [*counts, None if first is None else text_of(first)]
