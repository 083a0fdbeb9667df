"""What is asked and told in divide the dollar: the action and events of its rules."""

from cheaptalk.rules import Action, Event, Whole


class Bid(Action):
    """How much of the gold a player asks for."""

    bid_amount: Whole


class Briefing(Event):
    """What a player knows at the start; ``limits`` is whether a number out of range is refused."""

    players: int
    rounds: int
    golds: int
    limits: bool


class Turn(Event):
    """All players bid now."""

    round: int
    golds: int
    limits: bool


class RoundResult(Event):
    """How a round ended: the player's own bid, the sum of all, and what the player received."""

    round: int
    bid: int
    total: int
    golds: int
    received: int
