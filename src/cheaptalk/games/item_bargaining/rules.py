"""Item bargaining: alternating offers over kinds of items, with outside options."""

import math
from collections.abc import Iterator
from functools import partial
from operator import gt, mul, sub
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, StringConstraints, model_validator

import cheaptalk as ct
from cheaptalk.rules import Stream, alternative

MAX_COUNT = 99
"""Maximum number of items of one kind."""
MAX_DIVISIONS = 1_000_000
"""Maximum number of ways to divide a pool, so that all divisions can be enumerated."""

Units = Annotated[ct.rules.Whole, Field(ge=0, le=MAX_COUNT)]
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


class Drawn(ct.rules.Value):
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


class Move(ct.Action):
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


def moves(quantities: Bundle, answering: bool) -> list[ct.rules.Schema]:
    """Return the forms of a legal move with these items."""
    without_offer = ["ACCEPT", "WALK"] if answering else ["WALK"]
    offer = [range(count + 1) for count in quantities]
    return [
        alternative(action=without_offer, offer=None),
        alternative(action="COUNTEROFFER", offer=offer),
    ]


class Briefing(ct.Event):
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


class Opening(ct.Event):
    """A request to move when no offer is on the table."""

    round: int
    rounds: int


class OfferMade(ct.Event):
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


class Agreed(ct.Event):
    """The acceptance of an offer, with the player's bundle and payoff."""

    round: int
    by: str
    bundle: tuple[int, ...]
    payoff: float


class NotAgreed(ct.Event):
    """The end of a match without an agreement, with who ended it, how, and the player's payoff."""

    round: int
    by: str
    ended: Ending
    payoff: float


Values: TypeAlias = tuple[Annotated[int, Field(ge=1, strict=True)], ...]
Worth: TypeAlias = Annotated[int, Field(ge=0, strict=True)]


class Pool(ct.Instance):
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


class Settlement(ct.Outcome):
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


SEATS = ct.rules.numbered_seats("player", 2)
FIRST, SECOND = SEATS
ACTORS = (ct.rules.Actor(FIRST, FIRST), ct.rules.Actor(SECOND, SECOND))
TURNS = ((0, FIRST, SECOND), (1, SECOND, FIRST))
"""The actions of a round in order: the player's index, its seat and the rival's seat."""


