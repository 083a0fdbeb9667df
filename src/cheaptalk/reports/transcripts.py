"""The layout of a recorded match as a transcript."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from pydantic import ValidationError

from cheaptalk.models import Usage
from cheaptalk.records import FEW, Line, MatchRecord, gather_scenes, transcript
from cheaptalk.records.chat import CHAT_CALLS
from cheaptalk.rules import CheaptalkError, counted

UNREADABLE = (CheaptalkError, ValidationError, KeyError)
"""Errors raised by a record that the installed rules cannot replay."""
Calls: TypeAlias = Sequence[Mapping[str, Any]]
FACTS = {
    "route": "route",
    "finish": "finish reason",
    "fingerprint": "system fingerprint",
    "status": "HTTP status",
    "retry_after": "seconds to wait",
    "cached": "from the cache",
    "batch": "in a batch",
    "dollars": "cost in dollars",
}
"""Facts about a response, and their titles."""


class Exchange(NamedTuple):
    """An attempt of a call, with its response.

    Attributes:
        call: the call's number within the answer, from 1, including retries and stages of refined
            answers.
        sending: the attempt's number within the call, from 1.
        model: the model ID in the response, or else the requested model string.
        state: ``answered``, or the reason of the failure.
        messages: the messages sent, as (role, text).
        text: the raw reply; None if there is none.
        reasoning: the model's reasoning, if available.
        detail: the provider's error message.
        usage: the tokens; None if unknown.
        seconds: the duration; None if there was no response.
        facts: further known facts by name, such as model string, settings, route, finish reason
            and cost.
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
        return self.usage.input_tokens + self.usage.output_tokens if self.usage else 0

    @property
    def counted(self) -> str:
        """Return the numbers of input and output tokens as text."""
        if self.usage is None:
            return ""
        used, part = self.usage, " ({:,} of them {})"
        cached = part.format(used.cached_tokens, "cached") if used.cached_tokens else ""
        thought = part.format(used.reasoning_tokens, "reasoning") if used.reasoning_tokens else ""
        tokens = counted(used.input_tokens, "token")
        return f"{tokens} in{cached}, {used.output_tokens:,} out{thought}"


class Turn(NamedTuple):
    """An event or request of a seat, with the seat's number (from 0) as ``column``."""

    column: int
    line: Line
    exchanges: list[Exchange]

    @property
    def seconds(self) -> float:
        """Return the total duration of the calls of this turn."""
        return sum(exchange.seconds or 0 for exchange in self.exchanges)

    @property
    def tokens(self) -> int:
        return sum(exchange.tokens for exchange in self.exchanges)


class TurnGroup(NamedTuple):
    """Turns that several seats take at the same time, after observing the same text."""

    head: str
    text: str
    turns: list[Turn]


class Talk(NamedTuple):
    """The transcript of a match: turns in columns or, for many seats, in blocks.

    ``outside`` has calls without a turn, as (seat, request, attempts): of an open request, or of a
    match that did not end. ``problem`` is why the transcript cannot be rendered, or None.
    """

    seats: list[str]
    turns: list[Turn]
    blocks: list[TurnGroup]
    outside: list[tuple[str, int, list[Exchange]]]
    problem: str | None


def match_transcript(record: MatchRecord, ledger: Calls = ()) -> Talk:
    """Return the transcript of a match, with the ``problem`` if it cannot be replayed.

    Args:
        ledger: calls outside its record: failed attempts, and calls of a match in progress.
    """
    waiting: dict[tuple[int, str], list[Mapping[str, Any]]] = {}
    for call in ledger:
        waiting.setdefault((call["request"], call["actor"]), []).append(call)
    seats, problem = list(record.seats), None
    lines: list[Line] = []
    try:
        if "answers" in record.body:
            columns = {actor.name: seats.index(actor.seat) for actor in record.rules.actors}
            lines = transcript(record)
    except UNREADABLE as error:
        problem = str(error)

    def turn(line: Line) -> Turn:
        failed = () if line.request is None else waiting.pop((line.request, line.actor), ())
        return Turn(columns[line.actor], line, exchanges(line.calls, failed))

    turns, blocks = [], []
    if len(seats) <= FEW:
        turns = [turn(line) for line in lines]
    else:
        blocks = [
            TurnGroup(scene.head(len(columns)), scene.shown, [turn(line) for line in scene.lines])
            for scene in gather_scenes(lines)
        ]
    outside = [
        (actor, request, exchanges((), calls)) for (request, actor), calls in waiting.items()
    ]
    return Talk(seats, turns, blocks, outside, problem)


def exchanges(answered: Calls, ledger: Calls = ()) -> list[Exchange]:
    """Return the calls of one request in order, including failed attempts.

    Args:
        answered: calls recorded with the answer.
        ledger: calls recorded in the ledger.
    """
    attempts = [_exchange(call, number) for number, call in enumerate(answered, start=1)]
    attempts += [_exchange(call, call["attempt"] % CHAT_CALLS + 1) for call in ledger]
    return sorted(attempts, key=lambda item: (item.call, item.sending))


def _exchange(call: Mapping[str, Any], number: int) -> Exchange:
    request, reply = call["call"], call.get("reply") or {}
    state = call.get("state", "answered")
    usage = Usage.model_validate(reply.get("usage", {}))
    facts = {
        "model string": request.get("model"),
        "settings": request.get("settings"),
        "sent": reply.get("sent"),
    } | {title: reply.get(key) for key, title in FACTS.items()}
    return Exchange(
        call=number,
        sending=call.get("sending") or call.get("try") or 1,
        model=reply.get("model")
        or request.get("model")
        or ("a line of chat" if "chat" in request else "a person"),
        state=reply.get("failure") or state if state == "answered" else state,
        messages=list(_messages(request)),
        text=reply.get("text"),
        reasoning=reply.get("reasoning"),
        detail=reply.get("detail"),
        usage=usage if usage.input_tokens or usage.output_tokens else None,
        seconds=reply.get("seconds"),
        facts={name: fact for name, fact in facts.items() if fact not in (None, False, {}, [])},
    )


def _messages(call: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    for message in call.get("messages", ()):
        yield message["role"], message["content"]
    if "question" in call:
        yield from (("news", text) for text in call.get("news", ()))
        yield "question", call["question"]
