"""Scripted buyers and firms."""

from typing import Annotated

from pydantic import Field

import cheaptalk as ct

from .rules import Bid, Ceiling


@ct.strategy("buyer", "firm")
def random(asked: ct.Asked) -> ct.Action:
    """Name any ceiling; bid any legal price and say nothing, each price as likely."""
    draw = asked.chance("price", asked.request)
    if asked.seat == "buyer":
        return Ceiling(price=draw.integer(0, 100))
    return Bid(price=draw.integer(0, asked.event.ceiling))


@ct.strategy("buyer", "firm")
def honest(asked: ct.Asked, *, ceiling: Annotated[int, Field(ge=0, le=100)] = 70) -> ct.Action:
    """Name a ceiling; bid the cost, or the ceiling if that is less, and say what the cost is.

    Args:
        ceiling: what the buyer pays at most.
    """
    if asked.seat == "buyer":
        return Ceiling(price=ceiling)
    cost = asked.briefing.cost
    return Bid(price=min(cost, asked.event.ceiling), remark=f"My cost is {cost}.")


@ct.strategy("firm")
def bluff(asked: ct.Asked, *, markup: Annotated[int, Field(ge=0, le=100)] = 10) -> ct.Action:
    """Bid the cost and a markup, and pass that off as the cost.

    Args:
        markup: what is bid above the cost.
    """
    price = min(asked.briefing.cost + markup, asked.event.ceiling)
    return Bid(price=price, remark=f"My cost is {price}.")
