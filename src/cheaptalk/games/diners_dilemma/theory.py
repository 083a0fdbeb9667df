"""The theory of ordering: pure functions that strategies and metrics use.

Only differences matter: ``pleasure`` is the utility difference and ``price`` the price difference
between the costly and the cheap dish, both above 0.
"""

from typing import Literal

Dish = Literal["costly", "cheap"]


def dominant_dish(players: int, pleasure: float, price: float) -> Dish | None:
    """Return the dish that is best for a player whatever the others order; None if both are equal.

    A player who orders the costly dish gets all of its pleasure and pays only 1/N of its price, so
    it is best if pleasure > price / N (GAMA-Bench section 2.2, second assumption). A known number
    of rounds changes nothing: by backward induction it is the equilibrium of every round.

    >>> dominant_dish(10, pleasure=5, price=10), dominant_dish(10, pleasure=5, price=60)
    ('costly', 'cheap')
    """
    if players * pleasure == price:
        return None
    return "costly" if players * pleasure > price else "cheap"


def efficient_dish(pleasure: float, price: float) -> Dish | None:
    """Return the dish that maximises the sum of payoffs; None if both are equal.

    It is also the best dish for a single diner. It is the cheap one if pleasure < price (GAMA-Bench
    section 2.2, first assumption).

    >>> efficient_dish(pleasure=5, price=10)
    'cheap'
    """
    return dominant_dish(1, pleasure, price)
