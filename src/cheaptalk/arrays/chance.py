"""Random integers and choices, computed from numbers in [0, 1)."""

from typing import Any

from cheaptalk.arrays.games import Array, namespace
from cheaptalk.games.extras import needed

np = needed("numpy")

MAX_SEQUENTIAL = 16
"""The maximum count that is drawn one by one, which is faster than sorting but slower to compile.
"""


def draw_below(uniforms: Array, among: Any) -> Array:
    """Return uniform integers from 0 to a bound, exclusive; one per random number.

    Args:
        among: the bound, or one per random number.
    """
    xp = namespace(uniforms)
    return xp.minimum(xp.floor(uniforms * among).astype(np.int32), among - 1)


def pick(possible: Array, uniforms: Array) -> Array:
    """Return the index of a uniformly chosen possible option, or 0 if none is; shape (...).

    Args:
        possible: whether each option is possible, shape (..., options).
        uniforms: shape (...).
    """
    xp = namespace(possible)
    number = draw_below(uniforms, possible.sum(axis=-1))
    return xp.argmax(possible.astype(np.int32).cumsum(axis=-1) == number[..., None] + 1, axis=-1)


def uniform_count(count: int, among: int) -> int:
    """Return how many random numbers :func:`draw_distinct` uses."""
    return count if count <= MAX_SEQUENTIAL else among


def draw_distinct(uniforms: Array, count: int, among: int) -> Array:
    """Return different random integers below a bound, in random order; shape (..., count).

    Small counts are drawn one by one: a draw counts only the remaining numbers, so it is shifted
    past the earlier ones in ascending order. Large counts are drawn by sorting.

    Args:
        uniforms: shape (..., ``uniform_count(count, among)``).
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
    """Return ascending arrays with another one inserted elementwise."""
    result = []
    for item in ascending:
        result.append(xp.minimum(item, number))
        number = xp.maximum(item, number)
    return [*result, number]
