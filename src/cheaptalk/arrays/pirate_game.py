"""The pirate game as an array game, which plays many matches at once.

Votes on a plan are processed one by one, by seniority, but no vote is revealed before the count.
"""

from collections.abc import Iterator, Mapping
from math import comb
from typing import NamedTuple

from cheaptalk.arrays.chance import draw_below
from cheaptalk.arrays.games import Array, ArrayGame, entry_at, namespace, one_hot
from cheaptalk.games.extras import needed
from cheaptalk.games.pirate_game.rules import (
    Counted,
    PirateGame,
    Plan,
    PlanMade,
    Vote,
    votes_needed,
)
from cheaptalk.games.seat_names import find_seat
from cheaptalk.rules import Action, DecisionRequest
from cheaptalk.rules.errors import expect

np = needed("numpy")

REJECT, ACCEPT, PLAN = 0, 1, 2
"""Action numbers; ``PLAN`` and higher numbers are plans, see ``PirateGameArrays.plans``."""
ANSWERS = ("reject", "accept")
RUNNING = -1


class Voyages(NamedTuple):
    """States of the pirate game.

    Attributes:
        plans: the coins of each pirate by ballot, shape (..., ballots, pirates).
        votes: whether each pirate accepted, by ballot, shape (..., ballots, pirates).
        ballot: the current ballot, from 0; shape (...).
        moves: the number of moves (a plan, then votes) in this ballot; shape (...).
        status: ``RUNNING``, the ballot that passed, or the number of ballots if all ballots failed;
            shape (...).
    """

    plans: Array
    votes: Array
    ballot: Array
    moves: Array
    status: Array


