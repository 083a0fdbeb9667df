"""What is asked and told in bargaining: the actions and events of its rules."""

from typing import Literal

from cheaptalk.rules import Action, Event, Message, Money


class Offer(Action):
    """A division of the money."""

    alice_gain: Money
    bob_gain: Money


class SpokenOffer(Offer):
    """A division of the money with a message."""

    message: Message


class Reply(Action):
    """The answer to an offer."""

    decision: Literal["accept", "reject"]


class Briefing(Event):
    """What a seat knows at the start. ``rival_discount`` and ``rounds`` are None where untold."""

    seat: str
    rival: str
    money: float
    discount: float
    rival_discount: float | None
    rounds: int | None
    messages: bool


class Turn(Event):
    """It is this seat's turn to propose; ``worth`` is what a dollar is still worth to it."""

    stage: int
    money: float
    last: bool
    worth: float | None
    rival_worth: float | None


class OfferMade(Event):
    """The rival proposes a division."""

    stage: int
    proposer: str
    alice_gain: float
    bob_gain: float
    message: str | None
    last: bool
    worth: float | None
    rival_worth: float | None


class OfferRejected(Event):
    """The rival turned this seat's offer down."""

    stage: int


class Agreement(Event):
    """An offer was accepted: the game is over, and this is what the seat's part is worth to it."""

    stage: int
    alice_gain: float
    bob_gain: float
    payoff: float


class NoAgreement(Event):
    """The rounds are used up: the game is over and both get nothing."""