class ItemBargaining(ct.Game):
    """Alternating offers over items of several kinds, with private values and outside options.

    There are q_t items of each kind t. A player's value of one of them is drawn for each kind and
    player from 1 to V, and the value of its outside option from 1 to its total value of all items;
    both are private. In each of R rounds player 1 acts and then player 2: each accepts the other's
    last offer, walks away, or makes an offer. An agreement gives each the value of its bundle;
    otherwise both get their outside options. Another offer as the last answer of the last round has
    the same effect as walking away. Outcomes in round r are multiplied by ``discount ** (r - 1)``,
    including outside options (Smithline, Mascioli, Chakraborty and Wellman, Measuring Competition
    and Cooperation in LLM Bargaining, section 3.1). The defaults are the paper's game BG5;
    :data:`~cheaptalk.games.item_bargaining.rules.PRESETS` contains all of its games.
    """

    name = "item_bargaining"
    payoff_unit = "points"
    roles = ("player",)
    events = (Briefing, Opening, OfferMade, Agreed, NotAgreed)
    actions = (Move,)
    instance_type = Pool
    outcome_type = Settlement
    tries = 1
    forfeit = (
        "The player walks away: both get their outside options, and the outcome "
        "records the invalid answer. A model has one try, as in the paper, unless the player has "
        "other settings."
    )

    quantities: tuple[Units, ...] | Drawn = (7, 4, 1)
    """The number of items of each kind (q), or how these numbers are drawn for each instance:
    ``{kinds: 5, mean: 4, zeros: kept}`` draws them from a Poisson distribution, and ``zeros``
    determines the treatment of kinds without items (kept, redrawn, or plus_one).
    """
    highest_value: int = Field(default=100, ge=1, le=10_000, strict=True)
    """The maximum value of an item to a player (V); the minimum is 1."""
    least_outside: Literal[0, 1] = 1
    """The minimum value of an outside option."""
    below_total: bool = False
    """Whether an outside option is always worth less than all items together, instead of at most as
    much. (The published means fit the range from 0 to below the total best; its text says from 1
    to the total.)"""
    discount: float = Field(default=0.98, gt=0, le=1)
    """The factor by which an outcome's value shrinks from round to round (gamma)."""
    rounds: int = Field(default=3, ge=1, le=1_000, strict=True)
    """The maximum number of rounds (R)."""

    @model_validator(mode="after")
    def _items_can_be_divided(self) -> "ItemBargaining":
        reason = None if isinstance(self.quantities, Drawn) else no_pool(self.quantities)
        if reason is not None:
            raise ValueError(f"quantities: {reason}")
        return self

    @property
    def seats(self) -> dict[str, str]:
        return dict(SEATS)

    @property
    def actors(self) -> tuple[ct.rules.Actor, ...]:
        return ACTORS

    def draw_instance(self, chance: ct.Chance) -> Pool:
        quantities = self.quantities
        if isinstance(quantities, Drawn):
            quantities = quantities.quantities(chance("quantities"))
        draw = chance("values and outside options")
        values, outside = zip(*[self._hand(quantities, draw) for _ in SEATS], strict=True)
        return Pool.unchecked(quantities=quantities, values=values, outside=outside)

    def _hand(self, quantities: Bundle, draw: Stream) -> tuple[tuple[int, ...], int]:
        integer, highest = draw.integer, self.highest_value
        values = tuple([integer(1, highest) for _ in quantities])
        return values, integer(self.least_outside, worth(quantities, values) - self.below_total)

    def play(self, instance: Pool, chance: ct.Chance) -> ct.Play[Settlement]:
        for player, seat, rival in TURNS:
            yield ct.Tell(seat, self._briefing(instance, player, seat, rival))
        checks = [
            (partial(objection, items, answering), partial(moves, items, answering))
            for items, answering in ((instance.quantities, False), (instance.quantities, True))
        ]
        offer: Bundle | None = None
        for number in range(1, self.rounds + 1):
            for player, seat, rival in TURNS:
                event: Opening | OfferMade
                if offer is None:
                    event = Opening(number, self.rounds)
                else:
                    last = number == self.rounds and player == 1
                    kept_bundle = rest(instance.quantities, offer)
                    event = OfferMade(number, self.rounds, rival, offer, kept_bundle, last)
                try:
                    move: Move = yield ct.Ask(seat, Move, event, *checks[offer is not None])
                except ct.rules.Forfeited:
                    return (yield from self._end(instance, "invalid", number, player))
                if move.action == "WALK":
                    return (yield from self._end(instance, "walk", number, player))
                if move.action == "ACCEPT":
                    return (yield from self._end(instance, "accept", number, player, offer))
                offer = move.offer
        return (yield from self._end(instance, "rounds", self.rounds, player=1))

    def _briefing(self, instance: Pool, player: int, seat: str, rival: str) -> Briefing:
        quantities, values = instance.quantities, instance.values[player]
        return Briefing(
            seat,
            rival,
            quantities,
            values,
            worth(quantities, values),
            instance.outside[player],
            self.least_outside,
            self.below_total,
            self.highest_value,
            self.discount,
            self.rounds,
        )

    def _end(
        self,
        instance: Pool,
        ended: Ending,
        number: int,
        player: int,
        accepted: Bundle | None = None,
    ) -> ct.Play[Settlement]:
        """Send both players the outcome; ``accepted`` is the accepted bundle, if any."""
        by = ACTORS[player].name
        bundles, worths = None, instance.outside
        if accepted is not None:
            remainder = rest(instance.quantities, accepted)
            bundles = (remainder, accepted) if player else (accepted, remainder)
            worths = (worth(bundles[0], instance.values[0]), worth(bundles[1], instance.values[1]))
        end = Settlement.unchecked(ended=ended, round=number, by=by, bundles=bundles, worth=worths)
        for index, (seat, payoff) in enumerate(self.payoffs(end).items()):
            if bundles is None:
                yield ct.Tell(seat, NotAgreed(number, by, ended, payoff))
            else:
                yield ct.Tell(seat, Agreed(number, by, bundles[index], payoff))
        return end

    def payoffs(self, outcome: Settlement) -> dict[str, float]:
        """The discounted value of each player's bundle or outside option, in points."""
        factor = self.discount ** (outcome.round - 1)
        return {FIRST: outcome.worth[0] * factor, SECOND: outcome.worth[1] * factor}

    def payoff_bounds(self) -> dict[str, tuple[float, float]]:
        quantities = self.quantities
        items = MAX_COUNT * quantities.kinds if isinstance(quantities, Drawn) else sum(quantities)
        return {"player": (0.0, float(items * self.highest_value))}

    def secrets(self, instance: Pool) -> Iterator[ct.rules.Secret]:
        for player, owner in enumerate(SEATS):
            new_values = tuple(value % self.highest_value + 1 for value in instance.values[player])
            new_outside = instance.outside[player] - 1 if instance.outside[player] else 1
            for name, changed in (("values", new_values), ("outside", new_outside)):
                pair = list(getattr(instance, name))
                pair[player] = changed
                fields = instance.model_dump() | {name: pair}
                yield ct.rules.Secret(frozenset({owner}), self, Pool.model_validate(fields))


BGS: dict[str, Any] = {"quantities": (7, 4, 1)}
"""The class of small games: three kinds with fixed quantities."""
BGL: dict[str, Any] = {"quantities": {"kinds": 5, "mean": 4}}
"""The class of large games: five kinds, each with a Poisson number of items with mean 4."""

PRESETS: dict[str, dict[str, Any]] = {
    "BG1": BGL | {"discount": 0.9, "rounds": 3},
    "BG2": BGL | {"discount": 0.98, "rounds": 3},
    "BG3": BGL | {"discount": 0.98, "rounds": 5},
    "BG4": BGS | {"discount": 0.9, "rounds": 3},
    "BG5": BGS | {"discount": 0.98, "rounds": 3},
    "BG6": BGS | {"discount": 0.98, "rounds": 5},
    "BGS": BGS,
    "BGL": BGL,
}
"""The paper's games by name, for ``ItemBargaining.model_validate``; the two classes have the
default discount and rounds."""
