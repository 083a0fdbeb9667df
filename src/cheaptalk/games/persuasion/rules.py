"""Persuasion: an informed seller talks, and an uninformed buyer decides."""

import math
from collections.abc import Iterator
from functools import partial
from typing import Literal

from pydantic import Field

import cheaptalk as ct
from cheaptalk.rules import RulesError

Signal = Literal["binary", "text"]


class Recommendation(ct.Action):
    """Whether the seller recommends the product."""

    decision: Literal["yes", "no"]


class Pitch(ct.Action):
    """The seller's words about the product."""

    message: ct.Message


class Purchase(ct.Action):
    """Whether the buyer buys the product."""

    decision: Literal["yes", "no"]


class SpokenPurchase(Purchase):
    """Whether the buyer buys the product, with a message."""

    message: ct.Message


class Briefing(ct.Event):
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


class Record(ct.Event):
    """A myopic buyer's information about the earlier rounds.

    The share of rounds in which the product was bought, and the share in which it was bought and of
    low quality; None if there are no earlier rounds.
    """

    earlier: int
    bought: float | None
    low_bought: float | None


class ProductDrawn(ct.Event):
    """The seller sees the quality of the round's product."""

    round: int
    high: bool


class ProductOffered(ct.Event):
    """The seller's recommendation or message; the field that isn't used is None."""

    round: int
    price: float
    recommended: bool | None
    message: str | None


class BuyerDecided(ct.Event):
    """The seller learns whether the product was bought, and the buyer's message, if any."""

    round: int
    buyer: str
    bought: bool
    message: str | None


class QualityRevealed(ct.Event):
    """The buyer learns the product's quality and value, and the buyer's own gain."""

    round: int
    bought: bool
    high: bool
    worth: float
    gain: float


class GameOver(ct.Event):
    """The game has ended for this seat with this payoff."""

    payoff: float


class Qualities(ct.Instance):
    """The quality of each round's product, where true means high."""

    qualities: tuple[bool, ...]


class Trades(ct.Outcome):
    """The quality, recommendation (None for text messages) and purchase in each round."""

    high: tuple[bool, ...]
    recommended: tuple[bool, ...] | None
    bought: tuple[bool, ...]

    def count(self, high: bool, bought: bool) -> int:
        return sum(pair == (high, bought) for pair in zip(self.high, self.bought, strict=True))


