"""Public goods with punishment: after each round, members can reduce the payoffs of others."""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from pydantic import Field

import cheaptalk as ct
from cheaptalk.games.public_goods.rules import Contribution
from cheaptalk.games.rounds import Over, RoundsPlayed, out_of_range, range_checks
from cheaptalk.rules import Whole, alternative

MAX_POINTS = 10
"""The maximum number of points that a player assigns to another player in a round."""
COSTS = (0, 1, 2, 4, 6, 9, 12, 16, 20, 25, 30)
"""The cost of 0 to 10 points under the schedule ``share`` (Fehr and Gächter 2000, table 2)."""
TOKENS_PER_POINT = 3
"""The reduction by a point under the schedule ``tokens`` (Fehr and Gächter 2002)."""

Schedule: TypeAlias = Literal["share", "tokens"]
Points: TypeAlias = tuple[int, ...]
Row: TypeAlias = tuple[tuple[Any, ...], ...]
"""A round's contributions, gains, groups and points, each in the order of the players."""


def punishment_cost(schedule: Schedule, points: Sequence[int]) -> int:
    """Return the cost of the points that a player assigns to each other member, in tokens.

    >>> punishment_cost("share", (3, 0, 5)), punishment_cost("tokens", (3, 0, 5))
    (13, 8)
    """
    return sum(COSTS[number] for number in points) if schedule == "share" else sum(points)


def reduction(schedule: Schedule, income: float, received: int) -> float:
    """Return the tokens that a player loses through the points received.

    >>> reduction("share", 20, 4), reduction("share", 20, 12), reduction("tokens", 20, 4)
    (8.0, 20.0, 12.0)
    """
    if schedule == "share":
        return income * min(received, 10) / 10
    return float(TOKENS_PER_POINT * received)


class Punishment(ct.Action):
    """Points for each other member of the group, in the order of the displayed contributions."""

    points: tuple[Whole, ...]


class Briefing(ct.Event):
    """Information for a player at the start."""

    group_size: int
    groups: int
    matching: Literal["partner", "stranger"]
    rounds: int
    punishment_rounds: int
    tokens: int
    marginal_return: float
    schedule: Schedule


class Turn(ct.Event):
    """A request to contribute; ``punishment`` is true if points can be assigned in this round."""

    round: int
    rounds: int
    tokens: int
    punishment: bool


class GroupResult(ct.Event):
    """The contributions in a round, and each player's income before punishment.

    ``others`` are the contributions of the other members in random order. If ``punishment`` is
    true, the event is a request to assign points to these members.
    """

    round: int
    contributed: int
    others: tuple[int, ...]
    total: int
    income: float
    punishment: bool


class PunishmentResult(ct.Event):
    """The result of the punishment in a round, without the senders of points.

    ``tokens`` are the player's tokens after the round.
    """

    round: int
    assigned: int
    cost: int
    received: int
    reduction: float
    tokens: float


class Punished(RoundsPlayed[int]):
    """Contributions and gains, and for each round and player, the others and their points.

    ``others`` are the numbers of the other members, from 0, and ``points`` the points that the
    player assigned to them, in the same order. In rounds without punishment, there are no points.
    """

    others: tuple[tuple[tuple[int, ...], ...], ...]
    points: tuple[tuple[Points, ...], ...]


