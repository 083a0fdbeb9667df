"""Persuasion: a seller who knows the quality talks, a buyer who does not decides."""

import math
from collections.abc import Iterator
from functools import partial

from pydantic import Field

from cheaptalk.games.persuasion.events import (
    Briefing,
    BuyerDecided,
    GameOver,
    Pitch,
    ProductDrawn,
    ProductOffered,
    Purchase,
    QualityRevealed,
    Recommendation,
    Record,
    Signal,
    SpokenPurchase,
)
from cheaptalk.rules import (
    Ask,
    Chance,
    Deal,
    Game,
    Horizon,
    Outcome,
    Play,
    RulesError,
    Seat,
    Secret,
    Tell,
)


class Qualities(Deal):
    """Whether each round's product is of high quality."""

    qualities: tuple[bool, ...]


class Trades(Outcome):
    """Each round's quality, recommendation (None where signals are text) and purchase."""

    high: tuple[bool, ...]
    recommended: tuple[bool, ...] | None
    bought: tuple[bool, ...]

    def count(self, high: bool, bought: bool) -> int:
        """The rounds in which the product was of this quality and was, or was not, bought."""
        return sum(pair == (high, bought) for pair in zip(self.high, self.bought, strict=True))


class Persuasion(Game):
    """Repeated cheap talk about a product's quality (GLEE section 2.3).

    In each round nature draws a product of high or low quality. The seller Alice sees which and
    recommends it or not, or writes a message; the buyer Bob, who does not see it, buys at a
    fixed price or does not. Alice gets 1 for each sale, whatever the price; Bob gets dollars: what
    the product is worth to him minus the price.

    A long-living Bob learns each quality at the end of its round. Myopic buyers play one round
    each, and of the earlier rounds know only in what share the product was bought and in what
    share a product of low quality was.
    """

    name = "persuasion"
    payoff_unit = ("sales", "dollars")
    roles = ("alice", "bob")
    events = (
        Briefing, Record, ProductDrawn, ProductOffered, BuyerDecided, QualityRevealed, GameOver,
    )  # fmt: skip
    actions = (Recommendation, Pitch, Purchase, SpokenPurchase)
    deal_type = Qualities
    outcome_type = Trades

    price: float = Field(default=100, gt=0, le=1e12)
    """What the product costs (GLEE's M), in dollars."""
    prior: float = Field(default=0.5, ge=0, le=1)
    """The probability that a product is of high quality (p), independently in each round."""
    value: float = Field(default=1.25, ge=1, le=1_000)
    """What a product of high quality is worth to Bob (v), as a multiple of the price."""
    low_value: float = Field(default=0, ge=0, le=1)
    """What a product of low quality is worth to Bob (u), as a multiple of the price."""
    horizon: Horizon = Horizon(rounds=20)
    """How many rounds there are, and whether the players are told."""
    myopic: bool = False
    """Whether each round has a buyer of its own."""
    seller_knows_values: bool = True
    """Whether Alice knows what products are worth to Bob (complete information)."""
    buyer_knows_prior: bool = True
    """Whether Bob knows the prior."""
    signal: Signal = "text"
    """Whether Alice writes a message or only recommends or not."""
    buyer_messages: bool = False
    """Whether a buyer can send words with the decision."""

    @property
    def seats(self) -> tuple[Seat, ...]:
        """Alice and Bob, or Alice and a fresh Bob for each round."""
        if not self.myopic:
            return Seat("alice", "alice"), Seat("bob", "bob")
        rounds = range(1, self.horizon.rounds + 1)
        return Seat("alice", "alice"), *(Seat(f"bob_{number}", "bob") for number in rounds)

    def deal(self, chance: Chance) -> Qualities:
        rounds = range(1, self.horizon.rounds + 1)
        drawn = (chance("quality", number).happens(self.prior) for number in rounds)
        return Qualities(qualities=tuple(drawn))

    def play(self, deal: Qualities, chance: Chance) -> Play[Trades]:
        if len(deal.qualities) != self.horizon.rounds:
            raise RulesError("the deal and the game differ in their number of rounds")
        yield Tell("alice", self._briefing("alice"))
        briefing = self._briefing("bob")
        if not self.myopic:
            yield Tell("bob", briefing)
        recommended: list[bool] = []
        bought: list[bool] = []
        for number, high in enumerate(deal.qualities, start=1):
            buyer = f"bob_{number}" if self.myopic else "bob"
            if self.myopic:
                yield Tell(buyer, briefing)
                yield Tell(buyer, _record(deal.qualities, bought))
            signal, buys = yield from self._round(number, high, buyer)
            bought.append(buys)
            if signal is not None:
                recommended.append(signal)
        advice = tuple(recommended) if self.signal == "binary" else None
        trades = Trades(high=deal.qualities, recommended=advice, bought=tuple(bought))
        payoffs = self.payoffs(trades)
        for seat in ("alice",) if self.myopic else self.roles:
            yield Tell(seat, GameOver(payoffs[seat]))
        return trades

    def _round(self, number: int, high: bool, buyer: str) -> Play[tuple[bool | None, bool]]:
        """One round; returns whether Alice recommended the product, and whether it was bought."""
        signal_type = Pitch if self.signal == "text" else Recommendation
        drawn = ProductDrawn(number, high)
        signal: Pitch | Recommendation = yield Ask("alice", signal_type, drawn)
        recommended = signal.decision == "yes" if isinstance(signal, Recommendation) else None
        pitch = signal.message if isinstance(signal, Pitch) else None
        purchase_type = SpokenPurchase if self.buyer_messages else Purchase
        offered = ProductOffered(number, self.price, recommended, pitch)
        purchase: Purchase = yield Ask(buyer, purchase_type, offered)
        buys = purchase.decision == "yes"
        answer = purchase.message if isinstance(purchase, SpokenPurchase) else None
        yield Tell("alice", BuyerDecided(number, buyer, buys, answer))
        gain = self._gain(high) if buys else 0.0
        yield Tell(buyer, QualityRevealed(number, buys, high, self._worth(high), gain))
        if self.myopic:
            yield Tell(buyer, GameOver(gain))
        return recommended, buys

    def _briefing(self, role: str) -> Briefing:
        knows_prior = role == "alice" or self.buyer_knows_prior
        knows_worths = role == "bob" or self.seller_knows_values
        return Briefing(
            self.price,
            self.prior if knows_prior else None,
            self.buyer_knows_prior,
            self._worth(True) if knows_worths else None,
            self._worth(False) if knows_worths else None,
            self.seller_knows_values,
            self.horizon.told,
            self.myopic,
            self.signal,
            self.buyer_messages,
        )

    def _worth(self, high: bool) -> float:
        """What a product of this quality is worth to Bob, in dollars."""
        return self.price * (self.value if high else self.low_value)

    def _gain(self, high: bool) -> float:
        """What buying a product of this quality brings Bob, in dollars."""
        return self._worth(high) - self.price

    def payoffs(self, outcome: Trades) -> dict[str, float]:
        """The number of sales to Alice; dollars to Bob, or to each myopic buyer."""
        rounds = zip(outcome.high, outcome.bought, strict=True)
        gains = [self._gain(high) if buys else 0.0 for high, buys in rounds]
        sales = {"alice": float(sum(outcome.bought))}
        if not self.myopic:
            return sales | {"bob": math.fsum(gains)}
        return sales | {f"bob_{number}": gain for number, gain in enumerate(gains, start=1)}

    def payoff_bounds(self) -> dict[str, tuple[float, float]]:
        rounds = self.horizon.rounds
        worst, best = rounds * self._gain(False), rounds * self._gain(True)
        return {"alice": (0.0, float(rounds)), "bob": (worst, best)}

    def secrets(self, deal: Qualities) -> Iterator[Secret]:
        for place, high in enumerate(deal.qualities):
            changed = (*deal.qualities[:place], not high, *deal.qualities[place + 1 :])
            known = partial(_tells_quality, place + 1)
            yield Secret(frozenset({"alice"}), self, Qualities(qualities=changed), known)
        if not self.seller_knows_values:
            other = {"value": self.value + 1, "low_value": self.low_value / 2 + 0.1}
            buyers = frozenset(seat.name for seat in self.seats if seat.place == "bob")
            yield Secret(buyers, self.model_copy(update=other), deal)
        if not self.buyer_knows_prior:
            game = self.model_copy(update={"prior": 0.7 if self.prior == 0.5 else 0.5})
            yield Secret(frozenset({"alice"}), game, deal)


def _record(qualities: tuple[bool, ...], bought: list[bool]) -> Record:
    """What the next myopic buyer is told of the rounds so far."""
    if not bought:
        return Record(0, None, None)
    earlier = len(bought)
    low = sum(buys and not high for high, buys in zip(qualities, bought, strict=False))
    return Record(earlier, sum(bought) / earlier, low / earlier)


def _tells_quality(number: int, event: object) -> bool:
    """Whether an event tells a buyer, or lets one work out, the quality of a round's product."""
    return (isinstance(event, QualityRevealed) and event.round >= number) or (
        isinstance(event, Record) and event.earlier >= number
    )
