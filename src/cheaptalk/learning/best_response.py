"""A learned best response to a policy: an honest lower bound on what could be gained against it.

Values are learned by Q-learning, as in neural fictitious self-play, in one seat of each match,
while the policy that is looked into plays all others and learns nothing. What the learned response
gets on new deals, less what the policy itself gets in the same seat on the same deals, can be
gained; perhaps more can.
"""

from collections.abc import Callable
from math import sqrt
from typing import Any, NamedTuple

from cheaptalk.learning.acting import likeliest, picked, play
from cheaptalk.learning.algorithms import Progress
from cheaptalk.learning.networks import Array, Network, jax, jnp, nnx, optax
from cheaptalk.learning.nfsp import NFSP, Learned, Memory, NFSPSettings, Weights, drawn
from cheaptalk.learning.policy import Policy
from cheaptalk.learning.rounding import AS_IT_IS


class Gain(NamedTuple):
    """What a response gains in a seat over the policy itself, in the unit of the game.

    Attributes:
        player: whose seat it is.
        gain, error: the mean over deals, and its standard error.
        own: what the policy itself gets there.
    """

    player: str
    gain: float
    error: float
    own: float


class BestResponse(NFSP):
    """A training of a response to a policy.

    Args:
        policy: that is played against.
        settings: those of values, as :class:`.NFSPSettings` has them.
    """

    def __init__(self, policy: Policy, settings: NFSPSettings) -> None:
        super().__init__(policy.game, settings)
        self.rounded = policy.rounding
        width = policy.weights["first.kernel"].shape[1]
        network = Network(policy.game.observed, width, policy.game.actions, 0)
        self.policy_graph, like = nnx.split(network)
        self.given = nnx.from_flat_state([
            (path, one.replace(jnp.asarray(policy.weights[".".join(map(str, path))])))
            for path, one in nnx.to_flat_state(like)
        ])  # fmt: skip

    def begin(self) -> Learned:
        learned = super().begin()
        return learned._replace(weights=learned.weights._replace(policy=self.given))

    def gains(self, learned: Learned, matches: int = 20_000, seed: int = 1) -> list[Gain]:
        """What the response gains in each seat, on deals that it has not seen."""
        return [
            self._gain(learned, seat, matches, jax.random.fold_in(jax.random.key(seed), seat))
            for seat in range(len(self.game.players))
        ]

    def _gain(self, learned: Learned, seat: int, matches: int, key: Array) -> Gain:
        dealt, luck = jax.random.split(key)
        deals = jax.random.uniform(dealt, (matches, self.game.luck))
        players = jnp.arange(len(self.game.players))
        responds = jnp.broadcast_to(players == seat, (matches, len(players)))
        by_response = self._play_out(learned, deals, responds, luck)[:, seat]
        by_policy = self._play_out(learned, deals, jnp.zeros_like(responds), luck)[:, seat]
        more = by_response - by_policy
        return Gain(
            self.game.players[seat], float(more.mean()), float(more.std()) / sqrt(matches),
            float(by_policy.mean()),
        )  # fmt: skip

    def _play_out(self, learned: Learned, deals: Array, responds: Array, key: Array) -> Array:
        """What players get who never explore."""

        def choose(player: Array, seen: Array, legal: Array, key: Array) -> tuple[Array, None]:
            mode = picked(responds, player)
            return self._chosen(learned, seen, legal, mode, key, 0.0), None

        return play(self.game, deals, choose, key).returns

    def _likely(self, learned: Learned, seen: Array, legal: Array) -> Array:
        logits = super()._likely(learned, seen, legal)
        if self.rounded == AS_IT_IS:
            return logits
        return jnp.log(self.rounded(jax.nn.softmax(logits), likeliest))

    def _worthwhile(self, counts: Array, best: Array) -> Array:
        """The response's own: only there does the policy sit opposite."""
        return counts & best

    def _modes(self, key: Array) -> Array:
        players = len(self.game.players)
        seats = jax.random.randint(key, (self.settings.matches, 1), 0, players)
        return seats == jnp.arange(players)

    def _update(
        self, target: Any, newest: Memory, best: Memory, weights: Weights, key: Array
    ) -> tuple[Weights, Array]:
        """An update of the values alone."""
        rows = drawn(newest, self.settings.batch, key)
        loss, slope = jax.value_and_grad(self._q_loss)(weights.q, target, rows)
        change, q_steps = self.q_steps.update(slope, weights.q_steps)
        q = optax.apply_updates(weights.q, change)
        return weights._replace(q=q, q_steps=q_steps), jnp.stack([loss, jnp.zeros(())])


def respond(
    policy: Policy, settings: NFSPSettings, matches: int,
    progress: Callable[[Learned, Progress], None] | None = None,
) -> list[Gain]:  # fmt: skip
    """Learn a response to a policy, and say what it gains in each seat."""
    training = BestResponse(policy, settings)
    learned = training.train(training.begin(), matches, progress=progress)
    return training.gains(learned)
