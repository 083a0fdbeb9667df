"""What players are: generators that yield calls and return an answer.

Like rules, a player does no input or output. Whoever runs it makes the calls it yields (now, in a
batch, or from the record) and sends the replies back, so that budgets, caches and resuming know
nothing of prompting, and prompting nothing of them.
"""

from collections.abc import Callable, Generator
from enum import StrEnum
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from cheaptalk.models import ModelCall, Reply
from cheaptalk.rules import Action, Asked


class Kind(StrEnum):
    """What became of a question."""

    OK = "ok"
    """Answered validly at the first try."""
    REPAIRED = "repaired"
    """Answered validly after being asked again."""
    ILLEGAL = "illegal"
    """Finally answered with a move that the rules refuse."""
    UNPARSABLE = "unparsable"
    """Finally answered with nothing readable, or something ambiguous."""
    TRUNCATED = "truncated"
    """Finally answered with a text that was cut off before its answer."""
    REFUSED = "refused"
    """The model finally declined to answer."""
    FILTERED = "filtered"
    """A filter of the provider's finally stopped the question or the answer."""
    TIMED_OUT = "timed_out"
    """No answer came before the deadline."""
    LEFT = "left"
    """The person had left the table for good: they stopped taking part, or were removed."""
    STOOD_IN = "stood_in"
    """Answered by the one who stands in for a person, who gave no answer before the deadline or
    had left."""
    PROVIDER_ERROR = "provider_error"
    """The provider failed: an error of the harness, never scored as play."""


class PersonCall(BaseModel):
    """A question to a person: what they read and the form to fill in.

    Attributes:
        seat: the person's seat.
        news: what happened since they last answered, a paragraph each.
        question: the question itself.
        how: how it is to be answered.
        form: the JSON schema of the answer.
        problem: why the previous answer was refused, if it was.
        deadline: seconds in which it is to be answered; None for as long as it takes.
        attempt: how many answers were refused before; it is not recorded, as the record's order
            tells it.
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
    """What a player finally says: an action, or none, and what kind of answer it was."""

    action: Action | None
    kind: Kind


Thinking: TypeAlias = Generator[Call, Reply, Answer]


C = TypeVar("C")
T = TypeVar("T")


def think(thinking: Generator[C, Reply, T], reply: Callable[[C], Reply]) -> T:
    """Think to the end, with a reply to each call at once."""
    try:
        call = next(thinking)
        while True:
            call = thinking.send(reply(call))
    except StopIteration as end:
        result: T = end.value
        return result


class Player(Protocol):
    """Whoever fills a seat."""

    def answer(self, asked: Asked) -> Thinking:
        """Think about a question: yield calls, return the answer."""
