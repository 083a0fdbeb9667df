"""A recorded match laid out for reading."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from pydantic import ValidationError

from cheaptalk.models import Usage
from cheaptalk.records import (
    FEW,
    Line,
    MatchRecord,
    gathered,
    transcript,
)
from cheaptalk.rules import CheaptalkError, counted

UNREADABLE = (CheaptalkError, ValidationError, KeyError)
"""What a record that the installed rules cannot replay fails with."""
Calls: TypeAlias = Sequence[Mapping[str, Any]]
FACTS = {
    "route": "asked for by", "finish": "finish reason", "fingerprint": "system fingerprint",
    "status": "HTTP status", "retry_after": "seconds to wait", "cached": "from the cache",
    "batch": "in a batch", "dollars": "cost in dollars",
}  # fmt: skip
"""What is known of a reply, and what it is called."""


class Exchange(NamedTuple):
    """One sending of a call and what came of it.

    Attributes:
        call: the call's place within the answer, from 1; re-asks and the stages of a refined
            answer count on.
        sending: counts sendings of the same call, from 1.
        model: the model id that came back, or else the model string asked for.
        state: ``answered``, or why not.
        messages: what was sent, as (role, text).
        text: the raw reply, character for character; None where there was none.
        reasoning: the model's reasoning, where the provider gave it.
        detail: the provider's words about a failure.
        usage: tokens; None where nobody counted any.
        seconds: how long it took; None where nothing came back.
        facts: how it was asked and answered, by name: what is known of model string, settings,
            route, finish reason, cost and the like.
    """

    call: int
    sending: int
    model: str
    state: str
    messages: list[tuple[str, str]]
    text: str | None
    reasoning: str | None
    detail: str | None
    usage: Usage | None
    seconds: float | None
    facts: dict[str, Any]

    @property
    def tokens(self) -> int:
        """Tokens in and out."""
        return self.usage.input_tokens + self.usage.output_tokens if self.usage else 0

    @property
    def counted(self) -> str:
        """The tokens in words."""
        if self.usage is None:
            return ""
        used, part = self.usage, " ({:,} of them {})"
        cached = part.format(used.cached_tokens, "cached") if used.cached_tokens else ""
        thought = part.format(used.reasoning_tokens, "reasoning") if used.reasoning_tokens else ""
        return (
            f"{counted(used.input_tokens, 'token')} in{cached}, {used.output_tokens:,} out{thought}"
        )


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
        return sum(one.tokens for one in self.exchanges)


class TurnGroup(NamedTuple):
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
        outside: calls that belong to no turn, as (seat, question, sendings): those of a question
            that is still open, or of a match that did not end.
        problem: why the match cannot be put into words, or None.
    """

    places: list[str]
    turns: list[Turn]
    blocks: list[TurnGroup]
    outside: list[tuple[str, int, list[Exchange]]]
    problem: str | None


def talk(record: MatchRecord, ledger: Calls = ()) -> Talk:
    """Lay a match out. One without answers has no turns; one that does not replay says why.

    Args:
        ledger: its calls that are no part of its record: failed sendings, and those of a match
            under way.
    """
    waiting: dict[tuple[int, str], list[Mapping[str, Any]]] = {}
    for call in ledger:
        waiting.setdefault((call["request"], call["seat"]), []).append(call)
    places, problem = list(record.seats), None
    lines: list[Line] = []
    try:
        if "answers" in record.body:
            columns = {seat.name: places.index(seat.place) for seat in record.rules.seats}
            lines = transcript(record)
    except UNREADABLE as error:
        problem = str(error)

    def turn(line: Line) -> Turn:
        failed = () if line.request is None else waiting.pop((line.request, line.seat), ())
        return Turn(columns[line.seat], line, exchanges(line.calls, failed))

    turns, blocks = [], []
    if len(places) <= FEW:
        turns = [turn(line) for line in lines]
    else:
        blocks = [
            TurnGroup(scene.head(len(columns)), scene.shown, [turn(line) for line in scene.lines])
            for scene in gathered(lines)
        ]
    outside = [(seat, at, exchanges((), calls)) for (at, seat), calls in waiting.items()]
    return Talk(places, turns, blocks, outside, problem)


def exchanges(answered: Calls, ledger: Calls = ()) -> list[Exchange]:
    """The calls of one question in order, sendings that failed among them.

    Args:
        answered: as recorded with the answer.
        ledger: as the ledger keeps them.
    """
    found = [_exchange(call, place) for place, call in enumerate(answered, start=1)]
    found += [_exchange(call, call["attempt"] + 1) for call in ledger]
    return sorted(found, key=lambda one: (one.call, one.sending))


def _exchange(call: Mapping[str, Any], place: int) -> Exchange:
    asked, reply = call["call"], call.get("reply") or {}
    state = call.get("state", "answered")
    usage = Usage.model_validate(reply.get("usage", {}))
    facts = {
        "model string": asked.get("model"), "settings": asked.get("settings"),
        "sent": reply.get("sent"),
    } | {title: reply.get(key) for key, title in FACTS.items()}  # fmt: skip
    return Exchange(
        call=place,
        sending=call.get("sending") or call.get("try") or 1,
        model=reply.get("model") or asked.get("model") or "a person",
        state=reply.get("failure") or state if state == "answered" else state,
        messages=list(_messages(asked)),
        text=reply.get("text"),
        reasoning=reply.get("reasoning"),
        detail=reply.get("detail"),
        usage=usage if usage.input_tokens or usage.output_tokens else None,
        seconds=reply.get("seconds"),
        facts={name: of for name, of in facts.items() if of not in (None, False, {}, [])},
    )


def _messages(asked: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """What was sent: a model's messages, or what a person read."""
    for message in asked.get("messages", ()):
        yield message["role"], message["content"]
    if "question" in asked:
        yield from (("news", text) for text in asked.get("news", ()))
        yield "question", asked["question"]
