"""Probabilities rounded before they are played: the unlikely left out, the rest in equal parts."""

from typing import NamedTuple

from cheaptalk.arrays.games import Array, namespace


class Rounding(NamedTuple):
    """How probabilities are rounded (Perolat and others 2022, on fine-tuning).

    Attributes:
        threshold: actions that are less likely are left out, unless all are.
        bins: probabilities are multiples of one over this; 0 for no such rounding.
    """

    threshold: float = 0.0
    bins: int = 0

    def __call__(self, shares: Array) -> Array:
        """Probabilities, rounded; shape (..., actions) both."""
        return in_parts(without_unlikely(shares, self.threshold), self.bins)


AS_IT_IS = Rounding()


def without_unlikely(shares: Array, threshold: float) -> Array:
    """Probabilities of what is at least so likely; all of them where nothing is."""
    xp = namespace(shares)
    likely = shares >= threshold
    kept = xp.where(likely | ~likely.any(axis=-1, keepdims=True), shares, 0.0)
    return kept / kept.sum(axis=-1, keepdims=True)


def in_parts(shares: Array, bins: int) -> Array:
    """Probabilities as multiples of 1 / ``bins``.

    The likeliest action is rounded up, then the next, until all parts are given away; so what is
    least likely goes without.
    """
    if not bins:
        return shares
    xp = namespace(shares)
    order = xp.argsort(-shares, axis=-1, stable=True)
    wanted = xp.ceil(xp.take_along_axis(shares, order, axis=-1) * bins - TINY)
    upto = xp.minimum(xp.cumsum(wanted, axis=-1), bins)
    given = xp.diff(upto, axis=-1, prepend=xp.zeros_like(upto[..., :1]))
    back = xp.argsort(order, axis=-1, stable=True)
    return xp.take_along_axis(given, back, axis=-1) / bins


TINY = 1e-4
"""Parts below which nothing is rounded up: what floating point leaves of a multiple."""
