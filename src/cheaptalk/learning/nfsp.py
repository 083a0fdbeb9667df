"""Neural fictitious self-play on batches of complete matches, compiled end to end.

Two networks are trained: the action values of a best response (Q-learning), and the players'
average policy (imitation). In each match, each player plays the best response with probability
``anticipatory`` and the average policy otherwise; the average policy approaches an equilibrium in
games where fictitious play does (Heinrich and Silver 2016, algorithm 1). Buffers are on the device.
All seats share the networks; the observation includes the seat. Choices that the paper leaves open
are settings, with an explanation.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from pydantic import Field

from cheaptalk.arrays.games import ArrayGame
from cheaptalk.learning.acting import Choose, Played, picked, rows_of
from cheaptalk.learning.algorithms import BatchTraining, Progress, Settings
from cheaptalk.learning.networks import Array, Network, jax, jnp, masked, nnx, optax
from cheaptalk.rules import CheaptalkError

MAX_DECISIONS = 2**31 - 1
"""Maximum number of decisions that a training can count."""


METRICS = {
    "q_loss": "mean squared error of the action values, in squared shares of the game's scale",
    "policy_loss": "cross-entropy of the average policy and best-response actions, in nats",
}
"""The metrics of a training, with their descriptions."""


class NFSPSettings(Settings):
    """Settings of neural fictitious self-play; (G) marks values from the paper's appendix G."""

    anticipatory: float = Field(default=0.1, ge=0, le=1)
    """Probability that a player plays the best response in a match (eta; G)."""
    exploration: float = Field(default=0.06, ge=0, le=1)
    """Probability that a best response takes a random legal action (epsilon; G). It is constant, as
    in G: training uses the average of all actions taken."""
    batch: int = Field(default=128, ge=1)
    """Decisions per update (G)."""
    hidden: int = Field(default=256, ge=1)
    """Width of the hidden layers (G)."""
    policy_buffer: int = Field(default=100_000, ge=1)
    """Size of the reservoir of best-response decisions (G: BG4)."""
    q_buffer: int = Field(default=20_000, ge=1)
    """Number of newest decisions from which values are learned (G: BG4)."""
    updates: int = Field(default=3, ge=1)
    """Updates of each network per loop (G: BG4)."""
    policy_rate: float = Field(default=1e-3, gt=0)
    """Adam's learning rate for the average policy (G: BG4)."""
    q_rate: float = Field(default=1e-3, gt=0)
    """Adam's learning rate for the values (G)."""
    matches: int = Field(default=256, ge=1)
    """Matches per loop; not in G. The default keeps a processor busy and gives an update about as
    many new decisions as its batch contains."""
    target: int = Field(default=100, ge=1)
    """Loops between updates of the target network; not in G."""
    threshold: float = Field(default=0.0, ge=0, lt=1)
    """Actions with a lower probability are removed from the saved policy. G removes none; the
    average otherwise contains the best responses' exploration."""


class Decisions(NamedTuple):
    """A batch of decisions, each with its reward and the player's next decision.

    The reward is the payoff if the match ended before the player's next decision, else 0. ``after``
    and ``later`` are observation and legal actions at that decision; zeros if there is none.
    """

    seen: Array
    legal: Array
    action: Array
    reward: Array
    after: Array
    later: Array


class Memory(NamedTuple):
    """A buffer of decisions on the device, and the number of decisions ever added."""

    rows: Decisions
    count: Array


class Weights(NamedTuple):
    """The weights of both networks and the states of their optimisers."""

    policy: Any
    q: Any
    policy_steps: Any
    q_steps: Any


class Learned(NamedTuple):
    """The complete state of a training run with neural fictitious self-play.

    Attributes:
        target: the weights of the target network.
        newest, best: the buffers for values and for the average policy.
        key: the random key of all later draws.
    """

    weights: Weights
    target: Any
    newest: Memory
    best: Memory
    key: Array
    loops: Array


