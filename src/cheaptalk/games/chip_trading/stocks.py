"""Chips in players' hands: counting, valuing and moving them."""

from collections.abc import Mapping
from typing import TypeAlias

from cheaptalk.games.chip_trading.events import Proposal, Stocks

Stock: TypeAlias = dict[str, int]
"""How many chips of each colour one player holds."""
Holdings: TypeAlias = dict[str, Stock]
"""Every player's stock."""


def shown(holdings: Holdings) -> Stocks:
    """Holdings as all players see them."""
    return tuple([(player, tuple(stock.items())) for player, stock in holdings.items()])


def read(stocks: Stocks) -> Holdings:
    """Holdings from what players see: undoes :func:`shown`."""
    return {player: dict(stock) for player, stock in stocks}


def worth(stock: Mapping[str, int], worths: Mapping[str, int]) -> int:
    """What a stock is worth in cents to whom chips are worth so many cents, by colour."""
    return sum([number * worths[colour] for colour, number in stock.items()])


def chips(number: int, colour: str) -> str:
    """So many chips of a colour in words.

    >>> chips(1, "red"), chips(3, "blue"), chips(0, "green")
    ('1 red chip', '3 blue chips', 'no green chips')
    """
    return f"{number or 'no'} {colour} chip{'' if number == 1 else 's'}"


def can_give(stock: Mapping[str, int], trade: Proposal) -> bool:
    """Whether a stock holds what a trade gives."""
    return stock[trade.give] >= trade.give_amount


def move(stock: Stock, trade: Proposal) -> None:
    """Take from a stock what a trade gives and put into it what it brings."""
    stock[trade.give] -= trade.give_amount
    stock[trade.want] += trade.want_amount


def exchange(proposer: Stock, partner: Stock, trade: Proposal) -> None:
    """Carry a trade out between the stocks of its proposer and of its partner."""
    move(proposer, trade)
    partner[trade.give] += trade.give_amount
    partner[trade.want] -= trade.want_amount
