"""Probabilities rounded before they are played: the unlikely left out, the rest in equal parts."""

from collections.abc import Callable
from typing import NamedTuple

from cheaptalk.arrays.games import Array, namespace

TINY = 1e-4
"""Parts below which nothing is rounded up: what floating point leaves of a multiple."""


def likeliest(shares: Array, count: int) -> Array:
    """The likeliest actions, first ones first; shape (..., count)."""
    return namespace(shares).argsort(-shares, axis=-1, stable=True)[..., :count]


class Rounding(NamedTuple):
    """How probabilities are rounded (Perolat and others 2022, on fine-tuning).

    Attributes:
        threshold: actions that are less likely are left out, unless all are.
        bins: probabilities are multiples of one over this; 0 for no such rounding.
    """

    threshold: float = 0.0
    bins: int = 0

    def __call__(self, shares: Array, ordered: Callable[[Array, int], Array] = likeliest) -> Array:
        """Probabilities, rounded; shape (..., actions) both.

        Args:
            ordered: something faster that does as :func:`likeliest` does.
        """
        kept = without_unlikely(shares, self.threshold)
        return in_parts(kept, self.bins, ordered) if self.bins else kept


AS_IT_IS = Rounding()


def without_unlikely(shares: Array, threshold: float) -> Array:
    """Probabilities of what is at least so likely; all of them where nothing is."""
    xp = namespace(shares)
    likely = shares >= threshold
    kept = xp.where(likely | ~likely.any(axis=-1, keepdims=True), shares, 0.0)
    return kept / kept.sum(axis=-1, keepdims=True)


def in_parts(shares: Array, bins: int, ordered: Callable[[Array, int], Array]) -> Array:
    """Probabilities as multiples of 1 / ``bins``.

    The likeliest action is rounded up, then the next, until all parts are given away; so what is
    least likely goes without, and no more than ``bins`` get any.
    """
    xp, actions = namespace(shares), shares.shape[-1]
    order = ordered(shares, min(bins, actions))
    wanted = xp.ceil(xp.take_along_axis(shares, order, axis=-1) * bins - TINY)
    upto = xp.minimum(xp.cumsum(wanted, axis=-1), bins)
    given = xp.diff(upto, axis=-1, prepend=xp.zeros_like(upto[..., :1]))
    mine = order[..., None] == xp.arange(actions)
    return (given[..., None] * mine).sum(axis=-2) / bins
