"""Neural fictitious self-play, whole matches at a time, compiled from end to end.

Two networks are learned: what actions are worth to a best response (by Q-learning), and how the
players have played on average (by imitation). Each player of each match plays the best response
with probability ``anticipatory``, and the average else; the average policy approaches an
equilibrium where fictitious play does (Heinrich and Silver 2016, algorithm 1). Buffers lie on the
device. All seats share networks, whose observation says where one sits; what the paper leaves open
is a setting here, with our choice explained.
"""

from collections.abc import Callable
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from pydantic import Field

from cheaptalk.arrays.games import ArrayGame
from cheaptalk.learning.acting import picked, play, rows_of
from cheaptalk.learning.algorithms import Progress, Settings, Training
from cheaptalk.learning.networks import Array, Network, jax, jnp, masked, nnx, optax
from cheaptalk.rules import CheaptalkError

MOST_DECISIONS = 2**31 - 1
"""Decisions up to which a training counts."""


class NFSPSettings(Settings):
    """Settings of a training. Those of the appendix are marked with its letter, G."""

    anticipatory: float = Field(default=0.1, ge=0, le=1)
    """With what probability a player plays the best response in a match (eta; G)."""
    exploration: float = Field(default=0.06, ge=0, le=1)
    """With what probability a best response takes any legal action instead (epsilon; G). G has no
    schedule, and none is needed: what is learned from is the average of all that was tried."""
    batch: int = Field(default=128, ge=1)
    """Decisions in an update (G)."""
    hidden: int = Field(default=256, ge=1)
    """Width of the networks' layers (G)."""
    policy_buffer: int = Field(default=100_000, ge=1)
    """Decisions of best responses that are kept, each that ever was as likely (G: BG4)."""
    q_buffer: int = Field(default=20_000, ge=1)
    """The newest decisions of all, from which values are learned (G: BG4)."""
    updates: int = Field(default=3, ge=1)
    """Updates of each network in a loop (G: BG4)."""
    policy_rate: float = Field(default=1e-3, gt=0)
    """Learning rate of the average policy, by Adam (G: BG4)."""
    q_rate: float = Field(default=1e-3, gt=0)
    """Learning rate of the values, by Adam (G)."""
    matches: int = Field(default=256, ge=1)
    """Matches of a loop. G leaves it open; so many keep a processor busy, and an update then sees
    about as many new decisions as its batch has."""
    target: int = Field(default=100, ge=1)
    """Loops after which the values that are aimed at are renewed. G leaves it open."""
    threshold: float = Field(default=0.0, ge=0, lt=1)
    """What is less likely is left out of the policy that is written. G leaves in all; what best
    responses took to explore is in the average, too, until this leaves it out."""


class Decisions(NamedTuple):
    """Decisions that players took, with what came after.

    Attributes:
        seen, legal, action: what the player knew, could do and did.
        reward: what it got, if the match ended before its next decision; 0 else.
        after, later: what it knew and could do at its next decision; nothing if there was none.
    """

    seen: Array
    legal: Array
    action: Array
    reward: Array
    after: Array
    later: Array


class Memory(NamedTuple):
    """A buffer on the device.

    Attributes:
        rows: decisions.
        count: how many were ever put into it.
    """

    rows: Decisions
    count: Array


class Weights(NamedTuple):
    """What is learned.

    Attributes:
        policy, q: the networks' weights.
        policy_steps, q_steps: of the optimisers.
    """

    policy: Any
    q: Any
    policy_steps: Any
    q_steps: Any


class Learned(NamedTuple):
    """A training as it stands: all that is needed to go on with it.

    Attributes:
        weights: what is learned.
        target: the weights of the values that are aimed at.
        newest, best: the buffers of values and of the average policy.
        key: of all luck to come.
        loops: that were done.
    """

    weights: Weights
    target: Any
    newest: Memory
    best: Memory
    key: Array
    loops: Array


