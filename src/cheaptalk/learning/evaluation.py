"""Exploitability: the gain of a best response to a policy.

In games small enough to expand into a tree it is exact. In others a response is trained, whose gain
is a lower bound.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from cheaptalk.arrays.games import ArrayGame, NoArrayGame
from cheaptalk.learning.algorithms import Progress
from cheaptalk.learning.best_response import Gain, respond
from cheaptalk.learning.nfsp import NFSPSettings
from cheaptalk.learning.policy import Policy
from cheaptalk.learning.tabular import TooLarge, Tree

SMALL = 300_000
"""Maximum number of nodes for the exact method."""
LEARNED = 3_000_000
"""Default number of matches that a response learns from."""
RESPONSE = NFSPSettings(matches=512, q_buffer=200_000, target=50)
"""Settings of a response; in BG4 they found larger gains than those of the paper's training."""
EXACT = "computed exactly on the full game tree"


class Exploitability(NamedTuple):
    """The exploitability of a policy: the gain of a best response in each seat."""

    gains: list[Gain]
    method: str

    @property
    def exact(self) -> bool:
        """Whether the gains are exact; otherwise they are lower bounds."""
        return self.method == EXACT


class ExploitabilityEvaluator:
    """Computes exploitability exactly or, in large games, with a response learned from matches."""

    def __init__(self, game: ArrayGame[Any, Any], matches: int = LEARNED) -> None:
        self.matches = matches
        self._tree = _tree(game)

    def __call__(
        self, policy: Policy, progress: Callable[[Progress], None] | None = None
    ) -> Exploitability:
        if self._tree is not None:
            return Exploitability(_exact_gains(self._tree, policy), EXACT)
        gains = respond(
            policy, RESPONSE, self.matches, (lambda _, state: progress(state)) if progress else None
        )
        return Exploitability(
            gains, f"a response learned from {self.matches:,} matches: a lower bound"
        )


def exploitability(
    policy: Policy, matches: int = LEARNED, progress: Callable[[Progress], None] | None = None
) -> Exploitability:
    """Compute the exploitability of a policy.

    Args:
        matches: the matches that a response learns from if the game is too large for the exact
            method.
        progress: called while a response is trained.
    """
    return ExploitabilityEvaluator(policy.game, matches)(policy, progress)


def _tree(game: ArrayGame[Any, Any]) -> Tree | None:
    try:
        return Tree(game, max_nodes=SMALL)
    except (NoArrayGame, TooLarge):
        return None


def _exact_gains(tree: Tree, policy: Policy) -> list[Gain]:
    table = tree.policy(policy.probabilities)
    return [
        Gain(player, float(gain), 0.0, float(own))
        for player, gain, own in zip(
            tree.game.players, tree.gains(table), tree.expected(table), strict=True
        )
    ]
