"""A player's conduct in a match: its decisions, received messages and lapses."""

import json
from hashlib import sha256
from typing import Any, NamedTuple

import polars as pl

from cheaptalk.players import Kind
from cheaptalk.records import MatchRecord
from cheaptalk.rules import Result, get_game
from cheaptalk.rules.assessment import LATE, LONG, Conduct

WORDS = ("message", "reasoning")


class Course(NamedTuple):
    """A player's course through a match.

    Attributes:
        course: a digest of the player's moves, of the offers and statements in its messages, and of
            the match's status. The opponent's moves are excluded, because manipulations can contain
            false statements and scripted moves follow from the player's moves.
        reached: whether the player made a decision after a message of the opponent.
        reads: whether the player reads text, including names and wording.
    """

    course: str
    reached: bool
    reads: bool


SCHEMA: dict[str, Any] = {
    "course": pl.String, "reached": pl.Boolean, "reads": pl.Boolean,
    **{name: pl.Int64 if kind is int else pl.Boolean
       for name, kind in Conduct.__annotations__.items()},
}  # fmt: skip
"""Columns of :class:`Course` and :class:`.Conduct` in frames."""


def course(record: MatchRecord, result: Result | None, seat: str) -> Course:
    """Return a player's course through a match; pass None as ``result`` if it did not finish."""
    return Course(
        _digest(record, result, seat),
        _reached(record, seat),
        "model" in record.seats[seat]["spec"],
    )


def conduct(record: MatchRecord, result: Result | None, seat: str) -> Conduct:
    """Return a player's conduct in a match; pass None as ``result`` if it did not finish."""
    if result is None:
        return Conduct(late=_fails_late(record, seat))
    return get_game(result.game.name).assessment.conduct(result, seat)


def _digest(record: MatchRecord, result: Result | None, seat: str) -> str:
    meanings = {} if result is None else get_game(record.game).assessment.meanings(result)
    moves: list[Any] = [record.status.value]
    for answer in record.answers:
        if answer.actor != seat:
            continue
        action = answer.action or {}
        move = {
            key: value for key, value in action.items() if key not in WORDS and value is not None
        }
        moves.append([answer.request, move, meanings.get((answer.request, answer.actor))])
    return sha256(json.dumps(moves, sort_keys=True).encode()).hexdigest()[:16]


def _reached(record: MatchRecord, seat: str) -> bool:
    """Return whether a seat answered a request after an opponent had sent a message."""
    spoken = False
    for answer in record.answers:
        if answer.actor == seat and spoken:
            return True
        spoken |= answer.actor != seat and bool((answer.action or {}).get("message"))
    return False


def _fails_late(record: MatchRecord, seat: str) -> bool | None:
    """Return whether a seat's first failed answer came late in a long match."""
    rounds = getattr(getattr(record.rules, "horizon", None), "rounds", 0)
    answers = [answer for answer in record.answers if answer.actor == seat]
    if rounds < LONG or not answers:
        return None
    failed = [row.request for row in answers if row.kind not in (Kind.OK, Kind.REPAIRED)]
    return bool(failed) and min(failed) >= 2 * LATE - 2
