"""Items, actions, events, instances and outcomes of item bargaining."""

import math
from operator import gt, mul, sub
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, StringConstraints, model_validator

from cheaptalk.rules import Action, Event, Instance, Outcome, Stream, Value, Whole

MAX_COUNT = 99
"""Maximum number of items of one kind."""
MAX_DIVISIONS = 1_000_000
"""Maximum number of ways to divide a pool, so that all divisions can be enumerated."""

Units = Annotated[Whole, Field(ge=0, le=MAX_COUNT)]
Bundle: TypeAlias = tuple[Units, ...]
"""The number of items of each kind, in the order of the kinds."""


def worth(bundle: Bundle, values: tuple[int, ...]) -> int:
    """Return the value of a bundle, given the value of one item of each kind."""
    return sum(map(mul, bundle, values))


def rest(quantities: Bundle, bundle: Bundle) -> Bundle:
    """Return the items that remain after a bundle is removed."""
    return tuple(map(sub, quantities, bundle))


def no_pool(quantities: Bundle) -> str | None:
    """Return the reason why items are unsuitable for bargaining, or None if they are suitable."""
    if sum(quantities) < 2:
        return "there must be at least two items"
    if math.prod(count + 1 for count in quantities) > MAX_DIVISIONS:
        return f"the items could be divided in more than {MAX_DIVISIONS:,} ways"
    return None


class Drawn(Value):
    """Item quantities that are drawn from a Poisson distribution for every instance."""

    kinds: int = Field(default=5, ge=1, le=10, strict=True)
    """The number of kinds of items (T)."""
    mean: float = Field(default=4, ge=0.5, le=20)
    """The mean number of items of a kind."""
    zeros: Literal["kept", "redrawn", "plus_one"] = "kept"
    """The treatment of kinds without items: keep them, draw them again, or add one item to every
    kind. The paper's text says the first; the last is in a version of its code."""

    @model_validator(mode="after")
    def _can_be_divided(self) -> "Drawn":
        if (self.mean + 2) ** self.kinds > MAX_DIVISIONS:
            raise ValueError(
                f"many pools could be divided in more than {MAX_DIVISIONS:,} ways; "
                "use a lower mean or fewer kinds"
            )
        return self

    def quantities(self, draw: Stream) -> Bundle:
        """Draw the number of items of each kind, until they are suitable for bargaining."""
        while True:
            counts = tuple([self._count(draw) for _ in range(self.kinds)])
            if no_pool(counts) is None:
                return counts

    def _count(self, draw: Stream) -> int:
        while True:
            count = poisson(self.mean, draw.uniform())
            if self.zeros == "plus_one":
                return min(count + 1, MAX_COUNT)
            if count or self.zeros == "kept":
                return min(count, MAX_COUNT)


def poisson(mean: float, draw: float) -> int:
    """Return a quantile of the Poisson distribution, computed by inversion.

    >>> [poisson(4, draw) for draw in (0, 0.1, 0.5, 0.99)]
    [0, 2, 4, 9]
    """
    count, chance = 0, math.exp(-mean)
    while draw >= chance and count < MAX_COUNT:
        draw -= chance
        count += 1
        chance *= mean / count
    return count


THOUGHTS = 20_000
"""The maximum number of characters of the reasoning in an answer."""

Ending: TypeAlias = Literal["accept", "walk", "invalid", "rounds"]
"""How a match ended: accepted, walked away, invalid answer, or an offer after the last round."""


class Move(Action):
    """What to do: accept the offer on the table, walk away, or make an offer.

    The reasoning is private: it is recorded, and no other player sees it.
    """

    reasoning: Annotated[str, StringConstraints(max_length=THOUGHTS, strict=True)] = ""
    action: Literal["ACCEPT", "WALK", "COUNTEROFFER"]
    offer: Bundle | None = None
    """The items of each kind for the other player."""

    @model_validator(mode="before")
    @classmethod
    def _without_an_idle_offer(cls, data: Any) -> Any:
        """Remove the empty offer that a form adds to ACCEPT or WALK."""
        if isinstance(data, dict) and data.get("offer") == []:
            return data if data.get("action") == "COUNTEROFFER" else data | {"offer": None}
        return data

    @model_validator(mode="after")
    def _offers_what_it_says(self) -> "Move":
        if self.action == "COUNTEROFFER" and self.offer is None:
            raise ValueError('a counteroffer needs an "offer"')
        if self.action != "COUNTEROFFER" and self.offer is not None:
            raise ValueError(f'an "offer" goes with COUNTEROFFER only, not with {self.action}')
        return self


