"""The sealed-bid auction as array functions; see :class:`.SealedBidAuction`."""

from collections.abc import Mapping, Sequence
from itertools import permutations, product
from math import factorial
from typing import Any

from cheaptalk.arrays.games import Array, NotArrayed, namespace, own
from cheaptalk.arrays.luck import below, different, luck_of
from cheaptalk.arrays.simultaneous.rounds import Decided, SimultaneousRounds, Told, expect_limits
from cheaptalk.games.extras import needed
from cheaptalk.games.sealed_bid_auction.events import RoundResult, Turn
from cheaptalk.games.sealed_bid_auction.rules import SealedBidAuction, Valuations
from cheaptalk.rules import Chance, Deal

np = needed("numpy")

MOST_DEALS = 100_000
"""Deals up to which all are listed."""
VALUATION, RANK = 0, 1
"""What nature deals each player in each round: what its item is worth to it, and its place, from 0,
in the order by which ties are broken."""


class SealedBidAuctionArrays(SimultaneousRounds[SealedBidAuction]):
    """The sealed-bid auction, many matches at once."""

    known = {"valuation": 1}  # noqa: RUF012 - as the base class declares it

    def __init__(self, rules: SealedBidAuction) -> None:
        super().__init__(rules)
        self.fixed = rules.draws == "gama"
        count = len(self.players)
        self.ties = luck_of(count, count)
        values = luck_of(count, len(rules.grid)) if rules.distinct else count
        self.luck = self.rounds * (self.ties + (0 if self.fixed else values))

    @staticmethod
    def answers(rules: SealedBidAuction) -> Sequence[int]:
        expect_limits(rules)
        return range(rules.high + 1)

    @staticmethod
    def told_of(rules: SealedBidAuction) -> Mapping[str, Told]:
        amount, whether = Told(1, rules.high), Told(1, 1)
        return {
            "valuations": amount, "bids": amount, "winning": amount, "paid": amount,
            "won": whether, "tied": whether,
        }  # fmt: skip

    # Deals

    def dealt(self, luck: Array) -> Array:
        count = len(self.players)
        by_round = luck.reshape(*luck.shape[:-1], self.rounds, -1)
        ranks = different(by_round[..., : self.ties], count, count)
        valuations = self._valuations(by_round[..., self.ties :])
        return namespace(luck).stack([valuations, ranks], axis=-1).astype(np.int32)

    def _valuations(self, luck: Array) -> Array:
        xp, rules, count = namespace(luck), self.rules, len(self.players)
        if self.fixed:
            published = rules.deal(Chance("as published")).valuations
            return xp.broadcast_to(xp.asarray(published), (*luck.shape[:-1], count))
        if rules.distinct:
            steps = different(luck, count, len(rules.grid))
        else:
            steps = below(luck, len(rules.grid))
        return rules.low + rules.step * steps

    def dealt_of(self, deals: Sequence[Valuations]) -> Array:
        valuations = np.array([one.valuations for one in deals])
        none = ((),) * self.rounds
        ranks = np.array([
            [self._ranks(row) for row in one.precedence or none] for one in deals
        ])  # fmt: skip
        return np.stack([valuations, ranks], axis=-1).astype(np.int32)

    def dealt_now(self, question: Turn, number: int, player: int) -> Array:
        dealt = np.zeros((self.rounds, len(self.players), 2), np.int32)
        dealt[number, player, VALUATION] = question.valuation
        return dealt

    def _ranks(self, first: Sequence[str]) -> list[int]:
        """Each player's place in the order by which ties are broken, from those who are first."""
        order = [*first, *(one for one in self.players if one not in first)]
        return [order.index(one) for one in self.players]

    def deals_of(self, state: Decided) -> list[Deal]:
        return [
            Valuations(
                valuations=rows[..., VALUATION].tolist(),
                precedence=[[self.players[at] for at in row] for row in orders.tolist()],
            )
            for rows, orders in zip(
                np.asarray(state.dealt), np.argsort(state.dealt[..., RANK], axis=-1), strict=True
            )
        ]

    def every_deal(self) -> tuple[list[Deal], list[float]]:
        grid, count = self.rules.grid, len(self.players)
        many = (len(grid) ** count * factorial(count)) ** self.rounds
        if self.fixed or many > MOST_DEALS:
            raise NotArrayed(
                "sealed_bid_auction has too many deals to list, or is as published; take a round, "
                "few players and few valuations"
            )
        values = permutations(grid, count) if self.rules.distinct else product(grid, repeat=count)
        rounds = list(product(values, permutations(self.players)))
        deals: list[Deal] = [
            Valuations(valuations=[row for row, _ in rows], precedence=[order for _, order in rows])
            for rows in product(rounds, repeat=self.rounds)
        ]
        return deals, [1 / len(deals)] * len(deals)

    # Play

    def now(self, dealt: Array) -> Sequence[Array]:
        return (dealt[..., VALUATION] / self.rules.high,)

    def asked_now(self, question: Turn) -> Sequence[float]:
        return (question.valuation / self.rules.high,)

    def most(self, state: Decided) -> Array:
        """What the item is worth to whoever bids."""
        xp = namespace(state.moves)
        valuations = state.dealt[..., VALUATION].reshape(*state.moves.shape, -1)
        at = xp.minimum(state.moves, self.longest - 1)[..., None]
        return xp.take_along_axis(valuations, at, axis=-1)[..., 0]

    def _wins(self, bids: Array, dealt: Array) -> Array:
        """Who wins each item; shape (..., rounds, players)."""
        count = len(self.players)
        before = bids * count + (count - 1 - dealt[..., RANK])  # all differ
        return before == before.max(axis=-1, keepdims=True)

    def _paid(self, bids: Array, wins: Array) -> Array:
        """What the winner pays; shape (..., rounds)."""
        counted = wins if self.rules.price == "first" else ~wins
        return namespace(bids).where(counted, bids, 0).max(axis=-1)

    def gains(self, choices: Array, dealt: Array) -> Array:
        wins = self._wins(choices, dealt)
        paid = self._paid(choices, wins)[..., None]
        return namespace(choices).where(wins, dealt[..., VALUATION] - paid, 0.0)

    def told(self, choices: Array, dealt: Array, player: Array) -> Sequence[Array]:
        wins, best = self._wins(choices, dealt), choices.max(axis=-1)
        valuations, bids, won = (
            own(one.swapaxes(-1, -2), player) for one in (dealt[..., VALUATION], choices, wins)
        )
        several = (choices == best[..., None]).sum(axis=-1) > 1
        paid = self._paid(choices, wins)
        return valuations, bids, best, paid, won, several & (bids == best)

    def heard(self, report: RoundResult) -> Sequence[Any]:
        return (
            report.valuation, report.bid, report.winning_bid, report.paid, report.won, report.tied
        )  # fmt: skip
