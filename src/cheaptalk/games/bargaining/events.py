"""Actions and events of bargaining."""

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
    """A seat's information at the start; ``rival_discount`` and ``rounds`` are None if unknown."""

    seat: str
    rival: str
    money: float
    discount: float
    rival_discount: float | None
    rounds: int | None
    messages: bool


class Turn(Event):
    """The seat's turn to propose; ``worth`` is a dollar's current worth to it."""

    stage: int
    money: float
    last: bool
    worth: float | None
    rival_worth: float | None


class OfferMade(Event):
    """The rival has proposed a division."""

    stage: int
    proposer: str
    alice_gain: float
    bob_gain: float
    message: str | None
    last: bool
    worth: float | None
    rival_worth: float | None


class OfferRejected(Event):
    """The rival has rejected the seat's offer."""

    stage: int


class Agreement(Event):
    """An offer was accepted; ``payoff`` is the discounted worth of the seat's part."""

    stage: int
    alice_gain: float
    bob_gain: float
    payoff: float


class NoAgreement(Event):
    """The last round ended without an agreement; both payoffs are 0."""
