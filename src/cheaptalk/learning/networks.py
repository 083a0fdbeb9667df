"""Networks of policies and values: two dense layers, the second with a residual connection."""

from typing import Any, Literal, TypeAlias

from cheaptalk.rules import CheaptalkError

try:
    import jax
    import jax.numpy as jnp
    import optax
    from flax import nnx
except ModuleNotFoundError as error:
    raise CheaptalkError(
        f'learning needs {error.name}: pip install "cheaptalk[learn]"; playing a learned policy '
        "needs only NumPy"
    ) from error

__all__ = ["LOW", "Actor", "Array", "Device", "Network", "device_of", "jax", "jnp", "masked"]
__all__ += ["nnx", "optax"]

Array: TypeAlias = Any
Device: TypeAlias = Literal["auto", "cpu", "gpu"]
LOW = -1e9
"""The logit of illegal actions."""


class Network(nnx.Module):
    """A network from observations to the logits of actions.

    A dense layer with ReLU, a residual dense layer with ReLU, and a head, as in the paper's
    released policies.
    """

    def __init__(self, observed: int, hidden: int, actions: int, seed: Any) -> None:
        rngs = nnx.Rngs(seed)
        self.first = nnx.Linear(observed, hidden, rngs=rngs)
        self.second = nnx.Linear(hidden, hidden, rngs=rngs)
        self.head = nnx.Linear(hidden, actions, rngs=rngs)

    def inner(self, observations: Array) -> Array:
        """Return the hidden features from which the output is computed, shape (..., hidden)."""
        output = nnx.relu(self.first(observations))
        return output + nnx.relu(self.second(output))

    def __call__(self, observations: Array) -> Array:
        return self.head(self.inner(observations))


class Actor(Network):
    """A :class:`Network` with a second head for the player's expected payoff."""

    def __init__(self, observed: int, hidden: int, actions: int, seed: Any) -> None:
        super().__init__(observed, hidden, actions, seed)
        self.value = nnx.Linear(hidden, 1, rngs=nnx.Rngs(seed))

    def both(self, observations: Array) -> tuple[Array, Array]:
        """Return the logits, shape (..., actions), and the expected payoff, shape (...)."""
        inner = self.inner(observations)
        return self.head(inner), self.value(inner)[..., 0]

    def worth(self, observations: Array) -> Array:
        """Return the acting player's expected payoff; shape (...)."""
        return self.value(self.inner(observations))[..., 0]


def masked(numbers: Array, legal: Array) -> Array:
    """Replace the logits of illegal actions by a very low number."""
    return jnp.where(legal, numbers, LOW)


def device_of(kind: Device) -> Any:
    """Return the device to train on; ``auto`` selects the fastest kind available."""
    try:
        return jax.devices(None if kind == "auto" else kind)[0]
    except RuntimeError:
        available = ", ".join(sorted({device.platform for device in jax.devices()}))
        raise CheaptalkError(
            f"JAX found only {available}, no {kind}; use the device auto, or install JAX for it"
        ) from None
