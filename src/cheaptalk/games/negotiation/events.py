"""Actions and events of negotiation."""

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
    """Information that a player receives at the start of the match; unknown values are None."""

    seat: str
    rival: str
    value: float
    rival_value: float | None
    rounds: int | None
    messages: bool
    outside_option: bool
    highest_price: float


class Turn(Event):
    """A request to name a price."""

    stage: int
    last: bool


class PricePosted(Event):
    """The rival has named a price."""

    stage: int
    proposer: str
    price: float
    message: str | None
    last: bool


class PriceRejected(Event):
    """The rival has rejected the player's price."""

    stage: int


class Sold(Event):
    """A price was accepted; ``payoff`` is the player's payoff."""

    stage: int
    price: float
    payoff: float


class LeftForJohn(Event):
    """A player chose to trade with John; both payoffs are 0."""

    leaver: str


class NoTrade(Event):
    """The last round ended without a trade; both payoffs are 0.

    ``john`` is whether each player trades with John instead.
    """

    john: bool
