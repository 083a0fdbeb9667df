"""What is asked and told in negotiation: the actions and events of its rules."""

from typing import Literal

from cheaptalk.rules import Action, Event, Message, Money


class Price(Action):
    """A price for the product."""

    price: Money


class SpokenPrice(Price):
    """A price for the product with a message."""

    message: Message


class Reply(Action):
    """The answer to a price."""

    decision: Literal["accept", "reject"]


class ReplyOrJohn(Action):
    """The answer to a price where there is also John to trade with."""

    decision: Literal["accept", "reject", "john"]


class Briefing(Event):
    """What a seat knows at the start. ``rival_value`` and ``rounds`` are None where untold."""

    seat: str
    rival: str
    value: float
    rival_value: float | None
    rounds: int | None
    messages: bool
    outside_option: bool
    highest_price: float


class Turn(Event):
    """It is this seat's turn to name a price."""

    stage: int
    last: bool


class PricePosted(Event):
    """The rival names a price."""

    stage: int
    proposer: str
    price: float
    message: str | None
    last: bool


class PriceRejected(Event):
    """The rival turned this seat's price down."""

    stage: int


class Sold(Event):
    """A price was accepted: the game is over, and this seat gets this payoff."""

    stage: int
    price: float
    payoff: float


class LeftForJohn(Event):
    """A seat chose to trade with John: the game is over and both get nothing."""

    leaver: str


class NoTrade(Event):
    """The rounds are used up: the game is over and both get nothing.

    ``john`` tells whether each of them trades with John instead.
    """

    john: bool
