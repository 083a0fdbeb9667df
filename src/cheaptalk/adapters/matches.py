"""Single matches of array games, as libraries of games step through them."""

from collections.abc import Mapping
from typing import Any

from cheaptalk.arrays import ArrayGame, array_game
from cheaptalk.rules import Chance, game_box
from cheaptalk.rules.errors import legal


def arrays_of(game: str, parameters: Mapping[str, Any] | None) -> ArrayGame[Any, Any]:
    """A game as array functions, as study files write games.

    Raises:
        UnknownName: there is no such game, or no array game plays it.
        NotArrayed: none plays it with its parameters.
        CheaptalkError: a parameter is wrong.
    """
    return array_game(legal(game_box(game).rules, parameters or {}))


def begun(game: ArrayGame[Any, Any], seed: str) -> Any:
    """A match in an axis of its own, dealt and drawn as at a table under this seed."""
    dealt = game.of_deals([game.rules.dealt(seed)])
    return game.with_chances(dealt, [Chance(seed)])
