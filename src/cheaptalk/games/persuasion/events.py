"""What is asked and told in persuasion: the actions and events of its rules."""

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
    """What a seat knows at the start; the prior, the worths and ``rounds`` are None where untold.

    Worths are what products are worth to the buyer, in dollars; ``prior_common`` and
    ``worths_common`` are whether both sides know the prior and the worths.
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
    """What a myopic buyer is told of the earlier rounds.

    The share in which the product was bought, and the share in which it was bought and of low
    quality; None where there are no earlier rounds.
    """

    earlier: int
    bought: float | None
    low_bought: float | None


class ProductDrawn(Event):
    """The seller sees the quality of the round's product."""

    round: int
    high: bool


class ProductOffered(Event):
    """The buyer hears the seller: a recommendation or a message, the other is None."""

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
    """The buyer learns the quality, what the product is worth to it, and its gain."""

    round: int
    bought: bool
    high: bool
    worth: float
    gain: float


class GameOver(Event):
    """The game is over for this seat, which gets this payoff."""

    payoff: float
