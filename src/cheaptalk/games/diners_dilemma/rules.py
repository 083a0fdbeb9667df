"""The diner's dilemma: all players order, and the bill is split equally."""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field, model_validator

from cheaptalk.games.rounds import Over, Rounds, RoundsPlayed
from cheaptalk.rules import Action, Event, Instance

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


class Orders(RoundsPlayed[Dish]):
    """The players' orders, and each player's gain in each round."""


class DinersDilemma(Rounds):
    """The diner's dilemma (Glance and Huberman 1994; GAMA-Bench section 2.2).

    In every round all players simultaneously order a costly or a cheap dish and split the bill
    equally. A player's payoff is the sum, over the rounds, of the utility of its dish minus its
    part of the bill. It is a dilemma if the costly dish is not worth its price, but is worth its
    price divided by the number of players.
    """

    name = "diners_dilemma"
    title = "Diner's dilemma"
    payoff_unit = "utility"
    events = (Briefing, Turn, RoundResult, Over)
    actions = (Order,)
    outcome_type = Orders

    costly_price: float = Field(default=20, ge=0, le=1e9)
    """The price of the costly dish (P_h)."""
    costly_utility: float = Field(default=20, ge=0, le=1e9)
    """The utility of the costly dish (U_h)."""
    cheap_price: float = Field(default=10, ge=0, le=1e9)
    """The price of the cheap dish (P_l)."""
    cheap_utility: float = Field(default=15, ge=0, le=1e9)
    """The utility of the cheap dish (U_l)."""

    @model_validator(mode="after")
    def _dishes_differ(self) -> "DinersDilemma":
        if self.costly_price <= self.cheap_price:
            raise ValueError("costly_price: must be above cheap_price")
        if self.costly_utility <= self.cheap_utility:
            raise ValueError("costly_utility: must be above cheap_utility")
        return self

    @property
    def pleasure(self) -> float:
        """The difference in utility between the costly and the cheap dish."""
        return self.costly_utility - self.cheap_utility

    @property
    def price(self) -> float:
        """The difference in price between the costly and the cheap dish."""
        return self.costly_price - self.cheap_price

    def gains(self, number: int, choices: Sequence[Dish], instance: Instance) -> list[float]:
        share = self._bill(choices.count("costly")) / self.players
        return [
            (self.costly_utility if dish == "costly" else self.cheap_utility) - share
            for dish in choices
        ]

    def reports(
        self, number: int, choices: Sequence[Dish], gains: Sequence[float], instance: Instance
    ) -> list[Event]:
        costly = choices.count("costly")
        bill = self._bill(costly)
        counts = (number, costly, self.players - costly, bill, bill / self.players)
        return [RoundResult(*counts, dish, gain) for dish, gain in zip(choices, gains, strict=True)]

    def _bill(self, costly: int) -> float:
        return costly * self.costly_price + (self.players - costly) * self.cheap_price

    def payoff_bounds(self) -> dict[str, tuple[float, float]]:
        extremes = [
            utility - self._bill(own_costly + costly) / self.players
            for own_costly, utility in enumerate((self.cheap_utility, self.costly_utility))
            for costly in (0, self.players - 1)
        ]
        return {"player": (self.rounds * min(extremes), self.rounds * max(extremes))}

    def total_bounds(self) -> dict[str, tuple[float, float]]:
        """Return the bounds of the total payoff, reached when all players order the same dish."""
        cheap, costly = (
            self.rounds * self.players * gain
            for gain in (
                self.cheap_utility - self.cheap_price,
                self.costly_utility - self.costly_price,
            )
        )
        return {"player": (min(cheap, costly), max(cheap, costly))}
