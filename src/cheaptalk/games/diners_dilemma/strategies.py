"""Scripted diners. They know only what their seat was told."""

from typing import Annotated, get_args

from pydantic import Field

from cheaptalk.games.diners_dilemma.events import Briefing, Order, RoundResult
from cheaptalk.games.diners_dilemma.theory import Dish, dominant_dish, efficient_dish
from cheaptalk.games.rounds import in_turn, last_report
from cheaptalk.games.tactics import Share
from cheaptalk.rules import Action, Asked, strategy

Dishes = Annotated[tuple[Dish, ...], Field(min_length=1)]
ORDERS: dict[Dish, Order] = {dish: Order(chosen_dish=dish) for dish in get_args(Dish)}


def order(costly: bool) -> Order:
    """The order of one dish or the other."""
    return ORDERS["costly" if costly else "cheap"]


@strategy("player")
def fixed(asked: Asked, *, choices: Dishes = ("costly",)) -> Action:
    """Order the same whatever happens, or several dishes in turn (GAMA-Bench appendix G).

    Args:
        choices: the dishes, one a round, over and over.
    """
    return ORDERS[in_turn(choices, asked.event.round)]


@strategy("player")
def random(asked: Asked, *, costly: Share = 0.5) -> Action:
    """Order at random.

    Args:
        costly: the probability of ordering the costly dish.
    """
    return order(asked.chance("move", asked.request).happens(costly))


@strategy("player")
def equilibrium(asked: Asked) -> Action:
    """Order what is best whatever the others do, costly in a dilemma (Glance and Huberman 1994)."""
    me: Briefing = asked.briefing
    pleasure, price = me.costly_utility - me.cheap_utility, me.costly_price - me.cheap_price
    return order(dominant_dish(me.players, pleasure, price) == "costly")


@strategy("player")
def cooperator(asked: Asked) -> Action:
    """Order what is best for all together, cheap in a dilemma (Glance and Huberman 1994)."""
    me: Briefing = asked.briefing
    pleasure, price = me.costly_utility - me.cheap_utility, me.costly_price - me.cheap_price
    return order(efficient_dish(pleasure, price) == "costly")


@strategy("player")
def conditional_cooperator(asked: Asked, *, threshold: Share = 0.5) -> Action:
    """Order the cheap dish at first and while enough of the others do (Glance and Huberman 1994).

    Args:
        threshold: the share of the others that must have ordered the cheap dish last.
    """
    last: RoundResult | None = last_report(asked)
    if last is None:
        return order(costly=False)
    others = asked.briefing.players - 1
    return order(last.cheap - (last.chosen == "cheap") < threshold * others)


@strategy("player")
def grim(asked: Asked) -> Action:
    """Order the cheap dish until anybody has not, then costly for good (Friedman 1971)."""
    reports = (moment.event for moment in asked.heard if isinstance(moment.event, RoundResult))
    return order(any(report.costly > 0 for report in reports))
