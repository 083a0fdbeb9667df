"""The steps that rules yield: decision requests and events.

Rules are a generator. They yield :class:`Ask` (one actor), a tuple of asks (simultaneous requests,
whose answers stay hidden until all have arrived) or :class:`Tell` (an event, no answer), and
receive actions.
"""

from collections.abc import Callable, Generator
from typing import Any, NamedTuple, TypeAlias, TypeVar, dataclass_transform

from msgspec import Struct

from cheaptalk.rules.actions import Action
from cheaptalk.rules.errors import RulesError, describe


@dataclass_transform(frozen_default=True)
class Event(Struct, frozen=True):
    """Something that an actor observes: plain, immutable values.

    A subclass annotates its fields as a dataclass does. Events are all that an actor knows of the
    game. Information that is private to one actor must not appear in another actor's events.
    """


def no_objection(_action: Any) -> str | None:
    """Accept every action: the legality check of a request whose schema is sufficient."""
    return None


class Ask(NamedTuple):
    """A decision request to one actor.

    Attributes:
        actor: the actor that must answer.
        action: the type of a legal answer.
        event: what the actor observes with the request.
        objection: the rules' own check beyond the schema; returns why an action is illegal, or
            None.
    """

    actor: str
    action: type[Action]
    event: Event
    objection: Callable[[Any], str | None] = no_objection

    def refuse(self, action: object) -> str | None:
        """Return why this action is not a legal answer, or None if it is legal.

        Raises:
            RulesError: the objection fails.
        """
        if type(action) is not self.action:
            return f"expected a {self.action.__name__}, not a {type(action).__name__}"
        try:
            return self.objection(action)
        except Exception as error:
            reason = f"the objection to {action!r} fails: {describe(error)}"
            raise RulesError(reason) from error


class Tell(NamedTuple):
    """An event for one actor or for several."""

    to: str | tuple[str, ...]
    event: Event


O = TypeVar("O")  # noqa: E741 - an outcome

Step: TypeAlias = Ask | Tell | tuple[Ask, ...]
Play: TypeAlias = Generator[Step, Any, O]
"""A game in progress: yields steps, receives the action (for a tuple of asks, a dict of actions by
actor), and returns the outcome."""


class Forfeited(Exception):
    """Thrown into the rules when an actor finally failed to answer.

    Rules that handle such failures catch it; otherwise the match ends as forfeited by that actor.

    Attributes:
        actors: the actors that failed.
        answers: the actions of the actors that did answer the simultaneous request.
    """

    def __init__(self, actors: frozenset[str], answers: dict[str, Action] | None = None) -> None:
        super().__init__(f"no valid answer from {', '.join(sorted(actors))}")
        self.actors = actors
        self.answers = answers or {}
