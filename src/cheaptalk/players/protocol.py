"""The player protocol: generators that yield calls and return an answer.

A player does no input or output. The host makes the calls that the player yields (immediately, in a
batch, or from the record) and sends the responses back. Budgets, caches and resuming are therefore
independent of prompting.
"""

from collections.abc import Awaitable, Callable, Generator
from enum import StrEnum
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from cheaptalk.models import ModelCall, Reply
from cheaptalk.rules import Action, DecisionRequest


class Kind(StrEnum):
    """The outcome of a decision request: a valid answer, or the reason why there is none."""

    OK = "ok"
    """Valid at the first attempt."""
    REPAIRED = "repaired"
    """Valid after one or more retries."""
    ILLEGAL = "illegal"
    """The last attempt was a move that the rules reject."""
    UNPARSABLE = "unparsable"
    """The last attempt was unreadable or ambiguous."""
    TRUNCATED = "truncated"
    """The last attempt was cut off within its answer or reasoning."""
    REFUSED = "refused"
    """The model declined to answer at the last attempt."""
    FILTERED = "filtered"
    """The provider's filter blocked the request or the response at the last attempt."""
    TIMED_OUT = "timed_out"
    """No answer arrived before the deadline."""
    LEFT = "left"
    """The person had left the match for good: they stopped participating or were removed."""
    STOOD_IN = "stood_in"
    """The substitute answered for a person who had left or missed the deadline."""
    PROVIDER_ERROR = "provider_error"
    """The provider failed: a technical error, never scored as play."""


class PersonCall(BaseModel):
    """A request to a person: the text to read and the form to fill in.

    Attributes:
        seat: the person's actor in the match.
        news: the events since the person's last answer, one paragraph each.
        question: the text of the request.
        how: the answer instructions.
        form: the JSON schema of the answer.
        problem: why the previous answer was rejected, or None.
        deadline: timeout in seconds; None for no limit.
        attempt: the number of rejected answers so far; not recorded.
    """

    model_config = ConfigDict(frozen=True)

    seat: str
    news: tuple[str, ...]
    question: str
    how: str
    form: dict[str, Any]
    problem: str | None = None
    deadline: float | None = None
    attempt: int = Field(default=0, exclude=True)


class FunctionCall(BaseModel):
    """A call of an asynchronous Python function, whose answer is recorded like a person's.

    Attributes:
        seat: the actor that must answer.
        function: the function's name.
        question: the request, as text.
        ask: calls the function and returns its answer; not recorded.
    """

    model_config = ConfigDict(frozen=True)

    seat: str
    function: str
    question: str
    ask: Callable[[], Awaitable[Reply]] = Field(exclude=True)


Call: TypeAlias = ModelCall | PersonCall | FunctionCall


class Answer(NamedTuple):
    """A player's final answer: an action or None, the kind of the answer, and a line of chat."""

    action: Action | None
    kind: Kind
    chat: str | None = None


Thinking: TypeAlias = Generator[Call, Reply, Answer]
Talking: TypeAlias = Generator[Call, Reply, str | None]
"""The generator of a player's turn to chat, which returns a line, or None to send none."""


C = TypeVar("C")
T = TypeVar("T")


def think(thinking: Generator[C, Reply, T], reply: Callable[[C], Reply]) -> T:
    """Run a player's generator to its end and respond to each call immediately."""
    try:
        call = next(thinking)
        while True:
            call = thinking.send(reply(call))
    except StopIteration as end:
        result: T = end.value
        return result


class Player(Protocol):
    """A player that answers the decision requests of one seat.

    A player that chats also has a method ``talk(turn)``: it yields calls and returns a line, see
    :data:`Talking` and :class:`.ChatTurn`. Other players are silent.
    """

    def answer(self, request: DecisionRequest) -> Thinking:
        """Yield the calls for an answer to a request, then return the answer."""