class NFSP(BatchTraining[NFSPSettings, Learned]):
    """Neural fictitious self-play on a game."""

    name = "nfsp"
    keys = 4
    options = NFSPSettings
    metrics = METRICS

    def __init__(self, game: ArrayGame[Any, Any], settings: NFSPSettings) -> None:
        super().__init__(game, settings)
        self.policy_steps = optax.adam(settings.policy_rate)
        self.q_steps = optax.adam(settings.q_rate)

    def begin(self) -> Learned:
        policy, q, match_key = jax.random.split(jax.random.key(self.settings.seed), 3)
        policy_weights, q_weights = (nnx.split(self._network(key))[1] for key in (policy, q))
        steps = self.policy_steps.init(policy_weights), self.q_steps.init(q_weights)
        weights = Weights(policy_weights, q_weights, *steps)
        newest, best = map(self._empty, (self.settings.q_buffer, self.settings.policy_buffer))
        return Learned(weights, q_weights, newest, best, match_key, jnp.zeros((), jnp.int32))

    def _network(self, seed: Any) -> Network:
        return Network(self.game.observed, self.settings.hidden, self.game.actions, seed)

    def _empty(self, size: int) -> Memory:
        seen = jnp.zeros((size, self.game.observed), jnp.float32)
        legal = jnp.zeros((size, self.game.actions), bool)
        zeros = jnp.zeros(size)
        rows = Decisions(seen, legal, zeros.astype(jnp.int32), zeros, seen, legal)
        return Memory(rows, jnp.zeros((), jnp.int32))

    def train(
        self,
        learned: Learned,
        matches: int,
        *,
        every: int = 100,
        progress: Callable[[Learned, Progress], None] | None = None,
    ) -> Learned:
        maximum = MAX_DECISIONS // self.game.longest
        if self.played(learned) + matches > maximum:
            raise CheaptalkError(
                f"a training of {self.game.rules.name} with these parameters is limited to "
                f"{maximum:,} matches in total"
            )
        return super().train(learned, matches, every=every, progress=progress)

    def _actor(self, learned: Learned) -> Any:
        return learned.weights.policy

    # One loop

    def _choices(self, learned: Learned, keys: Sequence[Array]) -> tuple[Array, Choose, Array]:
        instance_key, mode_key, step_key = jax.random.split(keys[0], 3)
        responds = self._modes(mode_key)

        def choose(player: Array, seen: Array, legal: Array, key: Array) -> tuple[Array, Array]:
            mode = picked(responds, player)
            return self._chosen(learned, seen, legal, mode, key, self.settings.exploration), mode

        return instance_key, choose, step_key

    def _decisions(self, played: Played) -> tuple[Decisions, Array, Array]:
        """Return all decisions, and masks of actual decisions and of best responses."""
        by_step = self._with_next(*played[:5], played.shares), played.here, played.more
        decisions: tuple[Decisions, Array, Array] = rows_of(by_step)
        return decisions

    def _learn(
        self, learned: Learned, played: Played, keys: Sequence[Array]
    ) -> tuple[Learned, Array]:
        _, reservoir_key, batch_key = keys
        rows, counts, best = self._decisions(played)
        newest = _put(learned.newest, rows, self._value_mask(counts, best))
        reservoir = _keep(learned.best, rows, counts & best, reservoir_key)
        update = partial(self._update, learned.target, newest, reservoir)
        batch_keys = jax.random.split(batch_key, self.settings.updates)
        weights, losses = jax.lax.scan(update, learned.weights, batch_keys)
        renew = (learned.loops + 1) % self.settings.target == 0
        target = jax.tree.map(partial(jnp.where, renew), weights.q, learned.target)
        learned = learned._replace(weights=weights, target=target, newest=newest, best=reservoir)
        return learned, losses.mean(axis=0)

    def _value_mask(self, counts: Array, best: Array) -> Array:
        """Return the mask of decisions from which action values are learned; by default, all."""
        return counts

    def _modes(self, key: Array) -> Array:
        shape = (self.settings.matches, len(self.game.players))
        return jax.random.uniform(key, shape) < self.settings.anticipatory

    def _chosen(
        self,
        learned: Learned,
        seen: Array,
        legal: Array,
        mode: Array,
        key: Array,
        exploration: float,
    ) -> Array:
        explore_key, random_key, average_key = jax.random.split(key, 3)
        q = masked(self._net(learned.weights.q)(seen), legal)
        explores = jax.random.uniform(explore_key, mode.shape) < exploration
        random_action = jax.random.categorical(random_key, masked(jnp.zeros_like(q), legal))
        best = jnp.where(explores, random_action, q.argmax(axis=-1))
        logits = self._policy_logits(learned, seen, legal)
        return jnp.where(mode, best, jax.random.categorical(average_key, logits))

    def _policy_logits(self, learned: Learned, seen: Array, legal: Array) -> Array:
        return masked(self._net(learned.weights.policy)(seen), legal)

    def _with_next(
        self, player: Array, seen: Array, legal: Array, action: Array, here: Array, shares: Array
    ) -> Decisions:
        """Return decisions by step and match, each with the same player's next decision."""
        matches = shares.shape[0]
        players = jnp.arange(shares.shape[1])
        empty = (
            jnp.zeros((matches, len(players), seen.shape[-1])),
            jnp.zeros((matches, len(players), legal.shape[-1]), bool),
            jnp.zeros((matches, len(players)), bool),
        )

        def back(after: Any, step: Any) -> tuple[Any, Any]:
            player, seen, legal, here = step
            index = player[:, None]
            next_seen, next_legal = (
                jnp.take_along_axis(part, index[..., None], axis=1)[:, 0] for part in after[:2]
            )
            goes_on = picked(after[2], player)
            payoff = jnp.where(goes_on, 0.0, picked(shares, player))
            new = (players == index) & here[:, None]
            now = (
                jnp.where(new[..., None], part[:, None], old)
                for part, old in zip((seen, legal), after[:2], strict=True)
            )
            after = (*now, after[2] | new)
            return after, (payoff, next_seen, next_legal & goes_on[:, None])

        _, (reward, after, later) = jax.lax.scan(
            back, empty, (player, seen, legal, here), reverse=True
        )
        return Decisions(seen, legal, action, reward, after, later)

    def _update(
        self, target: Any, newest: Memory, best: Memory, weights: Weights, key: Array
    ) -> tuple[Weights, Array]:
        newest_key, best_key = jax.random.split(key)
        rows = drawn(newest, self.settings.batch, newest_key)
        q_loss, gradient = jax.value_and_grad(self._q_loss)(weights.q, target, rows)
        change, q_steps = self.q_steps.update(gradient, weights.q_steps)
        q = optax.apply_updates(weights.q, change)
        rows = drawn(best, self.settings.batch, best_key)
        policy_loss, gradient = jax.value_and_grad(self._policy_loss)(weights.policy, rows)
        change, policy_steps = self.policy_steps.update(gradient, weights.policy_steps)
        policy = optax.apply_updates(weights.policy, change)
        return Weights(policy, q, policy_steps, q_steps), jnp.stack([q_loss, policy_loss])

    def _q_loss(self, weights: Any, target: Any, rows: Decisions) -> Array:
        """Return the mean squared error of action values against one-step Q-learning targets."""
        predicted = picked(self._net(weights)(rows.seen), rows.action)
        next_value = masked(self._net(target)(rows.after), rows.later).max(axis=1)
        target_value = rows.reward + jnp.where(rows.later.any(axis=1), next_value, 0.0)
        return ((predicted - jax.lax.stop_gradient(target_value)) ** 2).mean()

    def _policy_loss(self, weights: Any, rows: Decisions) -> Array:
        logits = masked(self._net(weights)(rows.seen), rows.legal)
        return optax.softmax_cross_entropy_with_integer_labels(logits, rows.action).mean()


