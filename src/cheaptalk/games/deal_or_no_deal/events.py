"""Actions and events of Deal or No Deal."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from cheaptalk.games.deal_or_no_deal.contexts import Triple
from cheaptalk.rules import Action, Event, Message, Whole

Claimed = Annotated[Whole, Field(ge=0)]

Ending = Literal["agreement", "mismatch", "out of turns", "aborted"]
"""How a game can end: matching claims, other claims, fewer than two claims, or an abort."""


class Proposal(Action):
    """What a player claims for itself, in private."""

    books: Claimed
    hats: Claimed
    balls: Claimed

    @property
    def claim(self) -> Triple:
        """The claimed numbers of books, hats and balls."""
        return self.books, self.hats, self.balls


class MessageOrProposal(Action):
    """A message, or a claim to all three kinds, and never both."""

    message: Message | None = None
    books: Claimed | None = None
    hats: Claimed | None = None
    balls: Claimed | None = None

    @model_validator(mode="after")
    def _is_one_of_them(self) -> "MessageOrProposal":
        counts = (self.books, self.hats, self.balls)
        if self.message is None and None in counts:
            raise ValueError("give a message, or numbers of books, hats and balls")
        if self.message is not None and counts != (None, None, None):
            raise ValueError("give a message or numbers of books, hats and balls, not both")
        return self

    @classmethod
    def propose(cls, claim: Triple) -> "MessageOrProposal":
        """Return the proposal that claims these numbers of books, hats and balls."""
        books, hats, balls = claim
        return cls(books=books, hats=hats, balls=balls)

    @property
    def claim(self) -> Triple | None:
        """The claimed numbers of books, hats and balls, or None if the action is a message."""
        if self.books is None or self.hats is None or self.balls is None:
            return None
        return self.books, self.hats, self.balls


class Briefing(Event):
    """Information that a player receives at the start: the pool and its own values, in points.

    ``objective`` is the weight of the partner's points in its payoff, ``turns`` the limit, and
    ``first`` whether it moves first.
    """

    partner: str
    counts: Triple
    values: Triple
    objective: float
    turns: int
    first: bool


class YourTurn(Event):
    """A request for a message or a proposal; ``message`` is the partner's last message.

    It is None in the first turn.
    """

    turn: int
    turns: int
    partner: str
    message: str | None


class ProposalMade(Event):
    """A request for a proposal after the partner has made its private proposal."""

    turn: int
    turns: int
    partner: str


class GameOver(Event):
    """The end of the game: its cause, the points of the player's claim, and the player's payoff.

    ``points`` is None without an agreement. ``partner_points`` is the value of the partner's claim
    to the partner if it follows from the payoff, else None. The partner's claim and values aren't
    shown.
    """

    ending: Ending
    partner: str
    points: int | None
    partner_points: int | None
    payoff: float
