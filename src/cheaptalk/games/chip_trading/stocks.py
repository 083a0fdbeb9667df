"""Players' chips: counting, valuing and moving them."""

from collections.abc import Mapping
from typing import TypeAlias

from cheaptalk.games.chip_trading.events import Proposal, Stocks

Stock: TypeAlias = dict[str, int]
"""The number of chips of each colour that one player holds."""
Holdings: TypeAlias = dict[str, Stock]
"""Every player's stock."""


def visible_stocks(holdings: Holdings) -> Stocks:
    """Return all holdings as the players see them."""
    return tuple([(player, tuple(stock.items())) for player, stock in holdings.items()])


def read(stocks: Stocks) -> Holdings:
    """Return holdings from what players see; the inverse of :func:`visible_stocks`."""
    return {player: dict(stock) for player, stock in stocks}


def worth(stock: Mapping[str, int], worths: Mapping[str, int]) -> int:
    """Return the value of a stock in cents, given the value of a chip of each colour."""
    return sum([number * worths[colour] for colour, number in stock.items()])


def chips(number: int, colour: str) -> str:
    """Return a number of chips of a colour in words.

    >>> chips(1, "red"), chips(3, "blue"), chips(0, "green")
    ('1 red chip', '3 blue chips', 'no green chips')
    """
    return f"{number or 'no'} {colour} chip{'' if number == 1 else 's'}"


def can_give(stock: Mapping[str, int], trade: Proposal) -> bool:
    """Return whether a stock contains the chips that a trade gives."""
    return stock[trade.give] >= trade.give_amount


def move(stock: Stock, trade: Proposal) -> None:
    """Carry out one side of a trade: remove the chips given and add those received."""
    stock[trade.give] -= trade.give_amount
    stock[trade.want] += trade.want_amount


def exchange(proposer: Stock, partner: Stock, trade: Proposal) -> None:
    """Carry out a trade between the stocks of its proposer and of its partner."""
    move(proposer, trade)
    partner[trade.give] += trade.give_amount
    partner[trade.want] -= trade.want_amount
