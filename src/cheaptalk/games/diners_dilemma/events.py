"""The action and events of the diner's dilemma."""

from typing import Literal

from cheaptalk.rules import Action, Event

Dish = Literal["costly", "cheap"]


class Order(Action):
    """The dish that a player orders."""

    chosen_dish: Dish


class Briefing(Event):
    """Information that a player receives at the start of the match."""

    players: int
    rounds: int
    costly_price: float
    costly_utility: float
    cheap_price: float
    cheap_utility: float


class Turn(Event):
    """A request that all players order simultaneously."""

    round: int


class RoundResult(Event):
    """The result of a round: the orders, the total bill, and the player's share of it.

    ``share`` is the amount that the player pays, and ``gain`` the utility of its dish minus this
    amount.
    """

    round: int
    costly: int
    cheap: int
    bill: float
    share: float
    chosen: Dish
    gain: float
