"""Actions, events, instances and outcomes of chip trading, and the players' stocks."""

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, StringConstraints

from cheaptalk.rules import Action, Event, Instance, Outcome, Value, Whole

Colour = Annotated[
    str, StringConstraints(strip_whitespace=True, to_lower=True, min_length=1, max_length=20)
]
Amount = Annotated[Whole, Field(ge=1, le=1_000_000)]
Stocks: TypeAlias = tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
"""The number of chips of each colour that each player holds."""


class Proposal(Action):
    """Chips of one colour offered in return for chips of another."""

    give: Colour = Field(description="a colour that you hold")
    give_amount: Amount
    want: Colour = Field(description="another colour of the game")
    want_amount: Amount

    def gain(self, worths: Mapping[str, int]) -> int:
        """Return the proposer's gain from the trade in cents.

        Args:
            worths: the value of a chip of each colour to the proposer, in cents.
        """
        return self.want_amount * worths[self.want] - self.give_amount * worths[self.give]

    @property
    def mirrored(self) -> "Proposal":
        """The same trade as seen by the partner, with both sides swapped."""
        return Proposal.unchecked(
            give=self.want,
            give_amount=self.want_amount,
            want=self.give,
            want_amount=self.give_amount,
        )


class Response(Action):
    """The answer to a proposal."""

    decision: Literal["accept", "decline"]


class Briefing(Event):
    """Information that a player receives at the start of the match; values are cents per chip.

    ``worths`` are the seat's own values by colour, and ``values`` the numbers from which private
    values are drawn. ``common`` is the colour whose value all players know.
    """

    seat: str
    order: tuple[str, ...]
    common: str
    worths: tuple[tuple[str, int], ...]
    values: tuple[int, ...]
    chips: int
    rounds: int


class Turn(Event):
    """A request to propose a trade; ``worth`` is the total value of the player's chips in cents."""

    turn: int
    turns: int
    stocks: Stocks
    worth: int


class Offered(Event):
    """A trade proposed by another player.

    ``worth`` is the current total value of the seat's chips, and ``after`` their value after the
    trade, in cents; ``able`` is whether the seat holds the requested chips.
    """

    turn: int
    turns: int
    proposer: str
    proposal: Proposal
    stocks: Stocks
    worth: int
    after: int
    able: bool


class TurnEnded(Event):
    """The end of a turn; ``partner`` is None if no one traded."""

    turn: int
    proposer: str
    proposal: Proposal
    partner: str | None


class GameOver(Event):
    """The end of the game, with the player's gain in value and payment, both in cents."""

    stocks: Stocks
    gain: int
    paid: int


Worths: TypeAlias = dict[str, dict[str, int]]
"""The value of a chip in cents, by player and colour."""


class Hands(Instance):
    """The order of proposers, and the players' private values of chips by colour."""

    order: tuple[str, ...]
    values: Worths


class Exchange(Value):
    """One turn: the proposal, the players who accepted it, and the proposer's trading partner."""

    proposer: str
    proposal: Proposal
    willing: tuple[str, ...]
    partner: str | None

    def trade(self, player: str) -> Proposal | None:
        """Return the trade as seen by a player, or None if the player did not trade."""
        if self.partner is not None and player == self.proposer:
            return self.proposal
        return self.proposal.mirrored if player == self.partner else None


class Trading(Outcome):
    """The values of chips to the players, and all turns in order."""

    worths: Worths
    turns: tuple[Exchange, ...]

    def gains(self) -> dict[str, int]:
        """Return each player's gain in cents; negative for a loss."""
        return self.gains_by_turn()[-1]

    def gains_by_turn(self) -> list[dict[str, int]]:
        """Return each player's gain after each turn, in cents."""
        gains, by_turn = dict.fromkeys(self.worths, 0), []
        for turn in self.turns:
            if turn.partner is not None:
                gains[turn.proposer] += turn.proposal.gain(self.worths[turn.proposer])
                gains[turn.partner] -= turn.proposal.gain(self.worths[turn.partner])
            by_turn.append(gains.copy())
        return by_turn


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
