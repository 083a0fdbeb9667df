"""Action and events of the diner's dilemma."""

from cheaptalk.games.diners_dilemma.theory import Dish
from cheaptalk.rules import Action, Event


class Order(Action):
    """The dish that a player orders."""

    chosen_dish: Dish


class Briefing(Event):
    """A player's information at the start."""

    players: int
    rounds: int
    costly_price: float
    costly_utility: float
    cheap_price: float
    cheap_utility: float


class Turn(Event):
    """All players order now."""

    round: int


class RoundResult(Event):
    """The result of a round: the orders, the total bill, and the player's part.

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
