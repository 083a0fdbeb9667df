"""Functions that count, value and move players' chips."""

from collections.abc import Mapping
from typing import TypeAlias

from cheaptalk.games.chip_trading.events import Proposal, Stocks

Stock: TypeAlias = dict[str, int]
"""The number of chips of each colour that one player holds."""
Holdings: TypeAlias = dict[str, Stock]
"""The stocks of all players, by player."""


def visible_stocks(holdings: Holdings) -> Stocks:
    """Convert the players' holdings to the tuples that events contain."""
    return tuple([(player, tuple(stock.items())) for player, stock in holdings.items()])


def read(stocks: Stocks) -> Holdings:
    """Convert the tuples that events contain to the players' holdings."""
    return {player: dict(stock) for player, stock in stocks}


def worth(stock: Mapping[str, int], worths: Mapping[str, int]) -> int:
    """Return the value of a stock in cents, given the value of a chip of each colour."""
    return sum([number * worths[colour] for colour, number in stock.items()])


def chips(number: int, colour: str) -> str:
    """Describe a number of chips of one colour.

    >>> chips(1, "red"), chips(3, "blue"), chips(0, "green")
    ('1 red chip', '3 blue chips', 'no green chips')
    """
    return f"{number or 'no'} {colour} chip{'' if number == 1 else 's'}"


def can_give(stock: Mapping[str, int], trade: Proposal) -> bool:
    """Return whether a player has enough chips to make a trade."""
    return stock[trade.give] >= trade.give_amount


def move(stock: Stock, trade: Proposal) -> None:
    """Update the proposer's stock after a trade."""
    stock[trade.give] -= trade.give_amount
    stock[trade.want] += trade.want_amount


def exchange(proposer: Stock, partner: Stock, trade: Proposal) -> None:
    """Update the stocks of the proposer and the partner after a trade."""
    move(proposer, trade)
    partner[trade.give] += trade.give_amount
    partner[trade.want] -= trade.want_amount