class PublicGoodsPunishment(ct.Game):
    """Public goods with punishment of other members of a group (Fehr and Gächter 2000, 2002).

    In each round, all members of a group simultaneously contribute tokens to a project. Each token
    in the project yields ``marginal_return`` tokens for every member. In the last
    ``punishment_rounds`` rounds, all members then learn the contributions, in random order, and
    simultaneously assign points to other members. Points are costly for both sides.

    In the subgame-perfect equilibrium of selfish players, nobody punishes or contributes, although
    all gain if everyone contributes everything.
    """

    name = "public_goods_punishment"
    title = "Public goods with punishment"
    payoff_unit = "tokens"
    roles = ("player",)
    events = (Briefing, Turn, GroupResult, PunishmentResult, Over)
    actions = (Contribution, Punishment)
    outcome_type = Punished

    group_size: int = Field(default=4, ge=2, le=20, strict=True)
    """The number of members of a group."""
    groups: int = Field(default=1, ge=1, le=50, strict=True)
    """The number of groups in a match."""
    matching: Literal["partner", "stranger"] = "partner"
    """Whether groups stay the same, or are formed at random in every round. Strangers require
    several groups."""
    rounds: int = Field(default=10, ge=0, le=1_000, strict=True)
    """The number of rounds without punishment, which come first."""
    punishment_rounds: int = Field(default=10, ge=1, le=1_000, strict=True)
    """The number of rounds with punishment."""
    tokens: int = Field(default=20, ge=1, le=10**6, strict=True)
    """Each player's tokens at the start of every round."""
    marginal_return: float = Field(default=0.4, gt=0, lt=1)
    """The tokens that each member gets for each token in the project. Contributing nothing is a
    player's best choice; contributing everything is best for the group if the return times the
    group's size is above 1."""
    schedule: Schedule = "share"
    """The costs and effects of points: ``share`` reduces the income of the round by 10 % per point,
    and up to 10 points cost 1, 2, 4, 6, 9, 12, 16, 20, 25, 30 tokens (Fehr and Gächter 2000);
    with ``tokens``, a point costs 1 token and reduces the income by 3 (2002)."""

    @property
    def seats(self) -> dict[str, str]:
        return ct.rules.numbered_seats("player", self.group_size * self.groups)

    def play(self, instance: ct.Instance, chance: ct.Chance) -> ct.Play[Punished]:
        total = self.rounds + self.punishment_rounds
        size, schedule = self.group_size, self.schedule
        terms = (self.matching, self.rounds, self.punishment_rounds, self.tokens)
        for seat in self.seats:
            yield ct.Tell(seat, Briefing(size, self.groups, *terms, self.marginal_return, schedule))
        played: list[Row] = []
        for number in range(1, total + 1):
            row = yield from self._round(number, total, chance)
            played.append(row)
        choices, gains, others, points = zip(*played, strict=True)
        outcome = Punished(choices=choices, gains=gains, others=others, points=points)
        for seat, payoff in self.payoffs(outcome).items():
            yield ct.Tell(seat, Over(total, payoff))
        return outcome

    def _round(self, number: int, total: int, chance: ct.Chance) -> ct.Play[Row]:
        """Play a round, and return its contributions, gains, groups and points."""
        seats, punishing = tuple(self.seats), number > self.rounds
        turn = Turn(number, total, self.tokens, punishing)
        checks = range_checks(Contribution, (0, self.tokens))
        answers = yield tuple([ct.Ask(seat, Contribution, turn, *checks) for seat in seats])
        given = tuple([answer.tokens_contributed for answer in answers.values()])
        others = self._others(number, chance)
        results = []
        for own, members in zip(given, others, strict=True):
            shown = tuple([given[member] for member in members])
            pot = own + sum(shown)
            results.append(GroupResult(number, own, shown, pot, self.income(own, pot), punishing))
        if not punishing:
            for seat, result in zip(seats, results, strict=True):
                yield ct.Tell(seat, result)
            none = ((0,) * (self.group_size - 1),) * len(seats)
            return given, tuple([result.income for result in results]), others, none
        asks = [
            ct.Ask(seat, Punishment, result, self._objection, self._offers)
            for seat, result in zip(seats, results, strict=True)
        ]
        assigned = yield tuple(asks)
        points = tuple([answer.points for answer in assigned.values()])
        gains = []
        for player, (seat, result) in enumerate(zip(seats, results, strict=True)):
            received = sum(points[other][others[other].index(player)] for other in others[player])
            report = self._punished(result, points[player], received)
            yield ct.Tell(seat, report)
            gains.append(report.tokens)
        return given, tuple(gains), others, points

    def _others(self, number: int, chance: ct.Chance) -> tuple[tuple[int, ...], ...]:
        """Return the other members of each player's group in a round, in random order."""
        players = list(range(len(self.seats)))
        if self.matching == "stranger":
            chance("groups", number).shuffle(players)
        size = self.group_size
        others: dict[int, tuple[int, ...]] = {}
        for first in range(0, len(players), size):
            group = players[first : first + size]
            for player in group:
                members = [member for member in group if member != player]
                others[player] = tuple(chance("order", number, player).shuffled(members))
        return tuple([others[player] for player in range(len(players))])

    def income(self, contributed: int, pot: int) -> float:
        """Return a player's tokens before punishment, given the group's total contribution."""
        return self.tokens - contributed + self.marginal_return * pot

    def _punished(self, result: GroupResult, points: Points, received: int) -> PunishmentResult:
        cost = punishment_cost(self.schedule, points)
        lost = reduction(self.schedule, result.income, received)
        tokens = result.income - lost - cost
        return PunishmentResult(result.round, sum(points), cost, received, lost, tokens)

    def _objection(self, action: Punishment) -> str | None:
        members = self.group_size - 1
        if len(action.points) != members:
            return f'"points" must contain {members} numbers, not {len(action.points)}'
        reasons = (out_of_range("points", number, 0, MAX_POINTS) for number in action.points)
        return next(filter(None, reasons), None)

    def _offers(self) -> list[ct.rules.Schema]:
        return [alternative(points=[range(MAX_POINTS + 1)] * (self.group_size - 1))]

    def payoffs(self, outcome: Punished) -> dict[str, float]:
        """Return the sum of each player's tokens after each round, which can be negative."""
        return dict(zip(self.seats, outcome.totals(), strict=True))

    def payoff_bounds(self) -> dict[str, tuple[float, float]]:
        others = self.group_size - 1
        low = self.income(self.tokens, self.tokens)
        high = self.income(0, others * self.tokens)
        most = (MAX_POINTS,) * others
        cost = punishment_cost(self.schedule, most)
        lowest = low - reduction(self.schedule, low, sum(most)) - cost
        rounds = self.rounds + self.punishment_rounds
        return {"player": (self.rounds * low + self.punishment_rounds * lowest, rounds * high)}