class Persuasion(ct.Game):
    """Repeated cheap talk about a product's quality (GLEE section 2.3).

    In each round nature draws a product of high or low quality. The seller Alice sees the quality
    and recommends the product or not, or writes a message; the buyer Bob, who doesn't see it,
    decides whether to buy at a fixed price. Alice gets 1 for each sale, whatever the price; Bob
    gets dollars: the product's value to him minus the price.

    A long-lived Bob learns each quality at the end of its round. Myopic buyers play one round each,
    and know only in what shares of the earlier rounds the product was bought, and was bought and of
    low quality.
    """

    name = "persuasion"
    payoff_unit = ("sales", "dollars")
    roles = ("alice", "bob")
    events = (
        Briefing,
        Record,
        ProductDrawn,
        ProductOffered,
        BuyerDecided,
        QualityRevealed,
        GameOver,
    )
    actions = (Recommendation, Pitch, Purchase, SpokenPurchase)
    instance_type = Qualities
    outcome_type = Trades

    price: float = Field(default=100, gt=0, le=1e12)
    """The price of the product (GLEE's M), in dollars."""
    prior: float = Field(default=0.5, ge=0, le=1)
    """The probability that a product is of high quality (p), independently in each round."""
    value: float = Field(default=1.25, ge=1, le=1_000)
    """The value of a product of high quality to Bob (v), as a multiple of the price."""
    low_value: float = Field(default=0, ge=0, le=1)
    """The value of a product of low quality to Bob (u), as a multiple of the price."""
    horizon: ct.rules.HorizonLike = ct.rules.Horizon.of(20)
    """The number of rounds, and whether the players know it."""
    myopic: bool = False
    """Whether each round has a different buyer."""
    seller_knows_values: bool = True
    """Whether Alice knows the product's values to Bob (complete information)."""
    buyer_knows_prior: bool = True
    """Whether Bob knows the prior."""
    signal: Signal = "text"
    """Whether Alice writes a message (text) or only recommends or not (binary)."""
    buyer_messages: bool = False
    """Whether a buyer can send a message with the decision."""

    @property
    def actors(self) -> tuple[ct.rules.Actor, ...]:
        if not self.myopic:
            return ct.rules.Actor("alice", "alice"), ct.rules.Actor("bob", "bob")
        rounds = range(1, self.horizon.rounds + 1)
        return ct.rules.Actor("alice", "alice"), *(
            ct.rules.Actor(f"bob_{number}", "bob") for number in rounds
        )

    def draw_instance(self, chance: ct.Chance) -> Qualities:
        rounds = range(1, self.horizon.rounds + 1)
        qualities = (chance("quality", number).happens(self.prior) for number in rounds)
        return Qualities(qualities=tuple(qualities))

    def play(self, instance: Qualities, chance: ct.Chance) -> ct.Play[Trades]:
        if len(instance.qualities) != self.horizon.rounds:
            raise RulesError("the instance and the game have different numbers of rounds")
        yield ct.Tell("alice", self._briefing("alice"))
        briefing = self._briefing("bob")
        if not self.myopic:
            yield ct.Tell("bob", briefing)
        recommended: list[bool] = []
        bought: list[bool] = []
        for number, high in enumerate(instance.qualities, start=1):
            buyer = f"bob_{number}" if self.myopic else "bob"
            if self.myopic:
                yield ct.Tell(buyer, briefing)
                yield ct.Tell(buyer, _record(instance.qualities, bought))
            signal, buys = yield from self._round(number, high, buyer)
            bought.append(buys)
            if signal is not None:
                recommended.append(signal)
        advice = tuple(recommended) if self.signal == "binary" else None
        trades = Trades(high=instance.qualities, recommended=advice, bought=tuple(bought))
        payoffs = self.payoffs(trades)
        for seat in ("alice",) if self.myopic else self.roles:
            yield ct.Tell(seat, GameOver(payoffs[seat]))
        return trades

    def _round(self, number: int, high: bool, buyer: str) -> ct.Play[tuple[bool | None, bool]]:
        """Play one round; return whether the product was recommended, and whether it was bought."""
        signal_type = Pitch if self.signal == "text" else Recommendation
        signal: Pitch | Recommendation = yield ct.Ask(
            "alice", signal_type, ProductDrawn(number, high)
        )
        recommended = signal.decision == "yes" if isinstance(signal, Recommendation) else None
        pitch = signal.message if isinstance(signal, Pitch) else None
        purchase_type = SpokenPurchase if self.buyer_messages else Purchase
        offered = ProductOffered(number, self.price, recommended, pitch)
        purchase: Purchase = yield ct.Ask(buyer, purchase_type, offered)
        buys = purchase.decision == "yes"
        answer = purchase.message if isinstance(purchase, SpokenPurchase) else None
        yield ct.Tell("alice", BuyerDecided(number, buyer, buys, answer))
        gain = self.gain(high) if buys else 0.0
        yield ct.Tell(buyer, QualityRevealed(number, buys, high, self.worth(high), gain))
        if self.myopic:
            yield ct.Tell(buyer, GameOver(gain))
        return recommended, buys

    def _briefing(self, role: str) -> Briefing:
        knows_prior = role == "alice" or self.buyer_knows_prior
        knows_worths = role == "bob" or self.seller_knows_values
        return Briefing(
            self.price,
            self.prior if knows_prior else None,
            self.buyer_knows_prior,
            self.worth(True) if knows_worths else None,
            self.worth(False) if knows_worths else None,
            self.seller_knows_values,
            self.horizon.told,
            self.myopic,
            self.signal,
            self.buyer_messages,
        )

    def worth(self, high: bool) -> float:
        """Return the value of a product to the buyer in dollars."""
        return self.price * (self.value if high else self.low_value)

    def gain(self, high: bool) -> float:
        """Return the buyer's gain in dollars if it buys a product."""
        return self.worth(high) - self.price

    def payoffs(self, outcome: Trades) -> dict[str, float]:
        """Alice's number of sales, and the gains in dollars of Bob or of each myopic buyer."""
        rounds = zip(outcome.high, outcome.bought, strict=True)
        gains = [self.gain(high) if buys else 0.0 for high, buys in rounds]
        sales = {"alice": float(sum(outcome.bought))}
        if not self.myopic:
            return sales | {"bob": math.fsum(gains)}
        return sales | {f"bob_{number}": gain for number, gain in enumerate(gains, start=1)}

    def payoff_bounds(self) -> dict[str, tuple[float, float]]:
        rounds = self.horizon.rounds
        worst, best = rounds * self.gain(False), rounds * self.gain(True)
        return {"alice": (0.0, float(rounds)), "bob": (worst, best)}

    def secrets(self, instance: Qualities) -> Iterator[ct.rules.Secret]:
        for index, high in enumerate(instance.qualities):
            changed = (*instance.qualities[:index], not high, *instance.qualities[index + 1 :])
            reveals = partial(_reveals_quality, index + 1)
            yield ct.rules.Secret(frozenset({"alice"}), self, Qualities(qualities=changed), reveals)
        if not self.seller_knows_values:
            new_values = {"value": self.value + 1, "low_value": self.low_value / 2 + 0.1}
            buyers = frozenset(seat.name for seat in self.actors if seat.seat == "bob")
            yield ct.rules.Secret(buyers, self.model_copy(update=new_values), instance)
        if not self.buyer_knows_prior:
            game = self.model_copy(update={"prior": 0.7 if self.prior == 0.5 else 0.5})
            yield ct.rules.Secret(frozenset({"alice"}), game, instance)


def _record(qualities: tuple[bool, ...], bought: list[bool]) -> Record:
    if not bought:
        return Record(0, None, None)
    count = len(bought)
    low = sum(buys and not high for high, buys in zip(qualities, bought, strict=False))
    return Record(count, sum(bought) / count, low / count)


def _reveals_quality(number: int, event: object) -> bool:
    """Return whether a buyer can infer the quality of a round's product from an event."""
    if isinstance(event, QualityRevealed):
        return event.round >= number
    return isinstance(event, Record) and event.earlier >= number