def objection(quantities: Bundle, answering: bool, move: Move) -> str | None:
    """Return why a move is illegal with these items, or None if it is legal."""
    offer = move.offer
    if offer is None:
        early = move.action == "ACCEPT" and not answering
        return "there is no offer yet that could be accepted" if early else None
    if len(offer) != len(quantities):
        return f"the offer must have {len(quantities)} numbers, one for each kind of items"
    if any(map(gt, offer, quantities)):
        pairs = enumerate(zip(offer, quantities, strict=True), start=1)
        kind, (offered, count) = next(pair for pair in pairs if gt(*pair[1]))
        available = {0: "is none", 1: "is only 1"}.get(count, f"are only {count}")
        return f"you offer {offered} of kind {kind}, and there {available}"
    return None


class Briefing(Event):
    """Information that a player receives at the start of the match.

    Attributes:
        seat, rival: the player's seat and the other one.
        quantities: the items of each kind.
        values: the value of one item of each kind to the player.
        total: the value of all items to the player.
        outside: the value of its outside option.
        least_outside, below_total: the range of outside options, see the parameters.
        highest_value: the maximum value of an item.
        discount, rounds: as in the parameters.
    """

    seat: str
    rival: str
    quantities: tuple[int, ...]
    values: tuple[int, ...]
    total: int
    outside: int
    least_outside: int
    below_total: bool
    highest_value: int
    discount: float
    rounds: int


class Opening(Event):
    """A request to move when no offer is on the table."""

    round: int
    rounds: int


class OfferMade(Event):
    """The rival's offer of items, and the items that it would keep (``kept``).

    ``last`` is whether the seat's answer is the last of the match, so that an offer would be too
    late.
    """

    round: int
    rounds: int
    proposer: str
    offer: tuple[int, ...]
    kept: tuple[int, ...]
    last: bool


class Agreed(Event):
    """The acceptance of an offer, with the player's bundle and payoff."""

    round: int
    by: str
    bundle: tuple[int, ...]
    payoff: float


class NotAgreed(Event):
    """The end of a match without an agreement, with who ended it, how, and the player's payoff."""

    round: int
    by: str
    ended: Ending
    payoff: float


Values: TypeAlias = tuple[Annotated[int, Field(ge=1, strict=True)], ...]
Worth: TypeAlias = Annotated[int, Field(ge=0, strict=True)]


class Pool(Instance):
    """The items to divide, and the players' values and outside options.

    Attributes:
        quantities: the items of each kind.
        values: the value of one item of each kind, to player_1 and to player_2.
        outside: the value of the outside option, to player_1 and to player_2.
    """

    quantities: Bundle
    values: tuple[Values, Values]
    outside: tuple[Worth, Worth]

    @model_validator(mode="after")
    def _values_every_kind(self) -> "Pool":
        if any(len(values) != len(self.quantities) for values in self.values):
            raise ValueError("values: expected one value of each player for each kind of item")
        return self


class Settlement(Outcome):
    """The outcome of an item bargaining match.

    Attributes:
        ended: see :data:`Ending`.
        round: the round in which it ended, from 1.
        by: the seat whose answer ended it.
        bundles: the bundles of player_1 and player_2; None without an agreement.
        worth: each player's undiscounted result: the value of its bundle, or its outside option.
    """

    ended: Ending
    round: Annotated[int, Field(ge=1)]
    by: str
    bundles: tuple[Bundle, Bundle] | None = None
    worth: tuple[Worth, Worth]
