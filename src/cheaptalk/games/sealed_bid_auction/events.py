"""What is asked and told in the sealed-bid auction: the action and events of its rules."""

from typing import Literal, NamedTuple

from cheaptalk.rules import Action, Event, Whole

Price = Literal["first", "second"]
"""What the winner pays: the highest bid, its own, or the second highest one."""


class Bid(Action):
    """What a player offers for the item."""

    bid: Whole


class Prior(NamedTuple):
    """How valuations are drawn: from low, low + step, ... to high, each equally likely."""

    low: int
    high: int
    step: int
    distinct: bool


class Briefing(Event):
    """What a player knows at the start; ``prior`` is None where it is not told."""

    players: int
    rounds: int
    price: Price
    prior: Prior | None
    limits: bool


class Turn(Event):
    """All players bid now; this is what the item is worth to this one, and its highest bid."""

    round: int
    valuation: int
    highest: int | None


class RoundResult(Event):
    """How a round ended for a player; not who won, nor what others bid, but the winning bid.

    ``tied`` is whether the player was one of several who made it.
    """

    round: int
    valuation: int
    bid: int
    winning_bid: int
    paid: int
    won: bool
    tied: bool
    gain: float
