"""Small games solved exactly: best responses by looking at all that can happen, and CFR.

A game is written out as a tree, level by level: all deals, and all legal actions after each. What a
player knows tells its decisions apart; nothing else does. So policies are tables, and how much
anybody could gain by another strategy is known to the last digit. Learned policies are held
against this where the game is small.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from numpy.typing import NDArray

from cheaptalk.arrays.games import ArrayGame
from cheaptalk.games.extras import needed
from cheaptalk.rules import CheaptalkError, Deal

np = needed("numpy")

Floats: TypeAlias = "NDArray[Any]"
Whole: TypeAlias = "NDArray[Any]"
Policy: TypeAlias = "list[Floats]"
"""For each level of a tree, the probability of each action in each decision; shape (decisions,
actions)."""
MOST = 5_000_000
"""Nodes up to which a tree is written out, where nobody says how many."""


class TooLarge(CheaptalkError):
    """A game has more that can happen than is written out."""


class Level(NamedTuple):
    """The nodes of a tree after so many actions.

    Attributes:
        over: which have ended; shape (nodes).
        returns: what players get there, 0 before the end; shape (nodes, players).
        player: whose turn it is; shape (nodes).
        decision: which decision of the level a node belongs to, -1 where it has ended.
        seen: what the player knows in each decision; shape (decisions, observation).
        legal: which actions there are in each decision; shape (decisions, actions).
        parent, action: of each node of the next level.
    """

    over: Whole
    returns: Floats
    player: Whole
    decision: Whole
    seen: Floats
    legal: Whole
    parent: Whole
    action: Whole


class Tree:
    """All that can happen in a game.

    Args:
        game: whose matches they are.
        deals: those that there are; by default all of the game.
        chances: their probabilities; all alike without.
        most: nodes up to which it is written out.

    Attributes:
        levels: by how many actions were taken.
        deals: those that there are, the first nodes.
        chances: of the deals; shape (deals).

    Raises:
        TooLarge: there would be more nodes.
        NotArrayed: the game has more deals than can be listed.
    """

    def __init__(
        self,
        game: ArrayGame[Any, Any],
        deals: Sequence[Deal] | None = None,
        chances: Sequence[float] | None = None,
        most: int = MOST,
    ) -> None:
        self.game = game
        if deals is None:
            deals, chances = game.every_deal()
        self.deals = list(deals)
        count = len(deals)
        self.chances = np.full(count, 1 / count) if chances is None else np.asarray(chances)
        self.levels: list[Level] = []
        state, nodes = game.of_deals(deals), 0
        while True:
            level = _level(game, state)
            self.levels.append(level)
            nodes += len(level.over) + len(level.parent)
            if nodes > most:
                raise TooLarge(
                    f"{game.rules.name} has more than {most:,} nodes; take smaller parameters, or "
                    "fewer deals"
                )
            if not len(level.parent):
                return
            state = type(state)(*(part[level.parent] for part in state))
            state = game.step(state, level.action)

    @property
    def decisions(self) -> int:
        """How many decisions there are, of all players."""
        return sum(len(level.seen) for level in self.levels)

    def uniform(self) -> Policy:
        """The policy that takes every legal action as often."""
        return [level.legal / np.maximum(level.legal.sum(axis=1), 1)[:, None]
                for level in self.levels]  # fmt: skip

    def policy(self, of: Callable[[Floats, Whole], Floats]) -> Policy:
        """The table of a policy that is a function of observations and legal actions."""
        return [
            of(level.seen, level.legal) if len(level.seen) else level.legal.astype(float)
            for level in self.levels
        ]

    def reach(self, policy: Policy) -> list[Floats]:
        """How likely each player's own actions make each node, and luck in the last column."""
        players = len(self.game.players)
        found = [np.ones((len(self.chances), players + 1))]
        found[0][:, players] = self.chances
        for level, table in zip(self.levels, policy, strict=True):
            nodes = found[-1][level.parent]
            taken = table[level.decision[level.parent], level.action]
            nodes[np.arange(len(nodes)), level.player[level.parent]] *= taken
            found.append(nodes)
        return found[:-1]

    def values(self, policy: Policy) -> list[Floats]:
        """What players get from each node on, in expectation; shape (nodes, players) a level."""
        below: Floats = np.zeros((0, len(self.game.players)))
        found: list[Floats] = []
        for level, table in zip(reversed(self.levels), reversed(policy), strict=True):
            here = level.returns.copy()
            taken = table[level.decision[level.parent], level.action]
            np.add.at(here, level.parent, taken[:, None] * below)
            found.append(here)
            below = here
        return found[::-1]

    def expected(self, policy: Policy) -> Floats:
        """What players get in expectation where all follow a policy; shape (players)."""
        found: Floats = self.chances @ self.values(policy)[0]
        return found

    def best_response(self, policy: Policy, player: int) -> tuple[float, Policy]:
        """The most that a player can get where all others follow a policy, and how.

        Returns:
            what it gets in expectation, and the policy with its own decisions replaced.
        """
        below: Floats = np.zeros(0)
        best: Policy = []
        everyone = reversed(list(zip(self.levels, policy, self.reach(policy), strict=True)))
        for level, table, reach in everyone:
            others = np.delete(reach, player, axis=1).prod(axis=1)
            mine = (level.player == player) & ~level.over.astype(bool)
            worth = np.full(level.legal.shape, 0.0)
            own = mine[level.parent]
            edges = level.parent[own]
            np.add.at(worth, (level.decision[edges], level.action[own]), others[edges] * below[own])
            choice = np.where(level.legal, worth, -np.inf).argmax(axis=1) if len(worth) else []
            played = table.copy()
            decided = np.unique(level.decision[mine])
            played[decided] = 0.0
            played[decided, np.asarray(choice, dtype=int)[decided]] = 1.0
            taken = played[level.decision[level.parent], level.action]
            below = level.returns[:, player] + np.bincount(
                level.parent, taken * below, minlength=len(level.over)
            )
            best.append(played)
        return float(self.chances @ below), best[::-1]

    def gains(self, policy: Policy) -> Floats:
        """What each player could gain by leaving a policy alone, 0 or more; shape (players)."""
        now = self.expected(policy)
        best = [self.best_response(policy, player)[0] for player in range(len(now))]
        found: Floats = np.maximum(np.array(best) - now, 0.0)
        return found