class NFSP(Training[NFSPSettings, Learned]):
    """A training of a game.

    Args:
        game: what is played.
        settings: see :class:`NFSPSettings`.
    """

    name = "nfsp"
    options = NFSPSettings
    metrics = MappingProxyType({
        "q_loss": "mean squared error of what actions are said to be worth, of shares of the scale",
        "policy_loss": "cross-entropy of the average policy to what best responses did, in nats",
    })  # fmt: skip

    def __init__(self, game: ArrayGame[Any, Any], settings: NFSPSettings) -> None:
        super().__init__(game, settings)
        network = Network(game.observed, settings.hidden, game.actions, 0)
        self.graph = self.policy_graph = nnx.split(network)[0]
        self.policy_steps = optax.adam(settings.policy_rate)
        self.q_steps = optax.adam(settings.q_rate)

    def begin(self) -> Learned:
        """A training that has just begun."""
        policy, q, luck = jax.random.split(jax.random.key(self.settings.seed), 3)
        of_policy, of_q = (nnx.split(self._network(key))[1] for key in (policy, q))
        steps = self.policy_steps.init(of_policy), self.q_steps.init(of_q)
        return Learned(
            Weights(of_policy, of_q, *steps), of_q, self._empty(self.settings.q_buffer),
            self._empty(self.settings.policy_buffer), luck, jnp.zeros((), jnp.int32),
        )  # fmt: skip

    def _network(self, seed: Any) -> Network:
        return Network(self.game.observed, self.settings.hidden, self.game.actions, seed)

    def _empty(self, size: int) -> Memory:
        seen = jnp.zeros((size, self.game.observed), jnp.float32)
        legal = jnp.zeros((size, self.game.actions), bool)
        zeros = jnp.zeros(size)
        rows = Decisions(seen, legal, zeros.astype(jnp.int32), zeros, seen, legal)
        return Memory(rows, jnp.zeros((), jnp.int32))

    def train(
        self, learned: Learned, matches: int, *, every: int = 100,
        progress: Callable[[Learned, Progress], None] | None = None,
    ) -> Learned:  # fmt: skip
        most = MOST_DECISIONS // self.game.longest
        if self.played(learned) + matches > most:
            raise CheaptalkError(
                f"a training of {self.game.rules.name} with these parameters takes up to {most:,} "
                "matches in all"
            )
        return super().train(learned, matches, every=every, progress=progress)

    def weights(self, learned: Learned) -> Any:
        return learned.weights.policy

    def probabilities(self, learned: Learned, seen: Any, legal: Any) -> Any:
        """What the average policy does; shape (..., actions)."""
        logits = nnx.merge(self.policy_graph, learned.weights.policy)(jnp.asarray(seen))
        return jax.nn.softmax(masked(logits, jnp.asarray(legal)), axis=-1)

    # One loop

    def _loop(self, learned: Learned) -> tuple[Learned, Array]:
        """Play matches, remember them, and learn."""
        key, played, kept, drawn = jax.random.split(learned.key, 4)
        rows, counts, best, returns = self._play(learned, played)
        newest = _put(learned.newest, rows, self._worthwhile(counts, best))
        reservoir = _keep(learned.best, rows, counts & best, kept)
        update = partial(self._update, learned.target, newest, reservoir)
        keys = jax.random.split(drawn, self.settings.updates)
        weights, losses = jax.lax.scan(update, learned.weights, keys)
        loops = learned.loops + 1
        renew = loops % self.settings.target == 0
        target = jax.tree.map(partial(jnp.where, renew), weights.q, learned.target)
        told = jnp.concatenate([losses.mean(axis=0), returns.mean(axis=0)])
        return Learned(weights, target, newest, reservoir, key, loops), told

    def _play(self, learned: Learned, key: Array) -> tuple[Decisions, Array, Array, Array]:
        """Play matches; all decisions, which of them there were, which were best responses'."""
        dealt, modes, steps = jax.random.split(key, 3)
        luck = jax.random.uniform(dealt, (self.settings.matches, self.game.luck))
        responds = self._modes(modes)

        def choose(player: Array, seen: Array, legal: Array, key: Array) -> tuple[Array, Array]:
            mode = picked(responds, player)
            return self._act(learned, seen, legal, mode, key), mode

        played = play(self.game, luck, choose, steps)
        rows = self._with_next(*played[:5], played.shares)
        return (*rows_of((rows, played.here, played.more)), played.returns)

    def _worthwhile(self, counts: Array, best: Array) -> Array:
        """Which decisions values are learned from: here all, whoever took them."""
        return counts

    def _modes(self, key: Array) -> Array:
        """Which players play the best response; shape (matches, players)."""
        shape = (self.settings.matches, len(self.game.players))
        return jax.random.uniform(key, shape) < self.settings.anticipatory

    def _act(self, learned: Learned, seen: Array, legal: Array, mode: Array, key: Array) -> Array:
        """An action each, in training."""
        return self._chosen(learned, seen, legal, mode, key, self.settings.exploration)

    def _chosen(
        self, learned: Learned, seen: Array, legal: Array, mode: Array, key: Array, explored: float
    ) -> Array:
        """An action each: of the best response or of the average policy, by the mode."""
        greedy, wild, averaged = jax.random.split(key, 3)
        q = masked(nnx.merge(self.graph, learned.weights.q)(seen), legal)
        explores = jax.random.uniform(greedy, mode.shape) < explored
        anything = jax.random.categorical(wild, masked(jnp.zeros_like(q), legal))
        best = jnp.where(explores, anything, q.argmax(axis=-1))
        logits = self._likely(learned, seen, legal)
        return jnp.where(mode, best, jax.random.categorical(averaged, logits))

    def _likely(self, learned: Learned, seen: Array, legal: Array) -> Array:
        """Logits by which the average policy plays."""
        return masked(nnx.merge(self.policy_graph, learned.weights.policy)(seen), legal)

    def _with_next(
        self, player: Array, seen: Array, legal: Array, action: Array, here: Array, shares: Array
    ) -> Decisions:
        """Decisions by step and match, with each player's next one, looked for from the end."""
        many = shares.shape[0]
        players = jnp.arange(shares.shape[1])
        none = (
            jnp.zeros((many, len(players), seen.shape[-1])),
            jnp.zeros((many, len(players), legal.shape[-1]), bool),
            jnp.zeros((many, len(players)), bool),
        )

        def back(after: Any, step: Any) -> tuple[Any, Any]:
            player, seen, legal, here = step
            own = players == player[:, None]
            at = player[:, None]
            next_seen = jnp.take_along_axis(after[0], at[..., None], axis=1)[:, 0]
            next_legal = jnp.take_along_axis(after[1], at[..., None], axis=1)[:, 0]
            goes_on = jnp.take_along_axis(after[2], at, axis=1)[:, 0]
            got = jnp.where(goes_on, 0.0, jnp.take_along_axis(shares, at, axis=1)[:, 0])
            new = own & here[:, None]
            after = (
                jnp.where(new[..., None], seen[:, None], after[0]),
                jnp.where(new[..., None], legal[:, None], after[1]),
                after[2] | new,
            )
            return after, (got, next_seen, next_legal & goes_on[:, None])

        _, (reward, after, later) = jax.lax.scan(
            back, none, (player, seen, legal, here), reverse=True
        )
        return Decisions(seen, legal, action, reward, after, later)

    def _update(
        self, target: Any, newest: Memory, best: Memory, weights: Weights, key: Array
    ) -> tuple[Weights, Array]:
        """An update of each network."""
        of_newest, of_best = jax.random.split(key)
        rows = drawn(newest, self.settings.batch, of_newest)
        q_loss, slope = jax.value_and_grad(self._q_loss)(weights.q, target, rows)
        change, q_steps = self.q_steps.update(slope, weights.q_steps)
        q = optax.apply_updates(weights.q, change)
        rows = drawn(best, self.settings.batch, of_best)
        policy_loss, slope = jax.value_and_grad(self._policy_loss)(weights.policy, rows)
        change, policy_steps = self.policy_steps.update(slope, weights.policy_steps)
        policy = optax.apply_updates(weights.policy, change)
        return Weights(policy, q, policy_steps, q_steps), jnp.stack([q_loss, policy_loss])

    def _q_loss(self, weights: Any, target: Any, rows: Decisions) -> Array:
        """Mean squared error of values against what was got, or is to be got from there on."""
        worth = nnx.merge(self.graph, weights)(rows.seen)
        taken = picked(worth, rows.action)
        ahead = masked(nnx.merge(self.graph, target)(rows.after), rows.later).max(axis=1)
        aim = rows.reward + jnp.where(rows.later.any(axis=1), ahead, 0.0)
        return ((taken - jax.lax.stop_gradient(aim)) ** 2).mean()

    def _policy_loss(self, weights: Any, rows: Decisions) -> Array:
        """Cross-entropy of the average policy to what best responses did."""
        logits = masked(nnx.merge(self.policy_graph, weights)(rows.seen), rows.legal)
        return optax.softmax_cross_entropy_with_integer_labels(logits, rows.action).mean()


