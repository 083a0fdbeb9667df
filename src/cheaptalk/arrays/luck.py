"""What luck decides: whole numbers, and which of several things, from numbers in [0, 1)."""

from typing import Any

from cheaptalk.arrays.games import Array, namespace
from cheaptalk.games.extras import needed

np = needed("numpy")

FEW = 16
"""Numbers up to which they are drawn one by one, which is faster than to sort; a program of more
would take long to compile."""


def below(luck: Array, among: Any) -> Array:
    """Whole numbers from 0 and below another, all as likely; one for each number of luck.

    Args:
        among: that other number, or one for each.
    """
    xp = namespace(luck)
    return xp.minimum(xp.floor(luck * among).astype(np.int32), among - 1)


def picked(possible: Array, luck: Array) -> Array:
    """One of what is possible each, all as likely: its number; 0 where nothing is. Shape (...).

    Args:
        possible: which are, shape (..., things).
        luck: shape (...).
    """
    xp = namespace(possible)
    number = below(luck, possible.sum(axis=-1))
    return xp.argmax(possible.astype(np.int32).cumsum(axis=-1) == number[..., None] + 1, axis=-1)


def luck_of(count: int, among: int) -> int:
    """How many numbers of luck :func:`different` takes."""
    return count if count <= FEW else among


def different(luck: Array, count: int, among: int) -> Array:
    """Different whole numbers below another, in any order, all as likely; shape (..., count).

    A few are drawn one after the other: each counts only those that are left, so that it is moved
    up past those drawn before, from the least on. Many are drawn by sorting.

    Args:
        luck: shape (..., ``luck_of(count, among)``).
    """
    xp = namespace(luck)
    if count > FEW:
        return xp.argsort(luck, axis=-1)[..., :count]
    found: list[Array] = []
    ascending: list[Array] = []
    for at in range(count):
        number = below(luck[..., at], among - at)
        for one in ascending:
            number = number + (number >= one)
        found.append(number)
        ascending = _inserted(xp, ascending, number)
    return xp.stack(found, axis=-1)


def _inserted(xp: Any, ascending: list[Array], number: Array) -> list[Array]:
    """Arrays that rise from one to the next, and another one among them."""
    found = []
    for one in ascending:
        found.append(xp.minimum(one, number))
        number = xp.maximum(one, number)
    return [*found, number]
