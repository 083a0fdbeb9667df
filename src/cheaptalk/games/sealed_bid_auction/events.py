"""Action and events of the sealed-bid auction."""

from typing import Literal, NamedTuple

from cheaptalk.rules import Action, Event, Whole

Price = Literal["first", "second"]
"""The price that the winner pays: the highest or the second highest bid."""


class Bid(Action):
    """What a player offers for the item."""

    bid: Whole


class Prior(NamedTuple):
    """The distribution of valuations: low, low + step, ... to high, each equally likely."""

    low: int
    high: int
    step: int
    distinct: bool


class Briefing(Event):
    """Information that a player receives at the start; ``prior`` is None if it isn't shown."""

    players: int
    rounds: int
    price: Price
    prior: Prior | None
    limits: bool


class Turn(Event):
    """A request to bid simultaneously, with the player's valuation and highest legal bid."""

    round: int
    valuation: int
    highest: int | None


class RoundResult(Event):
    """The result of a round for a player, with the winning bid but not the winner or other bids.

    ``tied`` is whether the player was one of several with the winning bid.
    """

    round: int
    valuation: int
    bid: int
    winning_bid: int
    paid: int
    won: bool
    tied: bool
    gain: float
