"""What rules yield: questions to seats and news for seats.

Rules are a generator. They yield :class:`Ask` (one seat), a tuple of asks (several seats at once,
none seeing another's answer) or :class:`Tell` (news, no answer), and receive actions.
"""

from collections.abc import Callable, Generator
from typing import Any, NamedTuple, TypeAlias, TypeVar, dataclass_transform

from msgspec import Struct

from cheaptalk.rules.actions import Action
from cheaptalk.rules.errors import RulesError, describe


@dataclass_transform(frozen_default=True)
class Event(Struct, frozen=True):
    """Something a seat is told or asked: plain values that nobody can change.

    A subclass annotates its fields as a dataclass does. Everything a seat knows, it knows from
    events. What is private to one seat must stand in no event for another.
    """


def no_objection(_action: Any) -> str | None:
    """The legality check of a question whose schema says it all."""
    return None


class Ask(NamedTuple):
    """A question to one seat.

    Attributes:
        seat: who must answer.
        action: the type of a legal answer.
        event: what the seat is told with the question.
        objection: the rules' own check beyond the schema: why an action is illegal, or None.
    """

    seat: str
    action: type[Action]
    event: Event
    objection: Callable[[Any], str | None] = no_objection

    def refuse(self, action: object) -> str | None:
        """Say why this action is no legal answer, or None if it is one.

        Raises:
            RulesError: the objection fails.
        """
        if type(action) is not self.action:
            return f"a {self.action.__name__} was asked for, not a {type(action).__name__}"
        try:
            return self.objection(action)
        except Exception as error:
            what = f"the objection to {action!r} fails: {describe(error)}"
            raise RulesError(what) from error


class Tell(NamedTuple):
    """News for one seat, or the same news for several."""

    to: str | tuple[str, ...]
    event: Event


O = TypeVar("O")  # noqa: E741 - an outcome

Step: TypeAlias = Ask | Tell | tuple[Ask, ...]
Play: TypeAlias = Generator[Step, Any, O]
"""A game being played: yields steps, receives the action (or, for a tuple of asks, a dict of
actions by seat), returns its outcome."""


class Forfeited(Exception):
    """Thrown into the rules where a seat finally failed to answer.

    Rules that know what such a failure means catch it; elsewhere it ends the match as forfeited
    by that seat.

    Attributes:
        seats: who failed.
        answers: the actions of the seats asked at once that did answer.
    """

    def __init__(self, seats: frozenset[str], answers: dict[str, Action] | None = None) -> None:
        super().__init__(f"no valid answer from {', '.join(sorted(seats))}")
        self.seats = seats
        self.answers = answers or {}
