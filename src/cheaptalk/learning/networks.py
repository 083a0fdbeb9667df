"""Networks of policies and values: two dense layers, the second with a way around it."""

from typing import Any, Literal, TypeAlias

from cheaptalk.rules import CheaptalkError

try:
    import jax
    import jax.numpy as jnp
    import optax
    from flax import nnx
except ModuleNotFoundError as lacking:
    raise CheaptalkError(
        f'learning needs {lacking.name}: pip install "cheaptalk[learn]"; to play what was learned '
        "NumPy is enough"
    ) from lacking

__all__ = [
    "LOW", "Actor", "Array", "Device", "Network", "device_of", "jax", "jnp", "masked", "nnx",
    "optax",
]  # fmt: skip

Array: TypeAlias = Any
Device: TypeAlias = Literal["auto", "cpu", "gpu"]
LOW = -1e9
"""What stands for actions that are not legal, before probabilities are made of numbers."""


class Network(nnx.Module):
    """Numbers for each action, from observations.

    A dense layer, ReLU, another dense layer with ReLU that is added to what goes in, and a head:
    the form of the paper's released policies.

    Args:
        observed: numbers of an observation.
        hidden: width of both layers.
        actions: how many there are.
        seed: of the first weights.
    """

    def __init__(self, observed: int, hidden: int, actions: int, seed: Any) -> None:
        rngs = nnx.Rngs(seed)
        self.first = nnx.Linear(observed, hidden, rngs=rngs)
        self.second = nnx.Linear(hidden, hidden, rngs=rngs)
        self.head = nnx.Linear(hidden, actions, rngs=rngs)

    def inner(self, seen: Array) -> Array:
        """What the head makes its numbers of; shape (..., hidden)."""
        first = nnx.relu(self.first(seen))
        return first + nnx.relu(self.second(first))

    def __call__(self, seen: Array) -> Array:
        return self.head(self.inner(seen))


class Actor(Network):
    """A policy, with a second head that says what its player will get.

    Args: as of :class:`Network`.
    """

    def __init__(self, observed: int, hidden: int, actions: int, seed: Any) -> None:
        super().__init__(observed, hidden, actions, seed)
        self.value = nnx.Linear(hidden, 1, rngs=nnx.Rngs(seed))

    def both(self, seen: Array) -> tuple[Array, Array]:
        """Numbers for each action, and what the player will get; shapes (..., actions), (...)."""
        inner = self.inner(seen)
        return self.head(inner), self.value(inner)[..., 0]

    def worth(self, seen: Array) -> Array:
        """What the player will get, alone; shape (...)."""
        return self.value(self.inner(seen))[..., 0]


def masked(numbers: Array, legal: Array) -> Array:
    """Numbers with those of illegal actions so low that they count for nothing."""
    return jnp.where(legal, numbers, LOW)


def device_of(named: Device) -> Any:
    """The device to learn on: with ``auto`` the fastest kind that there is.

    Raises:
        CheaptalkError: there is none of this kind.
    """
    try:
        return jax.devices(None if named == "auto" else named)[0]
    except RuntimeError:
        there = ", ".join(sorted({one.platform for one in jax.devices()}))
        raise CheaptalkError(
            f"JAX finds no {named} here, only {there}; take --device auto, or install JAX for it"
        ) from None
