"""Item bargaining: alternating offers over kinds of items, with outside options."""

from collections.abc import Iterator
from functools import partial
from typing import Any, Literal

from pydantic import Field, model_validator

from cheaptalk.games.item_bargaining.events import (
    MAX_COUNT,
    Agreed,
    Briefing,
    Bundle,
    Drawn,
    Ending,
    Move,
    NotAgreed,
    OfferMade,
    Opening,
    Pool,
    Settlement,
    Units,
    no_pool,
    objection,
    rest,
    worth,
)
from cheaptalk.rules import (
    Actor,
    Ask,
    Chance,
    Forfeited,
    Game,
    Play,
    Secret,
    Stream,
    Tell,
    numbered,
)

SEATS = numbered("player", 2)
FIRST, SECOND = SEATS
ACTORS = (Actor(FIRST, FIRST), Actor(SECOND, SECOND))
TURNS = ((0, FIRST, SECOND), (1, SECOND, FIRST))
"""The actions of a round in order: the player's index, its seat and the rival's seat."""


class ItemBargaining(Game):
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
    def actors(self) -> tuple[Actor, ...]:
        return ACTORS

    def draw_instance(self, chance: Chance) -> Pool:
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

    def play(self, instance: Pool, chance: Chance) -> Play[Settlement]:
        for player, seat, rival in TURNS:
            yield Tell(seat, self._briefing(instance, player, seat, rival))
        legal = partial(objection, instance.quantities, False)
        answering = partial(objection, instance.quantities, True)
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
                    move: Move = yield Ask(seat, Move, event, legal)
                except Forfeited:
                    return (yield from self._end(instance, "invalid", number, player))
                if move.action == "WALK":
                    return (yield from self._end(instance, "walk", number, player))
                if move.action == "ACCEPT":
                    return (yield from self._end(instance, "accept", number, player, offer))
                offer, legal = move.offer, answering
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
    ) -> Play[Settlement]:
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
                yield Tell(seat, NotAgreed(number, by, ended, payoff))
            else:
                yield Tell(seat, Agreed(number, by, bundles[index], payoff))
        return end

    def payoffs(self, outcome: Settlement) -> dict[str, float]:
        """The discounted value of each player's bundle or outside option, in points."""
        factor = self.discount ** (outcome.round - 1)
        return {FIRST: outcome.worth[0] * factor, SECOND: outcome.worth[1] * factor}

    def payoff_bounds(self) -> dict[str, tuple[float, float]]:
        quantities = self.quantities
        items = MAX_COUNT * quantities.kinds if isinstance(quantities, Drawn) else sum(quantities)
        return {"player": (0.0, float(items * self.highest_value))}

    def secrets(self, instance: Pool) -> Iterator[Secret]:
        for player, owner in enumerate(SEATS):
            new_values = tuple(value % self.highest_value + 1 for value in instance.values[player])
            new_outside = instance.outside[player] - 1 if instance.outside[player] else 1
            for name, changed in (("values", new_values), ("outside", new_outside)):
                pair = list(getattr(instance, name))
                pair[player] = changed
                fields = instance.model_dump() | {name: pair}
                yield Secret(frozenset({owner}), self, Pool.model_validate(fields))


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


def walked(instance: Pool, by: str = FIRST) -> Settlement:
    """Return the outcome of a match in which one player uses the strategy ``walk`` (section 5).

    The strategy walks away in round 1 against any rival, so no model calls are needed.
    """
    return Settlement(ended="walk", round=1, by=by, worth=instance.outside)
