"""The pirate game: the most senior pirate divides the gold, or goes overboard."""

from functools import partial
from typing import Literal

from pydantic import Field

import cheaptalk as ct
from cheaptalk.games.seat_names import find_seat
from cheaptalk.rules import alternative

Majority = Literal["half", "strict"]
"""The votes required for a plan: at least half of the living pirates, or more than half."""
Shares = tuple[tuple[str, int], ...]
"""Coins for each living pirate, the most senior first."""


class Plan(ct.Action):
    """Coins for every living pirate, by name."""

    proposal: dict[str, ct.rules.Whole]


class Vote(ct.Action):
    """A vote on a plan."""

    decision: Literal["accept", "reject"]


class Briefing(ct.Event):
    """Information that a pirate receives at the start; ``crew`` lists pirates by seniority."""

    rank: int
    crew: tuple[str, ...]
    gold: int
    majority: Majority


class Turn(ct.Event):
    """A request to the most senior living pirate to propose a plan."""

    round: int
    living: tuple[str, ...]
    gold: int


class PlanMade(ct.Event):
    """A proposed plan to vote on; ``own`` is the share of the pirate who receives the event."""

    round: int
    proposer: str
    plan: Shares
    own: int


class Counted(ct.Event):
    """The result of a ballot, without individual votes; ``own`` is the pirate's share."""

    round: int
    proposer: str
    accepted: int
    living: int
    passed: bool
    own: int


class Alone(ct.Event):
    """The last pirate keeps the gold because all others are overboard."""

    gold: int


def votes_needed(living: int, majority: Majority) -> int:
    """Return the number of votes required for a plan, including the proposer's vote.

    >>> votes_needed(10, "half"), votes_needed(9, "half"), votes_needed(10, "strict")
    (5, 5, 6)
    """
    return (living + 1) // 2 if majority == "half" else living // 2 + 1


class Ballot(ct.rules.Value):
    """One plan and the votes of the living pirates, the proposer first."""

    plan: tuple[int, ...]
    votes: tuple[bool, ...]
    passed: bool


class Voyage(ct.Outcome):
    """All ballots in order; after a failed ballot, its proposer went overboard."""

    ballots: tuple[Ballot, ...]


class PirateGame(ct.Game):
    """A crew divides gold by seniority (Stewart 1999; GAMA-Bench section 2.3).

    The most senior living pirate, player_1 at first, proposes how to divide the gold, and counts as
    accepting. The others vote simultaneously. A plan with enough votes determines the payoffs and
    ends the game; otherwise its proposer goes overboard and the next one proposes. The last pirate
    left keeps all the gold.
    """

    name = "pirate_game"
    payoff_unit = "gold coins"
    roles = ("player",)
    events = (Briefing, Turn, PlanMade, Counted, Alone)
    actions = (Plan, Vote)
    outcome_type = Voyage

    players: int = Field(default=10, ge=2, le=100, strict=True)
    """The number of pirates (N)."""
    gold: int = Field(default=100, ge=1, le=1_000_000, strict=True)
    """The number of coins to divide (G)."""
    majority: Majority = "half"
    """The votes required for a plan: at least half of the living pirates, or more than half."""

    @property
    def seats(self) -> dict[str, str]:
        return ct.rules.numbered_seats("player", self.players)

    def play(self, instance: ct.Instance, chance: ct.Chance) -> ct.Play[Voyage]:
        living = tuple(self.seats)
        for rank, seat in enumerate(living, 1):
            yield ct.Tell(seat, Briefing(rank, living, self.gold, self.majority))
        ballots: list[Ballot] = []
        while len(living) > 1:
            ballots.append((yield from self._ballot(len(ballots) + 1, living)))
            if ballots[-1].passed:
                break
            living = living[1:]
        else:
            yield ct.Tell(living[0], Alone(self.gold))
        return Voyage.unchecked(ballots=tuple(ballots))

    def _ballot(self, number: int, living: tuple[str, ...]) -> ct.Play[Ballot]:
        proposer, *voters = living
        turn = Turn(number, living, self.gold)
        proposed: Plan = yield ct.Ask(
            proposer,
            Plan,
            turn,
            partial(self._objection, living),
            partial(self._divisions, living),
        )
        shares = {self._aboard(living, name): coins for name, coins in proposed.proposal.items()}
        plan = tuple([(seat, shares[seat]) for seat in living])
        cast = yield tuple(
            [ct.Ask(seat, Vote, PlanMade(number, proposer, plan, shares[seat])) for seat in voters]
        )
        votes = (True, *[vote.decision == "accept" for vote in cast.values()])
        passed = sum(votes) >= votes_needed(len(living), self.majority)
        for seat, coins in plan:
            yield ct.Tell(seat, Counted(number, proposer, sum(votes), len(living), passed, coins))
        plan_coins = tuple([coins for _, coins in plan])
        return Ballot.unchecked(plan=plan_coins, votes=votes, passed=passed)

    def _aboard(self, living: tuple[str, ...], name: str) -> str | None:
        return name if name in living else find_seat(self, name)

    def _divisions(self, living: tuple[str, ...]) -> list[ct.rules.Schema]:
        coins = dict.fromkeys(living, range(self.gold + 1))
        return [alternative(proposal=alternative(coins, total=self.gold))]

    def _objection(self, living: tuple[str, ...], plan: Plan) -> str | None:
        named: list[str | None] = []
        for name, coins in plan.proposal.items():
            seat = self._aboard(living, name)
            if seat not in living:
                return f'"{name[:100]}" is not aboard; name exactly {", ".join(living)}'
            if seat in named:
                return f"the plan names {seat} twice"
            if coins < 0:
                return f"no pirate can get fewer than 0 coins, and {seat} would get {coins}"
            named.append(seat)
        missing = [seat for seat in living if seat not in named]
        if missing:
            return f"the plan must name every pirate aboard; it leaves out {', '.join(missing)}"
        total = sum(plan.proposal.values())
        if total != self.gold:
            return f"the coins must add up to {self.gold}, not {total}"
        return None

    def payoffs(self, outcome: Voyage) -> dict[str, float]:
        """Each pirate's gold coins: 0 if overboard, and all coins for the last pirate left."""
        last = outcome.ballots[-1]
        shares = last.plan if last.passed else (self.gold,)
        overboard = self.players - len(shares)
        return dict(zip(self.seats, (*(0.0,) * overboard, *map(float, shares)), strict=True))

    def payoff_bounds(self) -> dict[str, tuple[float, float]]:
        return {"player": (0.0, float(self.gold))}

    def total_bounds(self) -> dict[str, tuple[float, float]]:
        """Return the amount of gold as both bounds of the total, because all of it is divided."""
        return {"player": (float(self.gold), float(self.gold))}
