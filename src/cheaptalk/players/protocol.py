"""The protocol of players: generators that yield calls and return an answer.

Like rules, a player does no input or output. Its host makes the calls it yields (immediately, in a
batch, or from the record) and sends the responses back. Budgets, caches and resuming therefore do
not depend on prompting, and prompting does not depend on them.
"""

from collections.abc import Callable, Generator
from enum import StrEnum
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from cheaptalk.models import ModelCall, Reply
from cheaptalk.rules import Action, DecisionRequest


class Kind(StrEnum):
    """The kind of an answer."""

    OK = "ok"
    """Valid at the first attempt."""
    REPAIRED = "repaired"
    """Valid after one or more retries."""
    ILLEGAL = "illegal"
    """The last attempt was a move that the rules refuse."""
    UNPARSABLE = "unparsable"
    """The last attempt was unreadable or ambiguous."""
    TRUNCATED = "truncated"
    """The last attempt was cut off before its answer."""
    REFUSED = "refused"
    """The model finally declined to answer."""
    FILTERED = "filtered"
    """The provider's filter finally blocked the request or the response."""
    TIMED_OUT = "timed_out"
    """No answer arrived before the deadline."""
    LEFT = "left"
    """The person had left the match for good: they stopped participating or were removed."""
    STOOD_IN = "stood_in"
    """Answered by the substitute of a person who did not answer before the deadline or had left."""
    PROVIDER_ERROR = "provider_error"
    """The provider failed: a technical error, never scored as play."""


class PersonCall(BaseModel):
    """A request to a person: the text they read and the form to fill in.

    Attributes:
        seat: the person's actor in the match.
        news: the events since their last answer, one paragraph each.
        question: the request.
        how: the answer instructions.
        form: the JSON schema of the answer.
        problem: why the previous answer was refused, if it was.
        deadline: timeout in seconds; None for no limit.
        attempt: the number of refused answers so far; not recorded, because it follows from the
            order of records.
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


Call: TypeAlias = ModelCall | PersonCall


class Answer(NamedTuple):
    """A player's final answer: an action or None, and the kind of the answer."""

    action: Action | None
    kind: Kind


Thinking: TypeAlias = Generator[Call, Reply, Answer]


C = TypeVar("C")
T = TypeVar("T")


def think(thinking: Generator[C, Reply, T], reply: Callable[[C], Reply]) -> T:
    """Run a player's generator to its end, with an immediate response to each call."""
    try:
        call = next(thinking)
        while True:
            call = thinking.send(reply(call))
    except StopIteration as end:
        result: T = end.value
        return result


class Player(Protocol):
    """Fills a seat."""

    def answer(self, request: DecisionRequest) -> Thinking:
        """Answer a request: yield calls, return the answer."""
