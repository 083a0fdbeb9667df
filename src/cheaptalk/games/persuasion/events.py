"""Actions and events of persuasion."""

from typing import Literal

from cheaptalk.rules import Action, Event, Message

Signal = Literal["binary", "text"]


class Recommendation(Action):
    """Whether the seller recommends the product."""

    decision: Literal["yes", "no"]


class Pitch(Action):
    """The seller's words about the product."""

    message: Message


class Purchase(Action):
    """Whether the buyer buys the product."""

    decision: Literal["yes", "no"]


class SpokenPurchase(Purchase):
    """Whether the buyer buys the product, with a message."""

    message: Message


class Briefing(Event):
    """Information that a player receives at the start of the match; unknown values are None.

    Worths are the product's values to the buyer in dollars; ``prior_common`` and ``worths_common``
    are whether both sides know the prior and the worths.
    """

    price: float
    prior: float | None
    prior_common: bool
    high_worth: float | None
    low_worth: float | None
    worths_common: bool
    rounds: int | None
    myopic: bool
    signal: Signal
    buyer_messages: bool


class Record(Event):
    """A myopic buyer's information about the earlier rounds.

    The share of rounds in which the product was bought, and the share in which it was bought and of
    low quality; None if there are no earlier rounds.
    """

    earlier: int
    bought: float | None
    low_bought: float | None


class ProductDrawn(Event):
    """The seller sees the quality of the round's product."""

    round: int
    high: bool


class ProductOffered(Event):
    """The seller's recommendation or message; the field that isn't used is None."""

    round: int
    price: float
    recommended: bool | None
    message: str | None


class BuyerDecided(Event):
    """The seller learns whether the product was bought, and the buyer's message, if any."""

    round: int
    buyer: str
    bought: bool
    message: str | None


class QualityRevealed(Event):
    """The buyer learns the product's quality and value, and the buyer's own gain."""

    round: int
    bought: bool
    high: bool
    worth: float
    gain: float


class GameOver(Event):
    """The game has ended for this seat with this payoff."""

    payoff: float
