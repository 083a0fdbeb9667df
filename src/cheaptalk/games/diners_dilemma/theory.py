"""What theory says about ordering: pure functions that strategies and measures rest on.

Only differences matter: ``pleasure`` is the utility of the costly dish less that of the cheap one,
``price`` its price less that of the cheap one, both above 0.
"""

from typing import Literal

Dish = Literal["costly", "cheap"]


def dominant_dish(players: int, pleasure: float, price: float) -> Dish | None:
    """The dish that is best for each whatever the others order; None where neither is.

    Who orders the costly dish has its pleasure alone and bears one part in N of its price, so it
    is best where pleasure > price / N (GAMA-Bench section 2.2, second assumption). Known rounds
    change nothing: by backward induction it is the equilibrium of every round.

    >>> dominant_dish(10, pleasure=5, price=10), dominant_dish(10, pleasure=5, price=60)
    ('costly', 'cheap')
    """
    if players * pleasure == price:
        return None
    return "costly" if players * pleasure > price else "cheap"


def efficient_dish(pleasure: float, price: float) -> Dish | None:
    """The dish that is best for all together, and for one who dines alone; None where neither is.

    It is the cheap one where pleasure < price (GAMA-Bench section 2.2, first assumption).

    >>> efficient_dish(pleasure=5, price=10)
    'cheap'
    """
    return dominant_dish(1, pleasure, price)
