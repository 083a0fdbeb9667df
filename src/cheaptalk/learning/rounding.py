"""Rounding of probabilities before play: drop unlikely actions, round the rest to multiples."""

from collections.abc import Callable
from typing import Annotated

from msgspec import Meta, Struct

from cheaptalk.arrays.games import Array, namespace

TINY = 1e-4
"""Tolerance for floating-point errors when rounding up."""


def likeliest(shares: Array, count: int) -> Array:
    """Return the indices of the most likely actions, shape (..., count)."""
    return namespace(shares).argsort(-shares, axis=-1, stable=True)[..., :count]


class Rounding(Struct, frozen=True):
    """A rule for rounding action probabilities (Perolat and others 2022, on fine-tuning).

    Attributes:
        threshold: actions below this probability are dropped, unless all are.
        bins: probabilities are multiples of 1 / ``bins``; 0 for no rounding.
    """

    threshold: Annotated[float, Meta(ge=0, lt=1)] = 0.0
    bins: Annotated[int, Meta(ge=0)] = 0

    def __call__(self, shares: Array, ordered: Callable[[Array, int], Array] = likeliest) -> Array:
        """Round probabilities; ``ordered`` ranks the actions, by default with :func:`likeliest`."""
        likely = shares >= self.threshold
        kept = likely | ~likely.any(axis=-1, keepdims=True)
        shares = namespace(shares).where(kept, shares, 0.0)
        shares = shares / shares.sum(axis=-1, keepdims=True)
        return in_parts(shares, self.bins, ordered) if self.bins else shares


AS_IT_IS = Rounding()


def in_parts(shares: Array, bins: int, ordered: Callable[[Array, int], Array]) -> Array:
    """Round probabilities to multiples of 1 / ``bins``.

    The most likely action is rounded up, then the next, until all parts are assigned; the least
    likely actions get none.
    """
    xp, actions = namespace(shares), shares.shape[-1]
    order = ordered(shares, min(bins, actions))
    requested = xp.ceil(xp.take_along_axis(shares, order, axis=-1) * bins - TINY)
    total = xp.minimum(xp.cumsum(requested, axis=-1), bins)
    parts = xp.diff(total, axis=-1, prepend=xp.zeros_like(total[..., :1]))
    is_action = order[..., None] == xp.arange(actions)
    return (parts[..., None] * is_action).sum(axis=-2) / bins
