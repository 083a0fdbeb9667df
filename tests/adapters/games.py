"""Array games that are small enough for other projects' checks, and tables to hold them against."""

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
        "players": 2, "rounds": 1, "low": 1, "high": 2, "step": 1, "distinct": False,
    },
}  # fmt: skip
"""Parameters by the games' names."""
NAMES = sorted(ARRAYS)


class Beside:
    """A table of the rules beside a match of an adapter, which must show and pay the same.

    Args:
        game: as array functions.
        seed: of the table.
    """

    def __init__(self, game: ArrayGame[Any, Any], seed: str) -> None:
        self.game = game
        self.table = Table(game.rules, game.rules.instance_of(seed), seed)

    def answer(self, player: int, seen: Any, action: int) -> None:
        """Answer for a player that has seen this."""
        place = self.game.players[player]
        (seat,) = (one.name for one in self.game.rules.actors if one.seat == place)
        asked = self.table.request(seat)
        np.testing.assert_array_equal(seen, self.game.observe_request(asked))
        self.table.answer(seat, self.game.action(asked, action))

    @property
    def payoffs(self) -> list[float]:
        """What the players got, in order."""
        assert self.table.over
        paid = self.game.rules.seat_payoffs(self.table.outcome)
        return [paid[place] for place in self.game.players]
