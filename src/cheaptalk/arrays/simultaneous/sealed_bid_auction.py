"""The sealed-bid auction as an array game, which plays many matches at once."""

from collections.abc import Mapping, Sequence
from itertools import permutations, product
from math import factorial
from typing import Any

from cheaptalk.arrays.chance import draw_below, draw_distinct, uniform_count
from cheaptalk.arrays.games import Array, NoArrayGame, entry_at, namespace
from cheaptalk.arrays.simultaneous.rounds import Decided, SimultaneousRounds
from cheaptalk.games.extras import needed
from cheaptalk.games.sealed_bid_auction.rules import RoundResult, SealedBidAuction, Turn, Valuations
from cheaptalk.rules import Chance, Instance

np = needed("numpy")

MAX_INSTANCES = 100_000
"""Maximum number of instances that are listed."""
VALUATION, RANK = 0, 1
"""Indices of a player's draws in a round: the valuation, and the rank, from 0, in ties."""


class SealedBidAuctionArrays(SimultaneousRounds[SealedBidAuction]):
    """The sealed-bid auction as an array game, which plays many matches at once."""

    def __init__(self, rules: SealedBidAuction) -> None:
        super().__init__(rules)
        self.fixed = rules.draws == "gama"
        count = self.count
        self.ties = uniform_count(count, count)
        values = uniform_count(count, len(rules.grid)) if rules.distinct else count
        self.uniforms = self.rounds * (self.ties + (0 if self.fixed else values))

    def answers(self) -> Sequence[int]:
        self.expect_limits()
        return range(self.rules.high + 1)

    def report_units(self) -> Mapping[str, float]:
        amounts = dict.fromkeys(("valuations", "bids", "winning", "paid"), self.rules.high)
        return amounts | {"won": 1, "tied": 1}

    # Instances

    def draws(self, uniforms: Array) -> Array:
        count = self.count
        by_round = uniforms.reshape(*uniforms.shape[:-1], self.rounds, -1)
        ranks = draw_distinct(by_round[..., : self.ties], count, count)
        valuations = self._valuations(by_round[..., self.ties :])
        return namespace(uniforms).stack([valuations, ranks], axis=-1).astype(np.int32)

    def _valuations(self, uniforms: Array) -> Array:
        xp, rules, count = namespace(uniforms), self.rules, self.count
        if self.fixed:
            published = rules.draw_instance(Chance("as published")).valuations
            return xp.broadcast_to(xp.asarray(published), (*uniforms.shape[:-1], count))
        if rules.distinct:
            steps = draw_distinct(uniforms, count, len(rules.grid))
        else:
            steps = draw_below(uniforms, len(rules.grid))
        return rules.low + rules.step * steps

    def draws_from(self, instances: Sequence[Valuations]) -> Array:
        valuations = np.array([instance.valuations for instance in instances])
        none = ((),) * self.rounds
        ranks = np.array(
            [[self._ranks(row) for row in instance.precedence or none] for instance in instances]
        )
        return np.stack([valuations, ranks], axis=-1).astype(np.int32)

    def known_draws(self, question: Turn, number: int, player: int) -> Array:
        draws = np.zeros((self.rounds, self.count, 2), np.int32)
        draws[number, player, VALUATION] = question.valuation
        return draws

    def _ranks(self, first: Sequence[str]) -> list[int]:
        """Return each player's tie-breaking rank; players in ``first`` have the lowest ranks."""
        order = [*first, *(name for name in self.players if name not in first)]
        return [order.index(name) for name in self.players]

    def instances_of(self, state: Decided) -> list[Instance]:
        return [
            Valuations(
                valuations=rows[..., VALUATION].tolist(),
                precedence=[[self.players[index] for index in row] for row in orders.tolist()],
            )
            for rows, orders in zip(
                np.asarray(state.draws), np.argsort(state.draws[..., RANK], axis=-1), strict=True
            )
        ]

    def every_instance(self) -> tuple[list[Instance], list[float]]:
        grid, count = self.rules.grid, self.count
        count_instances = (len(grid) ** count * factorial(count)) ** self.rounds
        if self.fixed or count_instances > MAX_INSTANCES:
            raise NoArrayGame(
                "sealed_bid_auction has too many instances to list, or draws: gama; use draws: "
                "own, one round, few players and few valuations"
            )
        values = permutations(grid, count) if self.rules.distinct else product(grid, repeat=count)
        rounds = list(product(values, permutations(self.players)))
        instances: list[Instance] = [
            Valuations(valuations=[row for row, _ in rows], precedence=[order for _, order in rows])
            for rows in product(rounds, repeat=self.rounds)
        ]
        return instances, [1 / len(instances)] * len(instances)

    # Play

    def private_values(self, draws: Array) -> Mapping[str, Array]:
        return {"valuation": draws[..., VALUATION] / self.rules.high}

    def max_action(self, state: Decided) -> Array:
        """Return the bidder's valuation, which is the highest legal bid."""
        valuations = state.draws[..., VALUATION].reshape(*state.moves.shape, -1)
        return entry_at(valuations, namespace(state.moves).minimum(state.moves, self.longest - 1))

    def _wins(self, bids: Array, draws: Array) -> Array:
        """Return whether each player wins the item; shape (..., rounds, players)."""
        count = self.count
        precedence = bids * count + (count - 1 - draws[..., RANK])  # different for all players
        return precedence == precedence.max(axis=-1, keepdims=True)

    def _paid(self, bids: Array, wins: Array) -> Array:
        """Return the price that the winner pays; shape (..., rounds)."""
        counted = wins if self.rules.price == "first" else ~wins
        return namespace(bids).where(counted, bids, 0).max(axis=-1)

    def gains(self, choices: Array, draws: Array) -> Array:
        wins = self._wins(choices, draws)
        paid = self._paid(choices, wins)[..., None]
        return namespace(choices).where(wins, draws[..., VALUATION] - paid, 0.0)

    def report_values(self, choices: Array, draws: Array, player: Array) -> Sequence[Array]:
        wins, best = self._wins(choices, draws), choices.max(axis=-1)
        valuations, bids, won = (
            entry_at(values.swapaxes(-1, -2), player)
            for values in (draws[..., VALUATION], choices, wins)
        )
        several = (choices == best[..., None]).sum(axis=-1) > 1
        return valuations, bids, best, self._paid(choices, wins), won, several & (bids == best)

    def read_report(self, report: RoundResult) -> Sequence[Any]:
        names = ("valuation", "bid", "winning_bid", "paid", "won", "tied")
        return [getattr(report, name) for name in names]