def _level(game: ArrayGame[Any, Any], state: Any) -> Level:
    over = np.asarray(game.over(state))
    player = np.asarray(game.turn(state))
    legal = np.asarray(game.legal(state))
    running = np.flatnonzero(~over)
    seen = np.asarray(game.observe(state, player))[running]
    told, first, inverse = np.unique(seen, axis=0, return_index=True, return_inverse=True)
    decision = np.full(len(over), -1)
    decision[running] = inverse.reshape(-1)
    parent, action = np.nonzero(legal)
    returns = np.asarray(game.returns(state), dtype=float)
    return Level(over, returns, player, decision, told, legal[running[first]], parent, action)


@dataclass(frozen=True)
class Solution:
    """What CFR came to.

    Attributes:
        tree: of the game.
        policy: the average policy.
        gains: what each player could gain by leaving it, as it went: by iterations, each a list.
    """

    tree: Tree
    policy: Policy
    gains: dict[int, list[float]] = field(default_factory=dict)


def solve(
    tree: Tree, iterations: int = 1_000, *, looks: int = 10,
    progress: Callable[[int, Floats], None] | None = None,
) -> Solution:  # fmt: skip
    """Counterfactual regret minimisation: CFR+ with linear averaging and turns.

    In turns each player's regrets, never below 0, are renewed against the others as they now
    play, and every decision takes actions in proportion to their regrets. The average of all
    policies, later ones weighing more, is what comes of it (Tammelin 2014; Zinkevich and others
    2007). In a game of pure conflict it approaches an equilibrium; elsewhere nothing promises
    that, so the gains that are left are looked at.

    Args:
        iterations: how often all players' regrets are renewed.
        looks: how often the gains are reckoned on the way, the last time at the end.
        progress: called at each look with the iterations done and the players' gains.
    """
    regrets = [np.zeros(level.legal.shape) for level in tree.levels]
    sums = [np.zeros(level.legal.shape) for level in tree.levels]
    every = max(1, iterations // looks)
    gains: dict[int, list[float]] = {}
    for number in range(1, iterations + 1):
        for player in range(len(tree.game.players)):
            policy = _normal(tree, regrets)
            _renew(tree, policy, player, regrets)
            for level, table, total, reach in zip(
                tree.levels, policy, sums, tree.reach(policy), strict=True
            ):
                weight = np.zeros(len(level.seen))
                mine = np.flatnonzero((level.player == player) & (level.decision >= 0))
                weight[level.decision[mine]] = reach[mine, player]
                total += number * weight[:, None] * table
        if number % every == 0 or number == iterations:
            left = tree.gains(_normal(tree, sums))
            gains[number] = left.tolist()
            if progress:
                progress(number, left)
    return Solution(tree, _normal(tree, sums), gains)


def _renew(tree: Tree, policy: Policy, player: int, regrets: list[Floats]) -> None:
    """Add a player's regrets under a policy, and let none fall below 0."""
    values, reaches = tree.values(policy), tree.reach(policy)
    for at, (level, reach) in enumerate(zip(tree.levels, reaches, strict=True)):
        own = (level.player == player)[level.parent]
        edges, action = level.parent[own], level.action[own]
        if not len(edges):
            continue
        others = np.delete(reach[edges], player, axis=1).prod(axis=1)
        more = values[at + 1][own, player] - values[at][edges, player]
        np.add.at(regrets[at], (level.decision[edges], action), others * more)
        np.maximum(regrets[at], 0.0, out=regrets[at])


def _normal(tree: Tree, weights: list[Floats]) -> Policy:
    """Probabilities in proportion to weights, all legal actions alike where these are 0."""
    found = []
    for table, even in zip(weights, tree.uniform(), strict=True):
        total = table.sum(axis=1, keepdims=True)
        found.append(np.where(total > 0, table / np.where(total > 0, total, 1.0), even))
    return found
