"""The pirate game as array functions; see :class:`.PirateGame`.

Arrays take the votes on a plan one after the other, by seniority, and show nobody how another voted
before they are counted.
"""

from collections.abc import Iterator, Sequence
from math import comb
from typing import NamedTuple

from cheaptalk.arrays.games import Array, ArrayGame, expect_few, namespace, one_hot, own
from cheaptalk.arrays.luck import below
from cheaptalk.games.extras import needed
from cheaptalk.games.pirate_game.events import Counted, Plan, PlanMade, Vote
from cheaptalk.games.pirate_game.rules import PirateGame
from cheaptalk.games.pirate_game.theory import votes_needed
from cheaptalk.games.places import place_named
from cheaptalk.rules import Action, Asked, Deal

np = needed("numpy")

REJECT, ACCEPT, PLAN = 0, 1, 2
"""Actions; from ``PLAN`` on they are plans, see ``PirateGameArrays.plans``."""
ANSWERS = ("reject", "accept")
RUNNING = -1


class Voyages(NamedTuple):
    """Matches of the pirate game.

    Attributes:
        plans: coins by ballot and pirate, shape (..., ballots, pirates).
        votes: who accepted, by ballot, shape (..., ballots, pirates).
        ballot: which one it is, counted from 0; shape (...).
        moves: plan and votes of this ballot so far; shape (...).
        stands: ``RUNNING``, or the ballot that passed, or how many failed; shape (...).
    """

    plans: Array
    votes: Array
    ballot: Array
    moves: Array
    stands: Array


