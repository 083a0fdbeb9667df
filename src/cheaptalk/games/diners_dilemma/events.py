"""What is asked and told in the diner's dilemma: the action and events of its rules."""

from cheaptalk.games.diners_dilemma.theory import Dish
from cheaptalk.rules import Action, Event


class Order(Action):
    """The dish that a player orders."""

    chosen_dish: Dish


class Briefing(Event):
    """What a player knows at the start."""

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
    """How a round ended: how many ordered which dish, the whole bill, and this player's part.

    ``share`` is what the player pays, ``gain`` the utility of its dish less that.
    """

    round: int
    costly: int
    cheap: int
    bill: float
    share: float
    chosen: Dish
    gain: float
