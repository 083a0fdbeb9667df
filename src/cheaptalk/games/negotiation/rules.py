"""Negotiation: a seller and a buyer take turns to name a price."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field, model_validator

import cheaptalk as ct
from cheaptalk.rules import alternative, between


class Price(ct.Action):
    """A price for the product."""

    price: ct.Money


class SpokenPrice(Price):
    """A price for the product with a message."""

    message: ct.Message


class Reply(ct.Action):
    """The answer to a price."""

    decision: Literal["accept", "reject"]


class ReplyOrJohn(ct.Action):
    """The answer to a price where there is also John to trade with."""

    decision: Literal["accept", "reject", "john"]


class Briefing(ct.Event):
    """Information that a player receives at the start of the match; unknown values are None."""

    seat: str
    rival: str
    value: float
    rival_value: float | None
    rounds: int | None
    messages: bool
    outside_option: bool
    highest_price: float


class Turn(ct.Event):
    """A request to name a price."""

    stage: int
    last: bool


class PricePosted(ct.Event):
    """The rival has named a price."""

    stage: int
    proposer: str
    price: float
    message: str | None
    last: bool


class PriceRejected(ct.Event):
    """The rival has rejected the player's price."""

    stage: int


class Sold(ct.Event):
    """A price was accepted; ``payoff`` is the player's payoff."""

    stage: int
    price: float
    payoff: float


class LeftForJohn(ct.Event):
    """A player chose to trade with John; both payoffs are 0."""

    leaver: str


class NoTrade(ct.Event):
    """The last round ended without a trade; both payoffs are 0.

    ``john`` is whether each player trades with John instead.
    """

    john: bool


class Sale(ct.Outcome):
    """The last stage, the price (None without a trade) and how the negotiation ended."""

    stage: int
    price: float | None = None
    ended: Literal["trade", "john", "rounds"]


class Negotiation(ct.Game):
    """Alternating prices for one product, with an outside option (GLEE section 2.2).

    In odd stages the seller Alice names a price and the buyer Bob accepts or rejects it; in even
    stages the roles are reversed. At price p Alice gets p - V_A and Bob V_B - p dollars, where V_A
    and V_B are the product's values to them; without a trade both get 0.

    With the outside option, the player who answers a price may instead trade with John at its own
    value. This ends the game and pays both 0. If only one round is announced, a rejection sends
    both to John.
    """

    name = "negotiation"
    payoff_unit = "dollars"
    payoffs_reach_bounds = False
    roles = ("alice", "bob")
    events = (Briefing, Turn, PricePosted, PriceRejected, Sold, LeftForJohn, NoTrade)
    actions = (Price, SpokenPrice, Reply, ReplyOrJohn)
    outcome_type = Sale

    scale: float = Field(default=10_000, gt=0, le=1e12)
    """The unit of values and metrics (GLEE's M), in dollars."""
    seller_factor: float = Field(default=0.8, gt=0, le=1_000)
    """The product's value to Alice, as a multiple of the scale."""
    buyer_factor: float = Field(default=1.2, gt=0, le=1_000)
    """The product's value to Bob, as a multiple of the scale."""
    horizon: ct.rules.HorizonLike = ct.rules.Horizon.of(10)
    """The maximum number of rounds, and whether the players know it."""
    complete_information: bool = True
    """Whether each player knows the product's value to the other."""
    messages: bool = True
    """Whether the player who names a price can send a message with it."""
    outside_option: bool = True
    """Whether the player who answers a price can trade with John instead."""
    price_limit: float = Field(default=100, gt=0, le=1_000)
    """The highest legal price as a multiple of the scale, which bounds payoffs. Only a player who
    exceeds it is shown it, so that it doesn't serve as an anchor."""

    @model_validator(mode="after")
    def _fits_together(self) -> "Negotiation":
        if self.price_limit < max(self.seller_factor, self.buyer_factor):
            raise ValueError("price_limit: must be at least seller_factor and buyer_factor")
        if self.outside_option and "John" in map(self.called, self.roles):
            raise ValueError('names: "John" is reserved for the outside option; use another name')
        return self

    def value(self, role: str) -> float:
        """Return the product's value to a role in dollars."""
        return self.scale * (self.seller_factor if role == "alice" else self.buyer_factor)

    def play(self, instance: ct.Instance, chance: ct.Chance) -> ct.Play[Sale]:
        for seat, rival in (self.roles, self.roles[::-1]):
            yield ct.Tell(seat, self._briefing(seat, rival))
        price_type = SpokenPrice if self.messages else Price
        reply_type = ReplyOrJohn if self.outside_option else Reply
        for stage in range(1, self.horizon.rounds + 1):
            last = stage == self.horizon.told
            proposer, responder = self.roles if stage % 2 else self.roles[::-1]
            named: Price = yield ct.Ask(
                proposer, price_type, Turn(stage, last), self._objection, self._prices
            )
            message = named.message if isinstance(named, SpokenPrice) else None
            posted = PricePosted(stage, proposer, named.price, message, last)
            reply: Reply | ReplyOrJohn = yield ct.Ask(responder, reply_type, posted)
            if reply.decision == "accept":
                sale = Sale.unchecked(stage=stage, price=named.price, ended="trade")
                for seat, payoff in self.payoffs(sale).items():
                    yield ct.Tell(seat, Sold(stage, named.price, payoff))
                return sale
            if reply.decision == "john":
                yield ct.Tell(self.roles, LeftForJohn(responder))
                return Sale(stage=stage, ended="john")
            yield ct.Tell(proposer, PriceRejected(stage))
        john = self.outside_option and self.horizon.told == 1
        yield ct.Tell(self.roles, NoTrade(john))
        return Sale(stage=self.horizon.rounds, ended="john" if john else "rounds")

    def _briefing(self, seat: str, rival: str) -> Briefing:
        rival_value = self.value(rival) if self.complete_information else None
        return Briefing(
            seat,
            rival,
            self.value(seat),
            rival_value,
            self.horizon.told,
            self.messages,
            self.outside_option,
            self.scale * self.price_limit,
        )

    def _objection(self, named: Price) -> str | None:
        highest = self.scale * self.price_limit
        if not 0 <= named.price <= highest:
            return f"the price must lie between 0 and {highest:,.15g}, not be {named.price:,.15g}"
        return None

    def _prices(self) -> list[ct.rules.Schema]:
        return [alternative(price=between(0, self.scale * self.price_limit))]

    def payoffs(self, outcome: Sale) -> dict[str, float]:
        """Gains in dollars: price - value for Alice, value - price for Bob, 0 without a trade."""
        if outcome.price is None:
            return {"alice": 0.0, "bob": 0.0}
        return {
            "alice": outcome.price - self.value("alice"),
            "bob": self.value("bob") - outcome.price,
        }

    def payoff_bounds(self) -> dict[str, tuple[float, float]]:
        highest = self.scale * self.price_limit
        seller, buyer = self.value("alice"), self.value("bob")
        return {"alice": (-seller, highest - seller), "bob": (buyer - highest, buyer)}

    def secrets(self, instance: ct.Instance) -> Iterator[ct.rules.Secret]:
        if self.complete_information:
            return
        for owner, factor in zip(self.roles, ("seller_factor", "buyer_factor"), strict=True):
            game = self.model_copy(update={factor: getattr(self, factor) / 2})
            yield ct.rules.Secret(frozenset({owner}), game, instance)
