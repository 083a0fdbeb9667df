"""The common interface of algorithms that learn to play array games, and their registry.

An algorithm is a :class:`Training` with a ``_loop`` that plays and learns. This module does the
rest: it compiles loops together, reports their metrics, and stops when numbers aren't finite.
Algorithms are found by name in ``ALGORITHMS``.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

from pydantic import Field

from cheaptalk.arrays.games import ArrayGame
from cheaptalk.games.extras import needed
from cheaptalk.learning.acting import Choose, Played, play
from cheaptalk.learning.networks import Array, Network, jax, jnp, masked, nnx
from cheaptalk.learning.policy import RESIDUAL, Policy
from cheaptalk.learning.rounding import Rounding
from cheaptalk.rules import CheaptalkError, Value
from cheaptalk.rules.registry import Registry, subclasses

np = needed("numpy")


class Settings(Value):
    """Settings that all learning algorithms share."""

    matches: int = Field(default=256, ge=1)
    """Matches per loop."""
    seed: int = 0
    """Seed of all random numbers of a training."""
    threshold: float = Field(default=0.0, ge=0, lt=1)
    """Actions with a lower probability are removed from the saved policy."""
    bins: int = Field(default=0, ge=0)
    """The saved policy's probabilities are multiples of 1 / ``bins``; 0 for no rounding."""


class Standing(Protocol):
    """The state of a training run in progress."""

    @property
    def loops(self) -> Array:
        """The number of completed loops of playing and learning."""


S = TypeVar("S", bound=Settings)
L = TypeVar("L", bound=Standing)


class Progress(NamedTuple):
    """The progress of a training run, as means over the loops since the last report.

    Attributes:
        metrics: values by name; the algorithm's ``metrics`` describes them.
        returns: the players' payoffs, in the game's unit.
        gains: the gain of a best response in each seat with its standard error, in the same unit;
            empty without an evaluation.
    """

    matches: int
    metrics: dict[str, float]
    returns: tuple[float, ...]
    gains: tuple[tuple[float, float], ...] = ()

    def written(self) -> dict[str, Any]:
        """Return the progress as a flat mapping for a log."""
        optional = {"gains": [list(gain) for gain in self.gains]} if self.gains else {}
        return {"matches": self.matches, **self.metrics, "returns": list(self.returns), **optional}

    def numbers(self) -> dict[str, float]:
        """Return all values, except the number of matches, by name; seats are counted from 1."""
        result = dict(self.metrics)
        for seat, payoff in enumerate(self.returns, start=1):
            result[f"returns/player_{seat}"] = payoff
        for seat, (gain, _) in enumerate(self.gains, start=1):
            result[f"gains/player_{seat}"] = gain
        return result


class Diverged(CheaptalkError):
    """Raised if a loss or weight is no longer finite."""


