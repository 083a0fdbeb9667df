"""Exact solutions of small games: best responses on the full game tree, and CFR.

A game is expanded into a tree, level by level: all instances, and all legal actions after each.
Decisions are distinguished by the player's observation only, so policies are tables, and the gain
from any other strategy can be computed exactly. In small games, learned policies are compared with
these solutions.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from numpy.typing import NDArray

from cheaptalk.arrays.games import ArrayGame
from cheaptalk.games.extras import needed
from cheaptalk.printing.printout import Printed
from cheaptalk.rules import CheaptalkError

np = needed("numpy")

Floats: TypeAlias = "NDArray[Any]"
Integers: TypeAlias = "NDArray[Any]"
Policy: TypeAlias = "list[Floats]"
"""The probability of each action in each decision, by level; shape (decisions, actions)."""
MAX_NODES = 5_000_000
"""Default maximum number of nodes in a tree."""


class TooLarge(CheaptalkError):
    """Raised if a game's tree exceeds the maximum number of nodes."""


class Level(NamedTuple):
    """All nodes of a game tree at the same depth.

    Attributes:
        over: whether the match has ended; shape (nodes).
        returns: the players' payoffs, 0 before the end; shape (nodes, players).
        player: the acting player; shape (nodes).
        decision: the node's decision in the level, -1 after the end; shape (nodes).
        seen: the observation of each decision; shape (decisions, observation).
        legal: the legal actions of each decision; shape (decisions, actions).
        parent, action: parent node and action of each node of the next level.
    """

    over: Integers
    returns: Floats
    player: Integers
    decision: Integers
    seen: Floats
    legal: Integers
    parent: Integers
    action: Integers


class Tree:
    """The full tree of a game, with all its instances.

    Attributes:
        levels: nodes by number of actions taken.
        instances: the possible instances, which are the first nodes.
        chances: the instances' probabilities; shape (instances).

    Raises:
        TooLarge: there are more nodes than the maximum.
        NoArrayGame: the game has more instances than can be listed.
    """

    def __init__(self, game: ArrayGame[Any, Any], max_nodes: int = MAX_NODES) -> None:
        self.game = game
        self.instances, chances = game.every_instance()
        self.chances = np.asarray(chances)
        self.levels: list[Level] = []
        state, nodes = game.from_instances(self.instances), 0
        while True:
            level = _level(game, state)
            self.levels.append(level)
            nodes += len(level.over) + len(level.parent)
            if nodes > max_nodes:
                raise TooLarge(
                    f"{game.rules.name} has more than {max_nodes:,} nodes; use smaller parameters "
                    "or fewer instances"
                )
            if not len(level.parent):
                return
            state = type(state)(*(part[level.parent] for part in state))
            state = game.step(state, level.action)

    @property
    def decisions(self) -> int:
        """Return the total number of decisions of all players."""
        return sum(len(level.seen) for level in self.levels)

    def uniform(self) -> Policy:
        """Return the policy that takes all legal actions with equal probability."""
        return [
            level.legal / np.maximum(level.legal.sum(axis=1), 1)[:, None] for level in self.levels
        ]

    def policy(self, probabilities: Callable[[Floats, Integers], Floats]) -> Policy:
        """Tabulate a policy that is given as a function of observations and legal actions."""
        return [
            probabilities(level.seen, level.legal) if len(level.seen) else level.legal.astype(float)
            for level in self.levels
        ]

    def reach(self, policy: Policy) -> list[Floats]:
        """Return each player's contribution to the probability of each node, with chance last."""
        players = len(self.game.players)
        reaches = [np.ones((len(self.chances), players + 1))]
        reaches[0][:, players] = self.chances
        for level, table in zip(self.levels, policy, strict=True):
            nodes = reaches[-1][level.parent]
            chance = table[level.decision[level.parent], level.action]
            nodes[np.arange(len(nodes)), level.player[level.parent]] *= chance
            reaches.append(nodes)
        return reaches[:-1]

    def values(self, policy: Policy) -> list[Floats]:
        """Return the players' expected payoffs at each node; shape (nodes, players) per depth."""
        below: Floats = np.zeros((0, len(self.game.players)))
        expected: list[Floats] = []
        for level, table in zip(reversed(self.levels), reversed(policy), strict=True):
            current = level.returns.copy()
            chance = table[level.decision[level.parent], level.action]
            np.add.at(current, level.parent, chance[:, None] * below)
            expected.append(current)
            below = current
        return expected[::-1]

    def expected(self, policy: Policy) -> Floats:
        """Return the players' expected payoffs if all follow a policy; shape (players)."""
        payoffs: Floats = self.chances @ self.values(policy)[0]
        return payoffs

    def best_response(self, policy: Policy, player: int) -> tuple[float, Policy]:
        """Return a player's expected payoff from a best response, and the responding policy."""
        below: Floats = np.zeros(0)
        best: Policy = []
        reversed_levels = reversed(list(zip(self.levels, policy, self.reach(policy), strict=True)))
        for level, table, reach in reversed_levels:
            others_reach = np.delete(reach, player, axis=1).prod(axis=1)
            is_own_node = (level.player == player) & ~level.over.astype(bool)
            action_values = np.full(level.legal.shape, 0.0)
            is_own_edge = is_own_node[level.parent]
            edges = level.parent[is_own_edge]
            np.add.at(
                action_values,
                (level.decision[edges], level.action[is_own_edge]),
                others_reach[edges] * below[is_own_edge],
            )
            played = table.copy()
            decided = np.unique(level.decision[is_own_node])
            played[decided] = 0.0
            if len(decided):
                choice = np.where(level.legal, action_values, -np.inf).argmax(axis=1)
                played[decided, choice[decided]] = 1.0
            chance = played[level.decision[level.parent], level.action]
            below = level.returns[:, player] + np.bincount(
                level.parent, chance * below, minlength=len(level.over)
            )
            best.append(played)
        return float(self.chances @ below), best[::-1]

    def gains(self, policy: Policy) -> Floats:
        """Return each player's gain from a best response, 0 or more; shape (players)."""
        current = self.expected(policy)
        best = [self.best_response(policy, player)[0] for player in range(len(current))]
        differences: Floats = np.maximum(np.array(best) - current, 0.0)
        return differences


