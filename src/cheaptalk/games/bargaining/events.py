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
    """Information that a player receives at the start of the match; unknown values are None."""

    seat: str
    rival: str
    money: float
    discount: float
    rival_discount: float | None
    rounds: int | None
    messages: bool


class Turn(Event):
    """A request to propose a division; ``worth`` is the current worth of a dollar to the player."""

    stage: int
    money: float
    last: bool
    worth: float | None
    rival_worth: float | None


class OfferMade(Event):
    """A division proposed by the rival."""

    stage: int
    proposer: str
    alice_gain: float
    bob_gain: float
    message: str | None
    last: bool
    worth: float | None
    rival_worth: float | None


class OfferRejected(Event):
    """The rival's rejection of the player's offer."""

    stage: int


class Agreement(Event):
    """The acceptance of an offer; ``payoff`` is the discounted worth of the player's share."""

    stage: int
    alice_gain: float
    bob_gain: float
    payoff: float


class NoAgreement(Event):
    """The end of the match without an agreement; both payoffs are 0."""
