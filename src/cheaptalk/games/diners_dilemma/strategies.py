"""Scripted strategies of the diner's dilemma, which depend only on observations.

``pleasure`` and ``price`` are the differences between the costly and the cheap dish in utility and
in price, both above 0.
"""

from typing import Annotated, get_args

from pydantic import Field

from cheaptalk.games.diners_dilemma.rules import Briefing, Dish, Order, RoundResult
from cheaptalk.games.rounds import in_turn, last_report
from cheaptalk.games.tactics import Share
from cheaptalk.rules import Action, DecisionRequest, strategy


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


Dishes = Annotated[tuple[Dish, ...], Field(min_length=1)]
ORDERS: dict[Dish, Order] = {dish: Order(chosen_dish=dish) for dish in get_args(Dish)}


def order(costly: bool) -> Order:
    """Return the action that orders the costly or the cheap dish."""
    return ORDERS["costly" if costly else "cheap"]


@strategy("player")
def fixed(request: DecisionRequest, *, choices: Dishes = ("costly",)) -> Action:
    """Always order the same dish, or cycle through several dishes (GAMA-Bench appendix G)."""
    return ORDERS[in_turn(choices, request.event.round)]


@strategy("player")
def random(request: DecisionRequest, *, costly: Share = 0.5) -> Action:
    """Order the costly dish with a fixed probability, otherwise the cheap dish."""
    return order(request.chance("move", request.number).happens(costly))


@strategy("player")
def equilibrium(request: DecisionRequest) -> Action:
    """Order the dominant dish, which is the costly one in a dilemma (Glance and Huberman 1994)."""
    me: Briefing = request.briefing
    pleasure, price = me.costly_utility - me.cheap_utility, me.costly_price - me.cheap_price
    return order(dominant_dish(me.players, pleasure, price) == "costly")


@strategy("player")
def cooperator(request: DecisionRequest) -> Action:
    """Order the dish that is best for the group, cheap in a dilemma (Glance and Huberman 1994)."""
    me: Briefing = request.briefing
    pleasure, price = me.costly_utility - me.cheap_utility, me.costly_price - me.cheap_price
    return order(efficient_dish(pleasure, price) == "costly")


@strategy("player")
def conditional_cooperator(request: DecisionRequest, *, threshold: Share = 0.5) -> Action:
    """Order the cheap dish at first and while enough others do so (Glance and Huberman 1994).

    Args:
        threshold: the minimum share of other players who ordered the cheap dish in the last round.
    """
    last: RoundResult | None = last_report(request)
    if last is None:
        return order(costly=False)
    cheap_orders = last.cheap - (last.chosen == "cheap")
    return order(cheap_orders < threshold * (request.briefing.players - 1))


@strategy("player")
def grim(request: DecisionRequest) -> Action:
    """Order the cheap dish until a player deviates, then always the costly one (Friedman 1971)."""
    reports = (moment.event for moment in request.heard if isinstance(moment.event, RoundResult))
    return order(any(report.costly > 0 for report in reports))