class PirateGameArrays(ArrayGame[PirateGame, Voyages]):
    """The pirate game, many matches at once.

    Attributes:
        plans: coins of every pirate, by plan: all that share out the gold, those first that give
            nothing to the most senior ones. Those that are overboard get none.
    """

    def __init__(self, rules: PirateGame) -> None:
        super().__init__(rules)
        self.players = tuple(rules.places)
        self.count, self.ballots = len(self.players), len(self.players) - 1
        self.actions = PLAN + comb(rules.gold + self.ballots, self.ballots)
        expect_few(rules.name, self.actions)
        listed = list(shared_out(rules.gold, self.count))
        self.plans = np.array(listed, np.int32)
        self._place = {plan: number for number, plan in enumerate(listed)}
        living = range(self.count, 1, -1)
        self._choices = np.array([comb(rules.gold + left - 1, left - 1) for left in living])
        self._needed = np.array([votes_needed(left, rules.majority) for left in living])
        self.luck = 0
        self.longest = sum(living)
        self.pieces = {
            "player": self.count, "ballot": self.ballots, "plans": self.ballots * self.count,
            "counts": self.ballots, "accepted": self.ballots,
        }  # fmt: skip

    # Deals

    def deal(self, luck: Array) -> Voyages:
        xp, shape = namespace(luck), luck.shape[:-1]
        by_pirate, none = (*shape, self.ballots, self.count), xp.zeros(shape, np.int32)
        return Voyages(
            xp.zeros(by_pirate, np.int32), xp.zeros(by_pirate, bool), none, none, none + RUNNING
        )

    def of_deals(self, deals: Sequence[Deal]) -> Voyages:
        return self.deal(np.zeros((len(deals), 0)))

    def every_deal(self) -> tuple[list[Deal], list[float]]:
        return [Deal()], [1.0]

    def deals_of(self, state: Voyages) -> list[Deal]:
        return [Deal() for _ in state.moves]

    # Moves

    def turn(self, state: Voyages) -> Array:
        """The proposer at first, then those behind it."""
        return namespace(state.moves).minimum(state.ballot + state.moves, self.count - 1)

    def over(self, state: Voyages) -> Array:
        return state.stands != RUNNING

    def _plans_now(self, state: Voyages) -> Array:
        """How many plans there are for those who live; shape (...)."""
        xp = namespace(state.moves)
        return xp.asarray(self._choices)[xp.minimum(state.ballot, self.ballots - 1)]

    def permitted(self, state: Voyages, number: Array) -> Array:
        xp, last = namespace(state.moves), PLAN + self._plans_now(state)
        plan = (number >= PLAN) & (number < last[..., None])
        possible = xp.where((state.moves == 0)[..., None], plan, number < PLAN)
        return possible & ~self.over(state)[..., None]

    def drawn(self, state: Voyages, luck: Array) -> Array:
        xp, proposes = namespace(state.moves), state.moves == 0
        count = xp.where(proposes, self._plans_now(state), PLAN)
        number = below(luck, count)
        return xp.where(proposes, PLAN + number, number).astype(np.int32)

    def moved(self, state: Voyages, action: Array, moves: Array) -> Voyages:
        xp = namespace(state.moves)
        here = (xp.arange(self.ballots) == state.ballot[..., None]) & moves[..., None]
        proposes = (here & (state.moves == 0)[..., None])[..., None]
        plan = xp.asarray(self.plans)[xp.maximum(action - PLAN, 0)]
        player = xp.arange(self.count) == self.turn(state)[..., None]
        accepts = (here & (action != REJECT)[..., None])[..., None] & player[..., None, :]
        after = state._replace(
            plans=xp.where(proposes, plan[..., None, :], state.plans), votes=state.votes | accepts
        )
        return self._counted(after, moves, moves & (state.ballot + state.moves == self.count - 1))

    def _counted(self, state: Voyages, moves: Array, last: Array) -> Voyages:
        """Matches after one more plan or vote, counted where it was the last of its ballot."""
        xp, ballot = namespace(state.moves), state.ballot
        at = xp.minimum(ballot, self.ballots - 1)
        passed = own(state.votes, at).sum(axis=-1) >= xp.asarray(self._needed)[at]
        failed, alone = last & ~passed, ballot == self.ballots - 1
        ended = xp.where(passed, ballot, self.ballots)
        ends = last & (passed | alone)
        return state._replace(
            ballot=ballot + failed,
            moves=xp.where(failed, 0, state.moves + moves).astype(np.int32),
            stands=xp.where(ends, ended, state.stands).astype(np.int32),
        )  # fmt: skip

    def returns(self, state: Voyages) -> Array:
        xp = namespace(state.moves)
        passed = own(state.plans, xp.minimum(xp.maximum(state.stands, 0), self.ballots - 1))
        alone = (xp.arange(self.count) == self.count - 1) * self.rules.gold
        paid = xp.where((state.stands == self.ballots)[..., None], alone, passed)
        return xp.where(self.over(state)[..., None], paid, 0.0)

    def scale(self, state: Voyages) -> Array:
        """All the gold."""
        xp, shape = namespace(state.moves), (*state.moves.shape, self.count)
        return xp.full(shape, self.rules.gold, np.float32)

    # What players know

    def observe(self, state: Voyages, player: Array) -> Array:
        xp = namespace(state.moves)
        player = xp.broadcast_to(xp.asarray(player), state.moves.shape)
        done = xp.where(self.over(state), state.stands + 1, state.ballot)
        counted = xp.arange(self.ballots) < done[..., None]
        counts = xp.where(counted, state.votes.sum(axis=-1), 0)
        accepted = own(state.votes.swapaxes(-1, -2), player)
        return self._seen(player, state.ballot, state.plans, counts, accepted)

    def _seen(
        self, player: Array, ballot: Array, plans: Array, counts: Array, accepted: Array
    ) -> Array:
        """The observation of a player: shares of the gold and of the pirates, and its own votes."""
        xp = namespace(ballot)
        pieces = [
            one_hot(xp, player, self.count), one_hot(xp, ballot, self.ballots),
            (plans / self.rules.gold).reshape(*ballot.shape, -1), counts / self.count, accepted,
        ]  # fmt: skip
        return xp.concatenate([one.astype(np.float32) for one in pieces], axis=-1)

    def position(self, asked: Asked) -> Voyages:
        ballot = asked.event.round - 1
        votes = np.zeros((self.ballots, self.count), bool)
        moves = self.place_number(asked) - ballot
        plans = np.zeros((self.ballots, self.count), np.int32)
        return Voyages(plans, votes, np.array(ballot), np.array(moves), np.array(RUNNING))

    def seen(self, asked: Asked) -> Array:
        """Return the observation; of the others' votes a seat knows only how many accepted."""
        plans = np.zeros((self.ballots, self.count), np.int32)
        counts, accepted = np.zeros(self.ballots, np.int32), np.zeros(self.ballots, bool)
        for event, action in [*asked.heard, (asked.event, None)]:
            if isinstance(event, PlanMade):
                for name, coins in event.plan:
                    plans[event.round - 1, self.players.index(name)] = coins
                accepted[event.round - 1] = isinstance(action, Vote) and action.decision == "accept"
            if isinstance(event, Counted):
                counts[event.round - 1] = event.accepted
        player = np.array(self.place_number(asked))
        return self._seen(player, np.array(asked.event.round - 1), plans, counts, accepted)

    def action(self, asked: Asked, number: int) -> Action:
        if number < PLAN:
            return Vote.model_validate({"decision": ANSWERS[number]})
        plan = self.plans[number - PLAN].tolist()
        named = zip(self.players, plan, strict=True)
        living = getattr(asked.event, "living", ())
        return Plan(proposal={name: coins for name, coins in named if coins or name in living})

    def number(self, asked: Asked, action: Action) -> int:
        if isinstance(action, Vote):
            return ANSWERS.index(action.decision)
        assert isinstance(action, Plan)
        coins = {place_named(self.rules, name): share for name, share in action.proposal.items()}
        return PLAN + self._place[tuple(coins.get(name, 0) for name in self.players)]


def shared_out(gold: int, pirates: int) -> Iterator[tuple[int, ...]]:
    """All ways to share out gold, those first that give little to the first pirates.

    >>> list(shared_out(2, 2))
    [(0, 2), (1, 1), (2, 0)]
    """
    if pirates == 1:
        yield (gold,)
        return
    for first in range(gold + 1):
        for rest in shared_out(gold - first, pirates - 1):
            yield (first, *rest)
