"""Scripted buyers and firms."""

from typing import Annotated

from pydantic import Field

import cheaptalk as ct

from .rules import Bid, Ceiling


@ct.strategy("buyer", "firm")
def random(request: ct.DecisionRequest) -> ct.Action:
    """Choose a uniformly random ceiling or legal price, without a remark."""
    draw = request.chance("price", request.number)
    if request.actor == "buyer":
        return Ceiling(price=draw.integer(0, 100))
    return Bid(price=draw.integer(0, request.event.ceiling))


@ct.strategy("buyer", "firm")
def honest(
    request: ct.DecisionRequest, *, ceiling: Annotated[int, Field(ge=0, le=100)] = 70
) -> ct.Action:
    """Set a ceiling; bid the cost, or the ceiling if that is less, and state the true cost.

    Args:
        ceiling: the maximum price as a buyer.
    """
    if request.actor == "buyer":
        return Ceiling(price=ceiling)
    cost = request.briefing.cost
    return Bid(price=min(cost, request.event.ceiling), remark=f"My cost is {cost}.")


@ct.strategy("firm")
def bluff(
    request: ct.DecisionRequest, *, markup: Annotated[int, Field(ge=0, le=100)] = 10
) -> ct.Action:
    """Bid the cost plus a markup, and claim that this is the cost.

    Args:
        markup: the amount added to the cost.
    """
    price = min(request.briefing.cost + markup, request.event.ceiling)
    return Bid(price=price, remark=f"My cost is {price}.")
