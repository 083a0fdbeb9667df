"""A recorded match laid out for reading: turns in columns, each with the calls it took."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError

from cheaptalk.records import FEW, Line, MatchRecord, gathered, transcript
from cheaptalk.rules import CheaptalkError

UNREADABLE = (CheaptalkError, ValidationError, KeyError)
"""What a record that the installed rules cannot replay fails with."""


class Exchange(NamedTuple):
    """One call and what came of it.

    Attributes:
        model: what was called: the model id that came back, or else the one asked for.
        state: ``answered``, or why not.
        sending: how often the call had been sent by then.
        messages: what was sent, as (role, text).
        text: the raw reply; None where there was none.
        detail: the provider's words about a failure.
        input_tokens, output_tokens, seconds: what it took; None where unknown.
    """

    model: str
    state: str
    sending: int
    messages: list[tuple[str, str]]
    text: str | None
    detail: str | None
    input_tokens: int | None
    output_tokens: int | None
    seconds: float | None


class Turn(NamedTuple):
    """One thing a seat lived through; ``column`` counts places from 0."""

    column: int
    line: Line
    exchanges: list[Exchange]

    @property
    def seconds(self) -> float:
        """How long the calls took together."""
        return sum(one.seconds or 0 for one in self.exchanges)

    @property
    def tokens(self) -> int:
        """Tokens of all calls, in and out."""
        return sum((one.input_tokens or 0) + (one.output_tokens or 0) for one in self.exchanges)


class Block(NamedTuple):
    """What several seats lived through at once: who, the words they heard, and their turns."""

    head: str
    text: str
    turns: list[Turn]


class Talk(NamedTuple):
    """A match as people read it.

    Attributes:
        places: the columns.
        turns: in the order they happened.
        blocks: the turns put together, where there are too many places for columns.
        problem: why the match cannot be put into words, or None.
    """

    places: list[str]
    turns: list[Turn]
    blocks: list[Block]
    problem: str | None


def talk(record: MatchRecord) -> Talk:
    """Lay a match out. One without answers has no turns; one that does not replay says why."""
    places = list(record.seats)
    if "answers" not in record.body:
        return Talk(places, [], [], None)
    try:
        columns = {seat.name: places.index(seat.place) for seat in record.rules.seats}
        lines = transcript(record)
    except UNREADABLE as error:
        return Talk(places, [], [], str(error))

    def turn(line: Line) -> Turn:
        return Turn(columns[line.seat], line, [exchange(call) for call in line.calls])

    if len(places) <= FEW:
        return Talk(places, [turn(line) for line in lines], [], None)
    blocks = [
        Block(scene.head(len(columns)), scene.shown, [turn(line) for line in scene.lines])
        for scene in gathered(lines)
    ]
    return Talk(places, [], blocks, None)


def exchange(call: Mapping[str, Any]) -> Exchange:
    """A call as it is recorded with an answer, or as the ledger keeps it."""
    asked, reply = call["call"], call.get("reply") or {}
    usage = reply.get("usage") or {}
    return Exchange(
        model=reply.get("model") or asked.get("model") or "a person",
        state=call.get("state") or reply.get("failure") or "answered",
        sending=call.get("sending") or call.get("try") or 1,
        messages=list(_messages(asked)),
        text=reply.get("text"),
        detail=reply.get("detail"),
        input_tokens=usage.get("input_tokens"),
        output_tokens=usage.get("output_tokens"),
        seconds=reply.get("seconds"),
    )


def _messages(asked: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """What was sent: a model's messages, or what a person read."""
    for message in asked.get("messages", ()):
        yield message["role"], message["content"]
    if "question" in asked:
        yield from (("news", text) for text in asked.get("news", ()))
        yield "question", asked["question"]
