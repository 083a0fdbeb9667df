"""Array games small enough for other projects' test suites, and tables to compare them with."""

from typing import Any

import numpy as np

from cheaptalk.arrays import ARRAYS
from cheaptalk.arrays.games import ArrayGame
from cheaptalk.rules import Table

SMALL: dict[str, dict[str, Any]] = {
    "bargaining": {"horizon": 1},
    "battle_royale": {"horizon": 6, "hit_rates": (0.3, 0.6, 1.0)},
    "chip_trading": {"players": 3, "colours": ("green", "red"), "chips": 2, "rounds": 2},
    "diners_dilemma": {"players": 2, "rounds": 2},
    "divide_the_dollar": {"players": 2, "rounds": 2, "golds": 2},
    "el_farol_bar": {"players": 3, "rounds": 2},
    "guess_the_average": {"players": 2, "rounds": 2, "maximum": 2},
    "item_bargaining": {"quantities": (1, 1), "highest_value": 1, "rounds": 1, "discount": 0.9},
    "negotiation": {"horizon": 1},
    "pirate_game": {"players": 3, "gold": 2},
    "public_goods": {"players": 2, "rounds": 2, "tokens": 2},
    "sealed_bid_auction": {
        "players": 2,
        "rounds": 1,
        "low": 1,
        "high": 2,
        "step": 1,
        "distinct": False,
    },
}
"""Parameters by name of the game."""
NAMES = sorted(ARRAYS)


class ReferenceTable:
    """A table of the rules to compare with a match of an adapter: same observations, same payoffs.

    Args:
        game: The game as array functions.
        seed: The seed of the table.
    """

    def __init__(self, game: ArrayGame[Any, Any], seed: str) -> None:
        self.game = game
        self.table = Table(game.rules, game.rules.instance_of(seed), seed)

    def answer(self, player: int, seen: Any, action: int) -> None:
        """Compare a player's observation with the table's, and answer for the player."""
        seat_name = self.game.players[player]
        (seat,) = (actor.name for actor in self.game.rules.actors if actor.seat == seat_name)
        request = self.table.request(seat)
        np.testing.assert_array_equal(seen, self.game.observe_request(request))
        self.table.answer(seat, self.game.action(request, action))

    @property
    def payoffs(self) -> list[float]:
        """The payoffs in the order of the players."""
        assert self.table.over
        paid = self.game.rules.seat_payoffs(self.table.outcome)
        return [paid[seat_name] for seat_name in self.game.players]
