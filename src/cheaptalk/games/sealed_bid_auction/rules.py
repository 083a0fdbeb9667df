"""The sealed-bid auction: all bid at once, and the highest bid wins."""

import random
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from pydantic import Field, model_validator

from cheaptalk.games.rounds import UNLIMITED, Over, Rounds, RoundsPlayed, out_of_range
from cheaptalk.games.sealed_bid_auction.events import Bid, Briefing, Price, Prior, RoundResult, Turn
from cheaptalk.rules import Chance, Deal, Event, Secret

FIRST_SEED = 42
"""The seed with which GAMA-Bench's code draws the valuations of the first round."""


class Valuations(Deal):
    """What the items are worth, and who wins which tie: a row a round."""

    valuations: tuple[tuple[int, ...], ...]
    """What each player's item is worth to it."""
    precedence: tuple[tuple[str, ...], ...] = ()
    """Of those who tie for the highest bid, who stands first here wins; all others come after, in
    their order at the table. So one name, that of a recorded winner, is enough."""


class Bids(RoundsPlayed[int]):
    """What each player bid and gained, and who won each round."""

    winners: tuple[str, ...]


class SealedBidAuction(Rounds):
    """First-price and second-price auctions (Vickrey 1961; GAMA-Bench section 2.2).

    In every round a new item is sold, which each player values for itself. All bid at
    once; the highest bid wins and pays the highest or the second highest bid. A player's payoff
    is the sum of its valuations less what it paid, over the rounds that it won. Ties are broken by
    lot, drawn with the valuations.
    """

    name = "sealed_bid_auction"
    title = "Sealed-bid auction"
    payoff_unit = "value less price"
    events = (Briefing, Turn, RoundResult, Over)
    actions = (Bid,)
    deal_type = Valuations
    outcome_type = Bids

    price: Price = "first"
    """Whether the winner pays the first (highest) or the second highest bid."""
    low: int = Field(default=0, ge=0, le=10**6, strict=True)
    """The least that an item can be worth."""
    high: int = Field(default=200, ge=1, le=10**6, strict=True)
    """The most that an item can be worth."""
    step: int = Field(default=10, ge=1, le=10**6, strict=True)
    """The distance from one possible valuation to the next."""
    distinct: bool = True
    """Whether all valuations of a round differ."""
    draws: Literal["own", "gama"] = "own"
    """Where the valuations are from: drawn for each match, or the same in all, as GAMA-Bench's code
    draws them: by Python's generator, seeded with 42 in the first round, 43 in the second and so
    on."""
    common_prior: bool = False
    """Whether players are told how valuations are drawn. GAMA-Bench does not tell them."""
    limits: bool = True
    """Whether a bid above one's valuation is refused. GAMA-Bench asks for none and refuses none."""

    @model_validator(mode="after")
    def _possible(self) -> "SealedBidAuction":
        if self.low >= self.high or (self.high - self.low) % self.step:
            raise ValueError("high: must be a whole number of steps above low")
        if len(self.grid) > 10_001:
            raise ValueError("step: there can be at most 10,001 possible valuations")
        if self.distinct and len(self.grid) < self.players:
            raise ValueError(
                f"distinct: {self.players} valuations cannot all differ, "
                f"as only {len(self.grid)} are possible"
            )
        if self.draws == "gama" and not self.distinct:
            raise ValueError("draws: GAMA-Bench's valuations of a round all differ")
        return self

    @property
    def grid(self) -> range:
        """The possible valuations."""
        return range(self.low, self.high + 1, self.step)

    def deal(self, chance: Chance) -> Valuations:
        rounds = range(1, self.rounds + 1)
        return Valuations(
            valuations=tuple(tuple(self._drawn(number, chance)) for number in rounds),
            precedence=tuple(
                tuple(chance("precedence", number).shuffled(tuple(self.places)))
                for number in rounds
            ),
        )

    def _drawn(self, number: int, chance: Chance) -> Sequence[int]:
        if self.draws == "gama":
            published = random.Random(FIRST_SEED + number - 1)  # noqa: S311 - deals, keeps no secret
            return published.sample(self.grid, self.players)
        draw = chance("valuations", number)
        if self.distinct:
            return draw.shuffled(self.grid)[: self.players]
        return [draw.pick(self.grid) for _ in range(self.players)]

    def briefings(self, deal: Valuations) -> list[Event]:
        prior = Prior(self.low, self.high, self.step, self.distinct) if self.common_prior else None
        briefing = Briefing(self.players, self.rounds, self.price, prior, self.limits)
        return [briefing] * self.players

    def questions(self, number: int, deal: Valuations) -> list[Event]:
        return [
            Turn(number, valuation, valuation if self.limits else None)
            for valuation in deal.valuations[number - 1]
        ]

    def objection(self, question: Turn, action: Bid) -> str | None:
        highest = UNLIMITED if question.highest is None else question.highest
        return out_of_range("bid", action.bid, 0, highest)

    def _winner(self, number: int, bids: Sequence[int], deal: Valuations) -> int:
        """The place at the table, from 0, of who wins the item."""
        highest = max(bids)
        if bids.count(highest) == 1:
            return bids.index(highest)
        seats = tuple(self.places)
        favoured = deal.precedence[number - 1] if deal.precedence else ()
        tied = [seat for seat, bid in zip(seats, bids, strict=True) if bid == highest]
        return seats.index(next(seat for seat in (*favoured, *seats) if seat in tied))

    def _paid(self, bids: Sequence[int]) -> int:
        return sorted(bids)[-1 if self.price == "first" else -2]

    def gains(self, number: int, choices: Sequence[int], deal: Valuations) -> list[float]:
        winner = self._winner(number, choices, deal)
        gain = deal.valuations[number - 1][winner] - self._paid(choices)
        return [float(gain) if place == winner else 0.0 for place in range(self.players)]

    def reports(
        self, number: int, choices: Sequence[int], gains: Sequence[float], deal: Valuations
    ) -> list[Event]:
        winner, best, paid = self._winner(number, choices, deal), max(choices), self._paid(choices)
        tie = choices.count(best) > 1
        own = zip(deal.valuations[number - 1], choices, gains, strict=True)
        return [
            RoundResult(number, value, bid, best, paid, place == winner, tie and bid == best, gain)
            for place, (value, bid, gain) in enumerate(own)
        ]

    def outcome(
        self, choices: Sequence[Sequence[Any]], gains: Sequence[Sequence[float]], deal: Valuations
    ) -> Bids:
        seats = tuple(self.places)
        winners = [seats[self._winner(number, row, deal)] for number, row in enumerate(choices, 1)]
        return Bids.model_validate({"choices": choices, "gains": gains, "winners": winners})

    def payoff_bounds(self) -> dict[str, tuple[float, float]]:
        worst = 0 if self.limits else self.low - UNLIMITED
        return {"player": (float(self.rounds * worst), float(self.rounds * self.high))}

    def secrets(self, deal: Valuations) -> Iterator[Secret]:
        for place, seat in enumerate(self.places):
            rows = [list(row) for row in deal.valuations]
            for row in rows:
                row[place] = self.high  # the bids made stay legal
            changed = Valuations(valuations=tuple(map(tuple, rows)), precedence=deal.precedence)
            if changed != deal:
                yield Secret(frozenset({seat}), self, changed)
