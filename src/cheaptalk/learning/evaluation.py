"""Exploitability: the gain of a best response to a policy.

In games small enough to expand into a tree it is exact. In others a response is trained, whose gain
is a lower bound. Its values are learned by Q-learning, as in neural fictitious self-play, in one
seat of each match, while the evaluated policy plays all others and doesn't learn. The gain is the
response's payoff on new instances minus the policy's own payoff in the same seat on the same
instances.
"""

from collections.abc import Callable
from contextlib import suppress
from math import sqrt
from typing import Any, NamedTuple

from cheaptalk.arrays.games import ArrayGame, NoArrayGame
from cheaptalk.learning.acting import likeliest, picked, play
from cheaptalk.learning.algorithms import Progress
from cheaptalk.learning.networks import Array, jax, jnp, masked, optax
from cheaptalk.learning.nfsp import NFSP, Learned, Memory, NFSPSettings, Weights, drawn
from cheaptalk.learning.policy import Policy
from cheaptalk.learning.rounding import AS_IT_IS
from cheaptalk.learning.tabular import TooLarge, Tree

SMALL = 300_000
"""Maximum number of nodes for the exact method."""
LEARNED = 3_000_000
"""Default number of matches that a response learns from."""
RESPONSE = NFSPSettings(matches=512, q_buffer=200_000, target=50)
"""Settings of a response; in BG4 they found larger gains than those of the paper's training."""
EXACT = "computed exactly on the full game tree"


class Gain(NamedTuple):
    """The gain of a best response over the evaluated policy in one seat, in the game's unit.

    Attributes:
        player: the seat.
        gain, error: the mean over instances, and its standard error.
        own: the evaluated policy's own payoff in the seat.
    """

    player: str
    gain: float
    error: float
    own: float


class BestResponse(NFSP):
    """The training of a best response to a policy."""

    def __init__(self, policy: Policy, settings: NFSPSettings) -> None:
        super().__init__(policy.game, settings)
        self.opponent = policy
        self.opponent_weights = jax.tree.map(jnp.asarray, dict(policy.weights))

    def gains(self, learned: Learned, matches: int = 20_000, seed: int = 1) -> list[Gain]:
        """Return the best response's gain in each seat, on new instances."""
        results, players = [], jnp.arange(len(self.game.players))
        for seat, player in enumerate(self.game.players):
            key = jax.random.fold_in(jax.random.key(seed), seat)
            instance_key, play_key = jax.random.split(key)
            instances = jax.random.uniform(instance_key, (matches, self.game.uniforms))
            responds = jnp.broadcast_to(players == seat, (matches, len(players)))
            by_response, by_policy = (
                self._play_out(learned, instances, modes, play_key)[:, seat]
                for modes in (responds, jnp.zeros_like(responds))
            )
            gains = by_response - by_policy
            error = float(gains.std()) / sqrt(matches)
            results.append(Gain(player, float(gains.mean()), error, float(by_policy.mean())))
        return results

    def _play_out(self, learned: Learned, instances: Array, responds: Array, key: Array) -> Array:
        def choose(player: Array, seen: Array, legal: Array, key: Array) -> tuple[Array, None]:
            mode = picked(responds, player)
            return self._chosen(learned, seen, legal, mode, key, 0.0), None

        return play(self.game, instances, choose, key).returns

    def _policy_logits(self, learned: Learned, seen: Array, legal: Array) -> Array:
        logits = masked(self.opponent.logits(self.opponent_weights, seen), legal)
        if self.opponent.rounding == AS_IT_IS:
            return logits
        return jnp.log(self.opponent.rounding(jax.nn.softmax(logits), likeliest))

    def _value_mask(self, counts: Array, best: Array) -> Array:
        """Return the mask of the decisions that the best response takes."""
        return counts & best

    def _modes(self, key: Array) -> Array:
        players = len(self.game.players)
        seats = jax.random.randint(key, (self.settings.matches, 1), 0, players)
        return seats == jnp.arange(players)

    def _update(
        self, target: Any, newest: Memory, best: Memory, weights: Weights, key: Array
    ) -> tuple[Weights, Array]:
        rows = drawn(newest, self.settings.batch, key)
        loss, gradient = jax.value_and_grad(self._q_loss)(weights.q, target, rows)
        change, q_steps = self.q_steps.update(gradient, weights.q_steps)
        q = optax.apply_updates(weights.q, change)
        return weights._replace(q=q, q_steps=q_steps), jnp.stack([loss, jnp.zeros(())])


def respond(
    policy: Policy,
    settings: NFSPSettings,
    matches: int,
    progress: Callable[[Learned, Progress], None] | None = None,
) -> list[Gain]:
    """Train a best response to a policy and return its gain in each seat."""
    training = BestResponse(policy, settings)
    learned = training.train(training.begin(), matches, progress=progress)
    return training.gains(learned)


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
        self._tree: Tree | None = None
        with suppress(NoArrayGame, TooLarge):
            self._tree = Tree(game, max_nodes=SMALL)

    def __call__(
        self, policy: Policy, progress: Callable[[Progress], None] | None = None
    ) -> Exploitability:
        if self._tree is not None:
            table = self._tree.policy(policy.probabilities)
            values = zip(self._tree.gains(table), self._tree.expected(table), strict=True)
            players = self._tree.game.players
            exact = [
                Gain(player, float(gain), 0.0, float(own))
                for player, (gain, own) in zip(players, values, strict=True)
            ]
            return Exploitability(exact, EXACT)
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