class PirateGameArrays(ArrayGame[PirateGame, Voyages]):
    """The pirate game as an array game, which plays many matches at once.

    Attributes:
        plans: the coins of every pirate in each plan, shape (plans, pirates). Plans that give
            nothing to the most senior pirates, who may be overboard, come first.
    """

    def __init__(self, rules: PirateGame) -> None:
        super().__init__(rules)
        self.ballots = self.count - 1
        self.actions = PLAN + comb(rules.gold + self.ballots, self.ballots)
        self.check_action_count()
        listed = list(shared_out(rules.gold, self.count))
        self.plans = np.array(listed, np.int32)
        self._plan_numbers = {plan: number for number, plan in enumerate(listed)}
        living = range(self.count, 1, -1)
        self._choices = np.array([comb(rules.gold + alive - 1, alive - 1) for alive in living])
        self._votes_needed = np.array([votes_needed(alive, rules.majority) for alive in living])
        self.longest = sum(living)

    # Instances

    def draw_instance(self, uniforms: Array) -> Voyages:
        xp, shape = namespace(uniforms), uniforms.shape[:-1]
        by_pirate, none = (*shape, self.ballots, self.count), xp.zeros(shape, np.int32)
        return Voyages(
            xp.zeros(by_pirate, np.int32), xp.zeros(by_pirate, bool), none, none, none + RUNNING
        )

    # Moves

    def turn(self, state: Voyages) -> Array:
        """Return the player who moves: the ballot's proposer, then the voters by seniority."""
        return namespace(state.moves).minimum(state.ballot + state.moves, self.count - 1)

    def over(self, state: Voyages) -> Array:
        return state.status != RUNNING

    def _plans_now(self, state: Voyages) -> Array:
        """Return the number of possible plans for the living pirates; shape (...)."""
        xp = namespace(state.moves)
        return xp.asarray(self._choices)[xp.minimum(state.ballot, self.ballots - 1)]

    def possible(self, state: Voyages, number: Array) -> Array:
        xp, last = namespace(state.moves), PLAN + self._plans_now(state)
        plan = (number >= PLAN) & (number < last[..., None])
        return xp.where((state.moves == 0)[..., None], plan, number < PLAN)

    def random_action(self, state: Voyages, uniforms: Array) -> Array:
        xp, proposes = namespace(state.moves), state.moves == 0
        number = draw_below(uniforms, xp.where(proposes, self._plans_now(state), PLAN))
        return xp.where(proposes, PLAN + number, number).astype(np.int32)

    def moved(self, state: Voyages, action: Array, moves: Array) -> Voyages:
        xp = namespace(state.moves)
        mask = (xp.arange(self.ballots) == state.ballot[..., None]) & moves[..., None]
        proposes = (mask & (state.moves == 0)[..., None])[..., None]
        plan = xp.asarray(self.plans)[xp.maximum(action - PLAN, 0)]
        player = xp.arange(self.count) == self.turn(state)[..., None]
        accepts = (mask & (action != REJECT)[..., None])[..., None] & player[..., None, :]
        updated = state._replace(
            plans=xp.where(proposes, plan[..., None, :], state.plans), votes=state.votes | accepts
        )
        return self._counted(updated, moves, moves & (state.ballot + state.moves == self.count - 1))

    def _counted(self, state: Voyages, moves: Array, last: Array) -> Voyages:
        """Return the states after a move, with completed ballots counted."""
        xp, ballot = namespace(state.moves), state.ballot
        index = xp.minimum(ballot, self.ballots - 1)
        passed = entry_at(state.votes, index).sum(axis=-1) >= xp.asarray(self._votes_needed)[index]
        failed, is_final = last & ~passed, ballot == self.ballots - 1
        ended = xp.where(passed, ballot, self.ballots)
        ends = last & (passed | is_final)
        return state._replace(
            ballot=ballot + failed,
            moves=xp.where(failed, 0, state.moves + moves).astype(np.int32),
            status=xp.where(ends, ended, state.status).astype(np.int32),
        )

    def payoffs(self, state: Voyages) -> Array:
        xp = namespace(state.moves)
        passed = entry_at(state.plans, xp.minimum(xp.maximum(state.status, 0), self.ballots - 1))
        all_to_last = (xp.arange(self.count) == self.count - 1) * self.rules.gold
        return xp.where((state.status == self.ballots)[..., None], all_to_last, passed)

    # Observations

    def observation(self, state: Voyages, player: Array) -> Mapping[str, Array]:
        xp = namespace(state.moves)
        finished = xp.where(self.over(state), state.status + 1, state.ballot)
        counted = xp.arange(self.ballots) < finished[..., None]
        counts = xp.where(counted, state.votes.sum(axis=-1), 0)
        accepted = entry_at(state.votes.swapaxes(-1, -2), player)
        return self._parts(state.ballot, state.plans, counts, accepted)

    def _parts(
        self, ballot: Array, plans: Array, counts: Array, accepted: Array
    ) -> Mapping[str, Array]:
        """Return an observation: plans and vote counts as shares, and the player's own votes."""
        return {
            "ballot": one_hot(namespace(ballot), ballot, self.ballots),
            "plans": plans / self.rules.gold,
            "counts": counts / self.count,
            "accepted": accepted,
        }

    def position(self, request: DecisionRequest) -> Voyages:
        ballot = request.event.round - 1
        votes = np.zeros((self.ballots, self.count), bool)
        moves = self.player_index(request) - ballot
        plans = np.zeros((self.ballots, self.count), np.int32)
        return Voyages(plans, votes, np.array(ballot), np.array(moves), np.array(RUNNING))

    def observe_request(self, request: DecisionRequest) -> Array:
        """Return the actor's observation, which contains other pirates' votes only as counts."""
        plans = np.zeros((self.ballots, self.count), np.int32)
        counts, accepted = np.zeros(self.ballots, np.int32), np.zeros(self.ballots, bool)
        for event, action in [*request.heard, (request.event, None)]:
            if isinstance(event, PlanMade):
                for name, coins in event.plan:
                    plans[event.round - 1, self.players.index(name)] = coins
                accepted[event.round - 1] = isinstance(action, Vote) and action.decision == "accept"
            if isinstance(event, Counted):
                counts[event.round - 1] = event.accepted
        player = np.array(self.player_index(request))
        ballot = np.array(request.event.round - 1)
        return self._joined(player, self._parts(ballot, plans, counts, accepted))

    def action(self, request: DecisionRequest, number: int) -> Action:
        if number < PLAN:
            return Vote.model_validate({"decision": ANSWERS[number]})
        named = zip(self.players, self.plans[number - PLAN].tolist(), strict=True)
        living = getattr(request.event, "living", ())
        return Plan(proposal={name: coins for name, coins in named if coins or name in living})

    def number(self, request: DecisionRequest, action: Action) -> int:
        if isinstance(action, Vote):
            return ANSWERS.index(action.decision)
        action = expect(action, Plan, "a Plan")
        coins = {find_seat(self.rules, name): share for name, share in action.proposal.items()}
        return PLAN + self._plan_numbers[tuple(coins.get(name, 0) for name in self.players)]


def shared_out(gold: int, pirates: int) -> Iterator[tuple[int, ...]]:
    """Yield all divisions of the gold, in ascending order of the first pirate's share."""
    if pirates == 1:
        yield (gold,)
        return
    for first in range(gold + 1):
        for shares in shared_out(gold - first, pirates - 1):
            yield (first, *shares)
