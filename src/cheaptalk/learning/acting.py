"""Whole matches played at once, as the algorithms learn from them."""

from collections.abc import Callable
from typing import Any, NamedTuple

from cheaptalk.arrays.games import ArrayGame
from cheaptalk.learning.networks import Array, jax, jnp


class Played(NamedTuple):
    """Matches that were played to their ends. Leading axes are steps and matches.

    Attributes:
        player, seen, legal, action: whose turn it was, what it knew, could do and did.
        here: whether there was such a step; a match that has ended has none.
        more: what the players told of their choices besides.
        returns: what the players got, in the unit of the game; shape (matches, players).
        shares: the same divided by the game's scale, as it is learned from.
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
"""From whose turn it is, observations, legal actions and a key: actions, and what is told
besides."""


def play(game: ArrayGame[Any, Any], luck: Array, choose: Choose, key: Array) -> Played:
    """Play matches.

    Args:
        luck: of the deals, in [0, 1); shape (matches, ``game.luck``).
        key: of all luck after these.
    """
    state = game.deal(luck)

    def step(state: Any, key: Array) -> tuple[Any, Any]:
        player, legal = game.turn(state), game.legal(state)
        seen, here = game.observe(state, player), ~game.over(state)
        action, more = choose(player, seen, legal, key)
        return game.step(state, action), (player, seen, legal, action, here, more)

    state, taken = jax.lax.scan(step, state, jax.random.split(key, game.longest))
    player, seen, legal, action, here, more = taken
    returns = game.returns(state)
    shares = returns / game.scale(state)
    return Played(player, seen, legal, action, here, more, returns, shares)


def rows_of(by_step: Any) -> Any:
    """Arrays whose leading axes are steps and matches, with one axis for both."""
    return jax.tree.map(lambda one: one.reshape(-1, *one.shape[2:]), by_step)


def picked(numbers: Array, place: Array) -> Array:
    """The number at a place each; shapes (..., places), (...) and (...)."""
    return jnp.take_along_axis(numbers, place[..., None], axis=-1)[..., 0]


def by_lot(shares: Array, luck: Array) -> Array:
    """An action each, as likely as its share says; shape (...).

    Args:
        shares: shape (..., actions), of any sum above 0.
        luck: in [0, 1); shape (...).
    """
    upto = jnp.cumsum(shares, axis=-1)
    total = upto[..., -1:]
    return ((upto <= luck[..., None] * total) & (upto < total)).sum(axis=-1)


def likeliest(shares: Array, count: int) -> Array:
    """The likeliest actions, first ones first, as :func:`.rounding.likeliest`; JAX sorts slowly."""
    return jax.lax.top_k(shares, count)[1]
