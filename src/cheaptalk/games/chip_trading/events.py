"""Chip trading: what players are told, what they answer, what nature deals, how it ends."""

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, StringConstraints

from cheaptalk.rules import Action, Deal, Event, Outcome, Value, Whole

Colour = Annotated[
    str, StringConstraints(strip_whitespace=True, to_lower=True, min_length=1, max_length=20)
]
Amount = Annotated[Whole, Field(ge=1, le=1_000_000)]
Stocks: TypeAlias = tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
"""How many chips of each colour every player holds."""


class Proposal(Action):
    """Chips of one colour offered in return for chips of another."""

    give: Colour = Field(description="a colour that you hold")
    give_amount: Amount
    want: Colour = Field(description="another colour of the game")
    want_amount: Amount

    def gain(self, worths: Mapping[str, int]) -> int:
        """What the trade brings its proposer, in cents; its partner gains by the opposite trade.

        Args:
            worths: what a chip of each colour is worth to the proposer, in cents.
        """
        return self.want_amount * worths[self.want] - self.give_amount * worths[self.give]

    @property
    def mirrored(self) -> "Proposal":
        """The same trade as its partner sees it, who gives what the proposer wants."""
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
    """What a seat knows at the start; worths and values are of a chip, in cents.

    ``worths`` are this seat's own, by colour; ``values`` are what any player's private ones are
    drawn from. ``common`` is the colour whose worth everybody knows.
    """

    seat: str
    order: tuple[str, ...]
    common: str
    worths: tuple[tuple[str, int], ...]
    values: tuple[int, ...]
    chips: int
    rounds: int


class Turn(Event):
    """It is this seat's turn to propose; ``worth`` is what its chips are worth to it, in cents."""

    turn: int
    turns: int
    stocks: Stocks
    worth: int


class Offered(Event):
    """Another player proposes a trade.

    ``worth`` is what this seat's chips are worth to it now, and ``after`` what they would be worth
    after the trade, in cents; ``able`` is whether it holds the chips wanted.
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
    """Who traded with the proposer, if anybody did."""

    turn: int
    proposer: str
    proposal: Proposal
    partner: str | None


class GameOver(Event):
    """The game is over: what this seat's chips have gained and what it is paid, in cents."""

    stocks: Stocks
    gain: int
    paid: int


Worths: TypeAlias = dict[str, dict[str, int]]
"""What a chip is worth, in cents, by player and colour."""


class Hands(Deal):
    """The order in which players propose, and their private values, by colour."""

    order: tuple[str, ...]
    values: Worths


class Exchange(Value):
    """One turn: the proposal, who was willing to accept it, and who traded with the proposer."""

    proposer: str
    proposal: Proposal
    willing: tuple[str, ...]
    partner: str | None

    def trade(self, player: str) -> Proposal | None:
        """The trade that a player makes in this turn, seen from its side; None without one."""
        if self.partner is not None and player == self.proposer:
            return self.proposal
        return self.proposal.mirrored if player == self.partner else None


class Trading(Outcome):
    """What chips are worth to the players, and all turns in order."""

    worths: Worths
    turns: tuple[Exchange, ...]

    def gains(self) -> dict[str, int]:
        """What each player's chips have gained in worth to it, in cents; negative for a loss."""
        return self.gains_by_turn()[-1]

    def gains_by_turn(self) -> list[dict[str, int]]:
        """What each player's chips have gained in worth to it after each turn, in cents."""
        gains, found = dict.fromkeys(self.worths, 0), []
        for turn in self.turns:
            if turn.partner is not None:
                gains[turn.proposer] += turn.proposal.gain(self.worths[turn.proposer])
                gains[turn.partner] -= turn.proposal.gain(self.worths[turn.partner])
            found.append(gains.copy())
        return found
