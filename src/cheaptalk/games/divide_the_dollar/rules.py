"""Divide the dollar: all players get their bids if the bids don't exceed the gold."""

from collections.abc import Sequence

from pydantic import Field

from cheaptalk.games.rounds import UNLIMITED, Over, Rounds, RoundsPlayed
from cheaptalk.rules import Action, Event, Instance, Whole


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


class Bids(RoundsPlayed[int]):
    """The players' bids, and the amounts that they received."""


class DivideTheDollar(Rounds):
    """Bidding for shares of a sum (Shapley and Shubik 1969; Ashlock and Greenwood 2016 for N).

    In every round all players simultaneously bid for a part of the gold. If the sum of the bids is
    at most the gold, all receive their bids; otherwise all receive nothing. A player's payoff is
    the gold received over all rounds (GAMA-Bench section 2.1).
    """

    name = "divide_the_dollar"
    payoff_unit = "gold"
    events = (Briefing, Turn, RoundResult, Over)
    actions = (Bid,)
    outcome_type = Bids

    golds: int = Field(default=100, ge=1, le=10**9, strict=True)
    """The gold to divide in every round (G)."""
    limits: bool = True
    """Whether bids below 0 or above the gold are refused. GAMA-Bench's code refuses none, and its
    recorded games contain bids above the gold."""

    def choice_range(self, question: Turn | None = None) -> tuple[int, int]:
        return (0, self.golds) if self.limits else (-UNLIMITED, UNLIMITED)

    def gains(self, number: int, choices: Sequence[int], instance: Instance) -> list[float]:
        fits = sum(choices) <= self.golds
        return [float(bid) if fits else 0.0 for bid in choices]

    def reports(
        self, number: int, choices: Sequence[int], gains: Sequence[float], instance: Instance
    ) -> list[Event]:
        total = sum(choices)
        return [
            RoundResult(number, bid, total, self.golds, round(gain))
            for bid, gain in zip(choices, gains, strict=True)
        ]

    def payoff_bounds(self) -> dict[str, tuple[float, float]]:
        minimum, highest_bid = self.choice_range()
        maximum = min(highest_bid, self.golds - (self.players - 1) * minimum)
        return {"player": (float(self.rounds * minimum), float(self.rounds * maximum))}

    def total_bounds(self) -> dict[str, tuple[float, float]]:
        """Return the bounds of the total payoff; paid bids sum to at most the gold."""
        minimum = min(0, self.players * self.choice_range()[0])
        return {"player": (float(self.rounds * minimum), float(self.rounds * self.golds))}
