"""What nature deals in chip trading, and what became of it."""

from typing import TypeAlias

from cheaptalk.games.chip_trading.events import Proposal
from cheaptalk.rules import Deal, Outcome, Value

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
            for player, worths in self.worths.items():
                trade = turn.trade(player)
                gains[player] += trade.gain(worths) if trade else 0
            found.append(gains.copy())
        return found