def _put(memory: Memory, rows: Decisions, counts: Array) -> Memory:
    """Put decisions into a circular buffer, over the oldest."""
    size = memory.rows.action.shape[0]
    number = memory.count + jnp.cumsum(counts) - 1
    place = jnp.where(counts, number % size, size)
    return _written(memory, rows, counts, place)


def _keep(memory: Memory, rows: Decisions, counts: Array, key: Array) -> Memory:
    """Put decisions into a reservoir, in which each that ever was is as likely (Vitter 1985)."""
    size = memory.rows.action.shape[0]
    number = memory.count + jnp.cumsum(counts) - 1
    drawn = jnp.floor(jax.random.uniform(key, number.shape) * (number + 1)).astype(jnp.int32)
    place = jnp.where(number < size, number, drawn)
    return _written(memory, rows, counts, jnp.where(counts, place, size))


def _written(memory: Memory, rows: Decisions, counts: Array, place: Array) -> Memory:
    """Rows written to their places; those that are beyond the buffer are dropped.

    Of several for one place the last is written, whole.
    """
    size, number = memory.rows.action.shape[0], jnp.arange(place.shape[0])
    last = jnp.full(size, -1).at[place].max(number, mode="drop")
    place = jnp.where(last.at[place].get(mode="fill", fill_value=-1) == number, place, size)
    kept = jax.tree.map(
        lambda old, new: old.at[place].set(new.astype(old.dtype), mode="drop"), memory.rows, rows
    )
    return Memory(kept, memory.count + counts.sum(dtype=jnp.int32))


def drawn(memory: Memory, batch: int, key: Array) -> Decisions:
    """Decisions at random, with returning; empty ones of an empty buffer."""
    size = memory.rows.action.shape[0]
    there = jnp.maximum(jnp.minimum(memory.count, size), 1)
    at = jax.random.randint(key, (batch,), 0, there)
    rows: Decisions = jax.tree.map(lambda one: one[at], memory.rows)
    return rows