class Training(ABC, Generic[S, L]):
    """A training run of a learning algorithm on a game.

    Attributes:
        metrics: descriptions of its metrics by name.
        network: the name in :data:`.NETWORKS` of the network that it trains. If that isn't a
            :class:`.Network`, register a :class:`.PolicyNetwork` that plays its policies.
    """

    name: ClassVar[str]
    network: ClassVar[str] = RESIDUAL
    options: ClassVar[type[Settings]]
    metrics: ClassVar[Mapping[str, str]]

    def __init__(self, game: ArrayGame[Any, Any], settings: S) -> None:
        self.game = game
        self.settings = settings
        self._run = jax.jit(self._loops)

    @abstractmethod
    def begin(self) -> L:
        """Return the initial state of the training run."""

    @abstractmethod
    def weights(self, learned: L) -> Any:
        """Return the weights of the learned policy."""

    @abstractmethod
    def _loop(self, learned: L) -> tuple[L, Array]:
        """Play a batch and update once; return the new state, and metrics with payoffs appended."""

    def rounding(self, learned: L) -> Rounding:
        """Return the rule by which the policy's probabilities are rounded before play."""
        return Rounding(self.settings.threshold, self.settings.bins)

    def played(self, learned: L) -> int:
        return int(learned.loops) * self.settings.matches

    def train(
        self,
        learned: L,
        matches: int,
        *,
        every: int = 100,
        progress: Callable[[L, Progress], None] | None = None,
    ) -> L:
        """Train for at least the given number of additional matches.

        Args:
            every: loops between calls of ``progress``.

        Raises:
            Diverged: a loss or weight isn't finite; ``progress`` received the last finite state.
        """
        end = int(learned.loops) + -(-matches // self.settings.matches)
        while int(learned.loops) < end:
            learned, means, sound = self._run(learned, min(every, end - int(learned.loops)))
            numbers = [float(mean) for mean in means]
            metrics = dict(zip(self.metrics, numbers, strict=False))
            if not sound:
                details = ", ".join(f"{name} {value:.3g}" for name, value in metrics.items())
                raise Diverged(
                    f"the losses or weights are not finite after {self.played(learned):,} matches "
                    f"({details}); lower the learning rate"
                )
            if progress:
                returns = tuple(numbers[len(metrics) :])
                progress(learned, Progress(self.played(learned), metrics, returns))
        return learned

    def policy(self, learned: L, **about: Any) -> Policy:
        """Return the learned policy, which can play matches and be written to a file."""
        arrays = nnx.to_flat_state(self.weights(learned))
        weights = {".".join(map(str, path)): np.asarray(array) for path, array in arrays}
        metadata = {
            "algorithm": self.name,
            "matches": self.played(learned),
            "settings": self.settings.model_dump(mode="json"),
        }
        return Policy(self.game, weights, metadata | about, self.rounding(learned), self.network)

    def _loops(self, learned: L, count: Array) -> tuple[L, Array, Array]:
        """Run ``count`` loops; return the state, the mean metrics, and whether all are finite."""

        def loop(_: Array, state: tuple[L, Array]) -> tuple[L, Array]:
            learned, means = self._loop(state[0])
            return learned, state[1] + means

        zeros = jnp.zeros(len(self.metrics) + len(self.game.players))
        learned, total = jax.lax.fori_loop(0, count, loop, (learned, zeros))
        arrays = [total, *jax.tree.leaves(self.weights(learned))]
        sound = jnp.stack([jnp.isfinite(array).all() for array in arrays]).all()
        return learned, total / count, sound


class BatchTraining(Training[S, L]):
    """A training that plays a batch of matches in each loop, and then learns from the batch.

    Attributes:
        keys: the number of random keys of a loop, including the key of later loops.
    """

    keys: ClassVar[int]

    def __init__(self, game: ArrayGame[Any, Any], settings: S) -> None:
        super().__init__(game, settings)
        self.graph = nnx.split(self._network(0))[0]

    @abstractmethod
    def _network(self, seed: Any) -> Network:
        """Return a network with random weights."""

    @abstractmethod
    def _actor(self, learned: L) -> Any:
        """Return the weights of the network that computes the learned policy."""

    @abstractmethod
    def _choices(self, learned: L, keys: Sequence[Array]) -> tuple[Array, Choose, Array]:
        """Return the random key of the instances, the players' choice, and the key of matches."""

    @abstractmethod
    def _learn(self, learned: L, played: Played, keys: Sequence[Array]) -> tuple[L, Array]:
        """Update the state once; return the new state, and the metrics."""

    def weights(self, learned: L) -> Any:
        arrays = nnx.to_flat_state(self._actor(learned))
        return nnx.from_flat_state([(path, array) for path, array in arrays if path[0] != "value"])

    def probabilities(self, learned: L, seen: Any, legal: Any) -> Any:
        """Return the policy's action probabilities before rounding; shape (..., actions)."""
        logits = self._net(self._actor(learned))(jnp.asarray(seen))
        return jax.nn.softmax(masked(logits, jnp.asarray(legal)), axis=-1)

    def _net(self, weights: Any) -> Any:
        return nnx.merge(self.graph, weights)

    def _play(self, learned: L, keys: Sequence[Array]) -> Played:
        instance_key, choose, play_key = self._choices(learned, keys)
        draws = jax.random.uniform(instance_key, (self.settings.matches, self.game.uniforms))
        return play(self.game, draws, choose, play_key)

    def _loop(self, learned: Any) -> tuple[L, Array]:
        key, *keys = jax.random.split(learned.key, self.keys)
        played = self._play(learned, keys)
        learned, metrics = self._learn(learned, played, keys)
        means = jnp.concatenate([metrics, played.returns.mean(axis=0)])
        return learned._replace(key=key, loops=learned.loops + 1), means


ALGORITHMS: Registry[type[Training[Any, Any]]] = Registry(
    "learning algorithm", "cheaptalk.algorithms", subclasses(Training)
)
"""The algorithms by name."""
