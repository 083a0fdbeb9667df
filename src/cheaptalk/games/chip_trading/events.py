"""Actions, events, instances and outcomes of chip trading."""

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
        """Return the proposer's gain from the trade in cents; the partner makes the opposite trade.

        Args:
            worths: the value of a chip of each colour to the proposer, in cents.
        """
        return self.want_amount * worths[self.want] - self.give_amount * worths[self.give]

    @property
    def mirrored(self) -> "Proposal":
        """The same trade from the partner's side, who gives what the proposer requests."""
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
    """The information of a seat at the start; worths and values are cents per chip.

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
    """The seat's turn to propose; ``worth`` is the total value of its chips in cents."""

    turn: int
    turns: int
    stocks: Stocks
    worth: int


class Offered(Event):
    """Another player has proposed a trade.

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
    """The game has ended: the gain in value of the seat's chips and its payment, in cents."""

    stocks: Stocks
    gain: int
    paid: int


Worths: TypeAlias = dict[str, dict[str, int]]
"""The value of a chip in cents, by player and colour."""


class Hands(Instance):
    """The order in which players propose, and their private values by colour."""

    order: tuple[str, ...]
    values: Worths


class Exchange(Value):
    """One turn: the proposal, the players who accepted it, and the proposer's trading partner."""

    proposer: str
    proposal: Proposal
    willing: tuple[str, ...]
    partner: str | None

    def trade(self, player: str) -> Proposal | None:
        """Return a player's trade in this turn from its own side; None without a trade."""
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
