"""How exploitable a policy is: what a player could gain by playing otherwise against it.

In a game that is small enough to be written out this is known to the last digit. Elsewhere a
response is learned, whose gain is a lower bound.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from cheaptalk.arrays.games import ArrayGame, NotArrayed
from cheaptalk.learning.algorithms import Progress
from cheaptalk.learning.best_response import Gain, respond
from cheaptalk.learning.nfsp import NFSPSettings
from cheaptalk.learning.policy import Policy
from cheaptalk.learning.tabular import TooLarge, Tree

SMALL = 300_000
"""Nodes up to which a game is looked into exactly."""
LEARNED = 3_000_000
"""Matches that a response learns from, where nobody says how many."""
RESPONSE = NFSPSettings(matches=512, q_buffer=200_000, target=50)
"""How a response learns: in BG4 this found more than the settings of the paper's training."""
EXACT = "reckoned from all that can happen"


class Exploitability(NamedTuple):
    """What players could gain against a policy.

    Attributes:
        gains: in each seat.
        method: how it was found, in words.
    """

    gains: list[Gain]
    method: str

    @property
    def exact(self) -> bool:
        """Whether nobody could gain more; otherwise it is a lower bound."""
        return self.method == EXACT


class Examiner:
    """Says how exploitable policies of a game are.

    Args:
        game: that they play.
        matches: that a response learns from, where the game is not small.
    """

    def __init__(self, game: ArrayGame[Any, Any], matches: int = LEARNED) -> None:
        self.matches = matches
        self._tree = _tree(game)

    def __call__(
        self, policy: Policy, progress: Callable[[Progress], None] | None = None
    ) -> Exploitability:
        """What could be gained against a policy.

        Args:
            progress: called as a response is learned.
        """
        if self._tree is not None:
            return Exploitability(_exactly(self._tree, policy), EXACT)
        found = respond(
            policy, RESPONSE, self.matches,
            (lambda _, told: progress(told)) if progress else None,
        )  # fmt: skip
        return Exploitability(
            found, f"a response learned from {self.matches:,} matches: a lower bound"
        )


def exploitability(
    policy: Policy, matches: int = LEARNED, progress: Callable[[Progress], None] | None = None
) -> Exploitability:
    """What players could gain against a policy.

    Args:
        matches: that a response learns from, where the game is not small enough to be written out.
        progress: called as a response is learned.
    """
    return Examiner(policy.game, matches)(policy, progress)


def _tree(game: ArrayGame[Any, Any]) -> Tree | None:
    try:
        return Tree(game, most=SMALL)
    except (NotArrayed, TooLarge):
        return None


def _exactly(tree: Tree, policy: Policy) -> list[Gain]:
    table = tree.policy(policy.probabilities)
    return [
        Gain(player, float(gain), 0.0, float(own))
        for player, gain, own in zip(
            tree.game.players, tree.gains(table), tree.expected(table), strict=True
        )
    ]
