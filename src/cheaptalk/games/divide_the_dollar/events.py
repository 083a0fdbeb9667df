"""The action and events of the divide-the-dollar game."""

from cheaptalk.rules import Action, Event, Whole


class Bid(Action):
    """How much of the gold a player asks for."""

    bid_amount: Whole


class Briefing(Event):
    """A player's initial information; ``limits`` is true if bids out of range are illegal."""

    players: int
    rounds: int
    golds: int
    limits: bool


class Turn(Event):
    """A request that all players bid simultaneously."""

    round: int
    golds: int
    limits: bool


class RoundResult(Event):
    """The result of a round: the player's bid, the sum of all bids, and the amount received."""

    round: int
    bid: int
    total: int
    golds: int
    received: int
