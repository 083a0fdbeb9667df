"""Random integers and choices, computed from numbers in [0, 1)."""

from typing import Any

from cheaptalk.arrays.games import Array, namespace
from cheaptalk.games.extras import needed

np = needed("numpy")

MAX_SEQUENTIAL = 16
"""Maximum count of sequential draws, which are faster than sorting but take longer to compile."""


def draw_below(uniforms: Array, among: Any) -> Array:
    """Convert each random number in [0, 1) to a uniform integer from 0 to ``among`` - 1."""
    xp = namespace(uniforms)
    return xp.minimum(xp.floor(uniforms * among).astype(np.int32), among - 1)


def pick(possible: Array, uniforms: Array) -> Array:
    """Return the index of a random possible option, or 0 if no option is possible; shape (...).

    Args:
        possible: whether each option is possible, shape (..., options).
        uniforms: random numbers, shape (...).
    """
    xp = namespace(possible)
    number = draw_below(uniforms, possible.sum(axis=-1))
    return xp.argmax(possible.astype(np.int32).cumsum(axis=-1) == number[..., None] + 1, axis=-1)


def uniform_count(count: int, among: int) -> int:
    """Return the number of random numbers that :func:`draw_distinct` needs."""
    return count if count <= MAX_SEQUENTIAL else among


def draw_distinct(uniforms: Array, count: int, among: int) -> Array:
    """Return ``count`` distinct integers from 0 to ``among`` - 1, in random order.

    Small counts are drawn sequentially: each draw is an index among the remaining integers, from
    which the integer follows by a comparison with all earlier integers. Large counts are drawn by
    sorting.

    Args:
        uniforms: random numbers, shape (..., ``uniform_count(count, among)``).

    Returns:
        Integers, shape (..., count).
    """
    xp = namespace(uniforms)
    if count > MAX_SEQUENTIAL:
        return xp.argsort(uniforms, axis=-1)[..., :count]
    numbers: list[Array] = []
    ascending: list[Array] = []
    for position in range(count):
        number = draw_below(uniforms[..., position], among - position)
        for earlier_number in ascending:
            number = number + (number >= earlier_number)
        numbers.append(number)
        ascending = _inserted(xp, ascending, number)
    return xp.stack(numbers, axis=-1)


def _inserted(xp: Any, ascending: list[Array], number: Array) -> list[Array]:
    """Insert an array into arrays that are sorted elementwise, and return the sorted arrays."""
    result = []
    for item in ascending:
        result.append(xp.minimum(item, number))
        number = xp.maximum(item, number)
    return [*result, number]
