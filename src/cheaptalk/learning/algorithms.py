"""What algorithms have in common that learn to play array games, and which there are.

An algorithm is a :class:`Training` with a ``_loop`` that plays and learns; all that surrounds it is
here: loops are compiled together, what they tell is looked at, and numbers that are none end the
training. It is found by its name among ``ALGORITHMS``.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

from pydantic import Field

from cheaptalk.arrays.games import ArrayGame
from cheaptalk.games.extras import needed
from cheaptalk.learning.networks import Array, jax, jnp, nnx
from cheaptalk.learning.policy import RESIDUAL, Policy
from cheaptalk.learning.rounding import Rounding
from cheaptalk.rules import CheaptalkError, Value
from cheaptalk.rules.registry import Registry

np = needed("numpy")


class Settings(Value):
    """Settings that all algorithms have."""

    matches: int = Field(default=256, ge=1)
    """Matches of a loop."""
    seed: int = 0
    """All luck of a training comes from it."""
    threshold: float = Field(default=0.0, ge=0, lt=1)
    """What is less likely is left out of the policy that is written."""
    bins: int = Field(default=0, ge=0)
    """Probabilities of that policy are multiples of one over this; 0 for any."""


class Standing(Protocol):
    """A training as it stands."""

    @property
    def loops(self) -> Array:
        """Loops that were done."""


S = TypeVar("S", bound=Settings)
L = TypeVar("L", bound=Standing)


class Progress(NamedTuple):
    """How a training goes, as means over the loops since the last one.

    Attributes:
        matches: played so far.
        metrics: by the names of the algorithm's ``metrics``, which say what each means.
        returns: what the players got, in the unit of the game.
        gains: what could be gained against the policy in each seat, with the standard error, in
            the same unit; empty where nobody has looked.
    """

    matches: int
    metrics: dict[str, float]
    returns: tuple[float, ...]
    gains: tuple[tuple[float, float], ...] = ()

    def written(self) -> dict[str, Any]:
        """As one flat mapping."""
        found = {"gains": [list(one) for one in self.gains]} if self.gains else {}
        return {"matches": self.matches, **self.metrics, "returns": list(self.returns), **found}

    def numbers(self) -> dict[str, float]:
        """All but the matches, as one number each, seats counted from 1: for a tracker."""
        found = dict(self.metrics)
        for seat, got in enumerate(self.returns, start=1):
            found[f"returns/player_{seat}"] = got
        for seat, (gain, _) in enumerate(self.gains, start=1):
            found[f"gains/player_{seat}"] = gain
        return found


class Diverged(CheaptalkError):
    """A loss is no number any more."""


class Training(ABC, Generic[S, L]):
    """A training of a game by an algorithm.

    Args:
        game: what is played.
        settings: of the algorithm.

    Attributes:
        name: of the algorithm.
        options: the kind of its settings.
        metrics: what is told as it goes, and what each of these means.
        network: the name among :data:`.NETWORKS` of the network that it trains; another one than
            :class:`.Network` needs a :class:`.PolicyNetwork` of its own, by which its policies
            play.
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
        """A training that has just begun."""

    @abstractmethod
    def weights(self, learned: L) -> Any:
        """The weights of the policy that is learned."""

    @abstractmethod
    def _loop(self, learned: L) -> tuple[L, Array]:
        """Play and learn once; what is told are the metrics and what players got, in order."""

    def rounding(self, learned: L) -> Rounding:
        """How the probabilities of the policy are rounded before it plays."""
        return Rounding(self.settings.threshold, self.settings.bins)

    def played(self, learned: L) -> int:
        """Matches that were played so far."""
        return int(learned.loops) * self.settings.matches

    def train(
        self, learned: L, matches: int, *, every: int = 100,
        progress: Callable[[L, Progress], None] | None = None,
    ) -> L:  # fmt: skip
        """Train for at least so many matches more.

        Args:
            every: loops after which ``progress`` is called.

        Raises:
            Diverged: a loss or a weight is no number; what was learned before is what ``progress``
                saw last.
        """
        end = int(learned.loops) + -(-matches // self.settings.matches)
        while int(learned.loops) < end:
            learned, means, sound = self._run(learned, min(every, end - int(learned.loops)))
            found = [float(one) for one in means]
            metrics = dict(zip(self.metrics, found, strict=False))
            if not sound:
                told = ", ".join(f"{name} {value:.3g}" for name, value in metrics.items())
                raise Diverged(
                    f"the losses or weights are no numbers after {self.played(learned):,} matches "
                    f"({told}); take a lower rate"
                )
            if progress:
                returns = tuple(found[len(metrics) :])
                progress(learned, Progress(self.played(learned), metrics, returns))
        return learned

    def policy(self, learned: L, **about: Any) -> Policy:
        """What was learned, to be written to a file and to sit at tables.

        Args:
            about: what is to be known of its making besides.
        """
        found = nnx.to_flat_state(self.weights(learned))
        weights = {".".join(map(str, path)): np.asarray(one) for path, one in found}
        told = {
            "algorithm": self.name, "matches": self.played(learned),
            "settings": self.settings.model_dump(mode="json"),
        }  # fmt: skip
        return Policy(self.game, weights, told | about, self.rounding(learned), self.network)

    def _loops(self, learned: L, count: Array) -> tuple[L, Array, Array]:
        """So many loops, the means of what they tell, and whether all are numbers."""

        def loop(_: Array, gone: tuple[L, Array]) -> tuple[L, Array]:
            learned, told = self._loop(gone[0])
            return learned, gone[1] + told

        nothing = jnp.zeros(len(self.metrics) + len(self.game.players))
        learned, total = jax.lax.fori_loop(0, count, loop, (learned, nothing))
        kept = [total, *jax.tree.leaves(self.weights(learned))]
        sound = jnp.stack([jnp.isfinite(one).all() for one in kept]).all()
        return learned, total / count, sound


def _is_algorithm(thing: object) -> bool:
    return isinstance(thing, type) and issubclass(thing, Training)


ALGORITHMS: Registry[type[Training[Any, Any]]] = Registry(
    "learning algorithm", "cheaptalk.algorithms", _is_algorithm
)
"""The algorithms by their names."""
