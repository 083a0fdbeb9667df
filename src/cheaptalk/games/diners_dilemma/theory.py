"""Theoretical results for the diner's dilemma, used by its strategies and metrics.

``pleasure`` and ``price`` are the differences between the costly and the cheap dish in utility and
in price, both above 0.
"""

from typing import Literal

Dish = Literal["costly", "cheap"]


def dominant_dish(players: int, pleasure: float, price: float) -> Dish | None:
    """Return the dominant dish of a player; None if both dishes are equally good.

    A player who orders the costly dish gets the whole pleasure and pays 1/N of the price, so the
    costly dish is dominant if pleasure > price / N (GAMA-Bench section 2.2, second assumption). By
    backward induction, this is the equilibrium of every round.

    >>> dominant_dish(10, pleasure=5, price=10), dominant_dish(10, pleasure=5, price=60)
    ('costly', 'cheap')
    """
    if players * pleasure == price:
        return None
    return "costly" if players * pleasure > price else "cheap"


def efficient_dish(pleasure: float, price: float) -> Dish | None:
    """Return the dish that maximises the sum of payoffs; None if both dishes are equally good.

    This is also the best dish of a single diner: the cheap dish if pleasure < price (GAMA-Bench
    section 2.2, first assumption).

    >>> efficient_dish(pleasure=5, price=10)
    'cheap'
    """
    return dominant_dish(1, pleasure, price)
