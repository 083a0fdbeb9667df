"""Networks of policies and values: two dense layers, the second with a way around it."""

from typing import Any, TypeAlias

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

__all__ = ["LOW", "Array", "Network", "jax", "jnp", "masked", "nnx", "optax"]

Array: TypeAlias = Any
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

    def __call__(self, seen: Array) -> Array:
        inner = nnx.relu(self.first(seen))
        return self.head(inner + nnx.relu(self.second(inner)))


def masked(numbers: Array, legal: Array) -> Array:
    """Numbers with those of illegal actions so low that they count for nothing."""
    return jnp.where(legal, numbers, LOW)
