"""The steps that rules yield: decision requests and events.

Rules are a generator that yields :class:`Ask` (one request), a tuple of asks (simultaneous requests
whose answers stay hidden until all have arrived) or :class:`Tell` (an event without an answer).
"""

from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar, dataclass_transform

from msgspec import Struct

from cheaptalk.rules.actions import Action, Schema, schema_of
from cheaptalk.rules.errors import RulesError, describe, with_article


@dataclass_transform(frozen_default=True)
class Event(Struct, frozen=True):
    """The base class of events, the observations of actors: immutable, with annotated fields.

    An actor knows nothing of the game but its events. Information that is private to one actor must
    not appear in another actor's events.

    >>> class OfferMade(ct.Event):
    ...     amount: float
    >>> OfferMade(40.0)
    OfferMade(amount=40.0)
    """


class Moment(NamedTuple):
    """One observation of an actor: an event, or a request with the actor's own answer."""

    event: Event
    action: Action | None = None


def no_objection(_action: Any) -> str | None:
    """Accept every action: the default check of a request, in addition to the action's schema."""
    return None


def any_value() -> Sequence[Schema]:
    """Return no alternatives: the default of a request that allows all values of the action."""
    return ()


class Ask(NamedTuple):
    """A decision request to one actor.

    >>> class Bid(ct.Action):
    ...     amount: int
    >>> ask = ct.Ask("buyer", Bid, ct.Event(), lambda bid: None if bid.amount else "bid $1 or more")
    >>> ask.refuse(Bid(amount=0))
    'bid $1 or more'

    Attributes:
        actor: the actor that must answer.
        action: the type of a legal answer.
        event: the event that the actor observes with the request.
        objection: returns why the rules refuse an action that fits the schema, or None.
        alternatives: returns the legal values of this request, see :func:`.alternative`. They
            define the schema that language models receive. They may omit answers that have the
            same effect as another one, such as other spellings of a name.
    """

    actor: str
    action: type[Action]
    event: Event
    objection: Callable[[Any], str | None] = no_objection
    alternatives: Callable[[], Sequence[Schema]] = any_value

    @property
    def schema(self) -> Schema:
        """The JSON schema of the legal answers to this request."""
        return schema_of(self.action, self.alternatives())

    def refuse(self, action: object) -> str | None:
        """Return why an action is not a legal answer, or None if it is legal."""
        if type(action) is not self.action:
            expected, given = (with_article(kind.__name__) for kind in (self.action, type(action)))
            return f"expected {expected}, not {given}"
        try:
            return self.objection(action)
        except Exception as error:
            raise RulesError(f"the objection to {action!r} fails: {describe(error)}") from error


class Tell(NamedTuple):
    """An event for one actor or for several actors.

    >>> class Price(ct.Event):
    ...     amount: float
    >>> ct.Tell(("buyer", "seller"), Price(12.5))
    Tell(to=('buyer', 'seller'), event=Price(amount=12.5))
    """

    to: str | tuple[str, ...]
    event: Event


O = TypeVar("O")  # noqa: E741 - an outcome

Step: TypeAlias = Ask | Tell | tuple[Ask, ...]
Play: TypeAlias = Generator[Step, Any, O]
"""The generator of a game's rules. It yields steps, receives the action of an ask (or a dict of
actions by actor for a tuple of asks), and returns the outcome."""


class Forfeited(Exception):
    """Raised inside a game's code when an actor has permanently failed to answer.

    If the rules do not catch it, the match ends as forfeited by that actor.

    Attributes:
        actors: the actors that failed to answer.
        answers: the actions of the actors that answered the same simultaneous request.
    """

    def __init__(self, actors: frozenset[str], answers: dict[str, Action] | None = None) -> None:
        super().__init__(f"no valid answer from {', '.join(sorted(actors))}")
        self.actors = actors
        self.answers = answers or {}
