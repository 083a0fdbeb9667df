"""Batches of complete matches for learning algorithms."""

from collections.abc import Callable
from typing import Any, NamedTuple

from cheaptalk.arrays.games import ArrayGame
from cheaptalk.learning.networks import Array, jax, jnp


class Played(NamedTuple):
    """A batch of complete matches, whose leading axes are steps and matches.

    Attributes:
        here: whether the step exists; False after a match has ended.
        more: additional values returned with the actions.
        returns: the players' payoffs, in the game's unit; shape (matches, players).
        shares: the payoffs divided by the game's scale, for learning.
    """

    player: Array
    seen: Array
    legal: Array
    action: Array
    here: Array
    more: Any
    returns: Array
    shares: Array


Choose = Callable[[Array, Array, Array, Array], tuple[Array, Any]]
"""Function from acting player, observations, legal actions and key to actions and further
values."""


def play(game: ArrayGame[Any, Any], draws: Array, choose: Choose, key: Array) -> Played:
    """Play complete matches.

    Args:
        draws: uniform random numbers of the instances, in [0, 1); shape (matches, game.uniforms).
        key: the random key of all other draws.
    """
    state = game.draw_instance(draws)

    def step(state: Any, key: Array) -> tuple[Any, Any]:
        player, legal = game.turn(state), game.legal(state)
        seen, here = game.observe(state, player), ~game.over(state)
        action, more = choose(player, seen, legal, key)
        return game.step(state, action), (player, seen, legal, action, here, more)

    state, steps = jax.lax.scan(step, state, jax.random.split(key, game.longest))
    player, seen, legal, action, here, more = steps
    returns = game.returns(state)
    shares = returns / game.scale(state)
    return Played(player, seen, legal, action, here, more, returns, shares)


def rows_of(by_step: Any) -> Any:
    """Merge the two leading axes of arrays, steps and matches, into one."""
    return jax.tree.map(lambda array: array.reshape(-1, *array.shape[2:]), by_step)


def picked(numbers: Array, index: Array) -> Array:
    """Select one number along the last axis; shapes: ``numbers`` (..., n), ``index`` (...)."""
    return jnp.take_along_axis(numbers, index[..., None], axis=-1)[..., 0]


def by_lot(shares: Array, draws: Array) -> Array:
    """Draw actions with probabilities proportional to ``shares``; ``draws`` are in [0, 1)."""
    cumulative = jnp.cumsum(shares, axis=-1)
    total = cumulative[..., -1:]
    return ((cumulative <= draws[..., None] * total) & (cumulative < total)).sum(axis=-1)


def likeliest(shares: Array, count: int) -> Array:
    """Return the indices of the most likely actions, computed with JAX, shape (..., count)."""
    return jax.lax.top_k(shares, count)[1]