def _level(game: ArrayGame[Any, Any], state: Any) -> Level:
    over = np.asarray(game.over(state))
    player = np.asarray(game.turn(state))
    legal = np.asarray(game.legal(state))
    running = np.flatnonzero(~over)
    seen = np.asarray(game.observe(state, player))[running]
    observations, first, inverse = np.unique(seen, axis=0, return_index=True, return_inverse=True)
    decision = np.full(len(over), -1)
    decision[running] = inverse.reshape(-1)
    parent, action = np.nonzero(legal)
    returns = np.asarray(game.returns(state), dtype=float)
    return Level(
        over, returns, player, decision, observations, legal[running[first]], parent, action
    )


@dataclass(frozen=True, repr=False)
class Solution(Printed):
    """The result of counterfactual regret minimisation.

    Attributes:
        policy: the average policy.
        gains: each player's gain from a best response, by iteration.
    """

    tree: Tree
    policy: Policy
    gains: dict[int, list[float]] = field(default_factory=dict)


def solve(
    tree: Tree,
    iterations: int = 1_000,
    *,
    evaluations: int = 10,
    progress: Callable[[int, Floats], None] | None = None,
) -> Solution:
    """Solve a game by counterfactual regret minimisation: alternating CFR+ with linear averaging.

    Players take turns: a player's regrets, floored at 0, are updated against the others' current
    policies, and each decision plays actions in proportion to their regrets. The result is the
    average of all policies, weighted by iteration (Tammelin 2014; Zinkevich and others 2007). In
    two-player zero-sum games it approaches an equilibrium; in others there is no guarantee, so
    check the remaining gains.

    Args:
        iterations: updates of all players' regrets.
        evaluations: how often gains are computed, evenly spaced, with one at the end.
        progress: called at each evaluation with the iteration and the players' gains.
    """
    regrets = [np.zeros(level.legal.shape) for level in tree.levels]
    sums = [np.zeros(level.legal.shape) for level in tree.levels]
    every = max(1, iterations // evaluations)
    gains: dict[int, list[float]] = {}
    for number in range(1, iterations + 1):
        for player in range(len(tree.game.players)):
            policy = _normal(tree, regrets)
            _renew(tree, policy, player, regrets)
            for level, table, total, reach in zip(
                tree.levels, policy, sums, tree.reach(policy), strict=True
            ):
                weight = np.zeros(len(level.seen))
                own_nodes = np.flatnonzero((level.player == player) & (level.decision >= 0))
                weight[level.decision[own_nodes]] = reach[own_nodes, player]
                total += number * weight[:, None] * table
        if number % every == 0 or number == iterations:
            remaining = tree.gains(_normal(tree, sums))
            gains[number] = remaining.tolist()
            if progress:
                progress(number, remaining)
    return Solution(tree, _normal(tree, sums), gains)


def _renew(tree: Tree, policy: Policy, player: int, regrets: list[Floats]) -> None:
    """Add a policy's counterfactual regrets to a player's regrets, with a minimum of 0."""
    values, reaches = tree.values(policy), tree.reach(policy)
    for index, (level, reach) in enumerate(zip(tree.levels, reaches, strict=True)):
        is_own = (level.player == player)[level.parent]
        edges, action = level.parent[is_own], level.action[is_own]
        if not len(edges):
            continue
        others_reach = np.delete(reach[edges], player, axis=1).prod(axis=1)
        regret = values[index + 1][is_own, player] - values[index][edges, player]
        np.add.at(regrets[index], (level.decision[edges], action), others_reach * regret)
        np.maximum(regrets[index], 0.0, out=regrets[index])


def _normal(tree: Tree, weights: list[Floats]) -> Policy:
    """Return probabilities in proportion to weights; uniform over legal actions if all are 0."""
    normalised = []
    for table, uniform in zip(weights, tree.uniform(), strict=True):
        total = table.sum(axis=1, keepdims=True)
        normalised.append(np.where(total > 0, table / np.where(total > 0, total, 1.0), uniform))
    return normalised
