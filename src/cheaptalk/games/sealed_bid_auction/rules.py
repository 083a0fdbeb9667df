"""The sealed-bid auction: all players bid simultaneously, and the highest bid wins."""

import random
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

from pydantic import Field, model_validator

from cheaptalk.games.rounds import UNLIMITED, Over, Rounds, RoundsPlayed
from cheaptalk.rules import Action, Chance, Event, Instance, Secret, Whole

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


FIRST_SEED = 42
"""The seed with which GAMA-Bench's code draws the valuations of the first round."""


class Valuations(Instance):
    """The valuations of all players and their order of precedence in ties, by round."""

    valuations: tuple[tuple[int, ...], ...]
    """Each player's valuation of the item, by round."""
    precedence: tuple[tuple[str, ...], ...] = ()
    """The precedence of players who tie for the highest bid; then follow all other players in seat
    order. For a recorded match, the winner's name is enough."""


class Bids(RoundsPlayed[int]):
    """Each player's bids and gains, and the winner of each round."""

    winners: tuple[str, ...]


class SealedBidAuction(Rounds):
    """First-price and second-price auctions (Vickrey 1961; GAMA-Bench section 2.2).

    In every round a new item is sold, for which each player has its own valuation. All players bid
    simultaneously; the highest bid wins and pays the highest or the second highest bid. A player's
    payoff is the sum of its valuations minus its payments over the rounds that it won. Ties are
    broken at random, as drawn with the valuations.
    """

    name = "sealed_bid_auction"
    title = "Sealed-bid auction"
    payoff_unit = "value less price"
    events = (Briefing, Turn, RoundResult, Over)
    actions = (Bid,)
    instance_type = Valuations
    outcome_type = Bids

    price: Price = "first"
    """Whether the winner pays the first (highest) or the second highest bid."""
    low: int = Field(default=0, ge=0, le=10**6, strict=True)
    """The minimum valuation."""
    high: int = Field(default=200, ge=1, le=10**6, strict=True)
    """The maximum valuation."""
    step: int = Field(default=10, ge=1, le=10**6, strict=True)
    """The difference between adjacent possible valuations."""
    distinct: bool = True
    """Whether all valuations of a round differ."""
    draws: Literal["own", "gama"] = "own"
    """The source of valuations: drawn for each match (own), or the same in all matches, as drawn by
    GAMA-Bench's code (gama): by Python's generator, seeded with 42 in the first round, 43 in the
    second and so on."""
    common_prior: bool = False
    """Whether players know how valuations are drawn. In GAMA-Bench they don't."""
    limits: bool = True
    """Whether bids above the valuation are refused. GAMA-Bench discourages but allows them."""

    @model_validator(mode="after")
    def _possible(self) -> "SealedBidAuction":
        if self.low >= self.high or (self.high - self.low) % self.step:
            raise ValueError("high: must be low plus a positive multiple of step")
        if len(self.grid) > 10_001:
            raise ValueError("step: must be larger; at most 10,001 valuations are supported")
        if self.distinct and len(self.grid) < self.players:
            raise ValueError(
                f"distinct: {self.players} players need as many valuations, but only "
                f"{len(self.grid)} are possible; use a smaller step or fewer players"
            )
        if self.draws == "gama" and not self.distinct:
            message = (
                "draws: gama needs distinct: true, because its valuations of a round all differ"
            )
            raise ValueError(message)
        return self

    @property
    def grid(self) -> range:
        """The possible valuations."""
        return range(self.low, self.high + 1, self.step)

    def draw_instance(self, chance: Chance) -> Valuations:
        rounds = range(1, self.rounds + 1)
        return Valuations(
            valuations=tuple(tuple(self._draw_valuations(number, chance)) for number in rounds),
            precedence=tuple(
                tuple(chance("precedence", number).shuffled(tuple(self.seats))) for number in rounds
            ),
        )

    def _draw_valuations(self, number: int, chance: Chance) -> Sequence[int]:
        if self.draws == "gama":
            published = random.Random(FIRST_SEED + number - 1)  # noqa: S311 - not for secrets
            return published.sample(self.grid, self.players)
        draw = chance("valuations", number)
        if self.distinct:
            return draw.shuffled(self.grid)[: self.players]
        return [draw.pick(self.grid) for _ in range(self.players)]

    def briefings(self, instance: Valuations) -> list[Event]:
        prior = Prior(self.low, self.high, self.step, self.distinct) if self.common_prior else None
        return [Briefing(self.players, self.rounds, self.price, prior, self.limits)] * self.players

    def questions(self, number: int, instance: Valuations) -> list[Event]:
        return [
            Turn(number, valuation, valuation if self.limits else None)
            for valuation in instance.valuations[number - 1]
        ]

    def choice_range(self, question: Turn) -> tuple[int, int]:
        return 0, UNLIMITED if question.highest is None else question.highest

    def _winner(self, number: int, bids: Sequence[int], instance: Valuations) -> int:
        highest = max(bids)
        if bids.count(highest) == 1:
            return bids.index(highest)
        seats = tuple(self.seats)
        favoured = instance.precedence[number - 1] if instance.precedence else ()
        tied = [seat for seat, bid in zip(seats, bids, strict=True) if bid == highest]
        return seats.index(next(seat for seat in (*favoured, *seats) if seat in tied))

    def _paid(self, bids: Sequence[int]) -> int:
        return sorted(bids)[-1 if self.price == "first" else -2]

    def gains(self, number: int, choices: Sequence[int], instance: Valuations) -> list[float]:
        winner = self._winner(number, choices, instance)
        gain = instance.valuations[number - 1][winner] - self._paid(choices)
        return [float(gain) if index == winner else 0.0 for index in range(self.players)]

    def reports(
        self, number: int, choices: Sequence[int], gains: Sequence[float], instance: Valuations
    ) -> list[Event]:
        winner = self._winner(number, choices, instance)
        best, paid = max(choices), self._paid(choices)
        tie = choices.count(best) > 1
        rows = zip(instance.valuations[number - 1], choices, gains, strict=True)
        return [
            RoundResult(number, value, bid, best, paid, index == winner, tie and bid == best, gain)
            for index, (value, bid, gain) in enumerate(rows)
        ]

    def outcome(
        self,
        choices: Sequence[Sequence[Any]],
        gains: Sequence[Sequence[float]],
        instance: Valuations,
    ) -> Bids:
        seats = tuple(self.seats)
        winners = [
            seats[self._winner(number, row, instance)] for number, row in enumerate(choices, 1)
        ]
        return Bids.model_validate({"choices": choices, "gains": gains, "winners": winners})

    def payoff_bounds(self) -> dict[str, tuple[float, float]]:
        worst = 0 if self.limits else self.low - UNLIMITED
        return {"player": (float(self.rounds * worst), float(self.rounds * self.high))}

    def secrets(self, instance: Valuations) -> Iterator[Secret]:
        for index, seat in enumerate(self.seats):
            rows = [list(row) for row in instance.valuations]
            for row in rows:
                row[index] = self.high  # keeps the recorded bids legal
            changed = Valuations(valuations=tuple(map(tuple, rows)), precedence=instance.precedence)
            if changed != instance:
                yield Secret(frozenset({seat}), self, changed)