def _put(memory: Memory, rows: Decisions, counts: Array) -> Memory:
    size = memory.rows.action.shape[0]
    number = memory.count + jnp.cumsum(counts) - 1
    position = jnp.where(counts, number % size, size)
    return _written(memory, rows, counts, position)


def _keep(memory: Memory, rows: Decisions, counts: Array, key: Array) -> Memory:
    """Add decisions to a reservoir, a uniform sample of all past decisions (Vitter 1985)."""
    size = memory.rows.action.shape[0]
    number = memory.count + jnp.cumsum(counts) - 1
    replaced = jnp.floor(jax.random.uniform(key, number.shape) * (number + 1)).astype(jnp.int32)
    position = jnp.where(number < size, number, replaced)
    return _written(memory, rows, counts, jnp.where(counts, position, size))


def _written(memory: Memory, rows: Decisions, counts: Array, position: Array) -> Memory:
    """Write rows to buffer positions; ignore invalid positions, and keep the last of duplicates."""
    size, number = memory.rows.action.shape[0], jnp.arange(position.shape[0])
    last = jnp.full(size, -1).at[position].max(number, mode="drop")
    is_last = last.at[position].get(mode="fill", fill_value=-1) == number
    position = jnp.where(is_last, position, size)
    stored = jax.tree.map(
        lambda old, new: old.at[position].set(new.astype(old.dtype), mode="drop"), memory.rows, rows
    )
    return Memory(stored, memory.count + counts.sum(dtype=jnp.int32))


def drawn(memory: Memory, batch: int, key: Array) -> Decisions:
    """Sample decisions with replacement; return zeros if the buffer is empty."""
    size = memory.rows.action.shape[0]
    available = jnp.maximum(jnp.minimum(memory.count, size), 1)
    indices = jax.random.randint(key, (batch,), 0, available)
    rows: Decisions = jax.tree.map(lambda column: column[indices], memory.rows)
    return rows
