"""Item bargaining: alternating offers over kinds of items, with outside options."""

from collections.abc import Iterator
from functools import partial
from typing import Any, Literal

from pydantic import Field, model_validator

from cheaptalk.games.item_bargaining.events import (
    Agreed,
    Briefing,
    Ending,
    Move,
    NotAgreed,
    OfferMade,
    Opening,
    Pool,
    Settlement,
    objection,
)
from cheaptalk.games.item_bargaining.pools import MOST, Bundle, Drawn, Units, no_pool, rest, worth
from cheaptalk.rules import Ask, Chance, Forfeited, Game, Play, Seat, Secret, Stream, Tell, numbered

PLACES = numbered("player", 2)
FIRST, SECOND = PLACES
SEATS = (Seat(FIRST, FIRST), Seat(SECOND, SECOND))
TURNS = ((0, FIRST, SECOND), (1, SECOND, FIRST))
"""Who acts in a round, in order: the player's number, its seat, the rival's."""


class ItemBargaining(Game):
    """Alternating offers over items of several kinds, with private values and outside options.

    There are q_t items of each kind t. What one of them is worth to a player is drawn for each
    kind and player from 1 to V, and what a player's outside option is worth from 1 to what all
    items are worth to it; both are private. In each of R rounds player 1 acts and then player 2:
    each accepts the other's last offer, walks away, or makes an offer. An agreement gives each
    the worth of its bundle; otherwise both get their outside options. One more offer as the last
    answer of the last round comes to walking away. What ends in round r is worth
    ``discount ** (r - 1)`` of it, outside options included (Smithline, Mascioli, Chakraborty and
    Wellman, Measuring Competition and Cooperation in LLM Bargaining, section 3.1). The
    defaults are the paper's game BG5; :data:`~cheaptalk.games.item_bargaining.rules.PRESETS`
    has all of them.
    """

    name = "item_bargaining"
    payoff_unit = "points"
    roles = ("player",)
    events = (Briefing, Opening, OfferMade, Agreed, NotAgreed)
    actions = (Move,)
    deal_type = Pool
    outcome_type = Settlement
    tries = 1
    forfeit = (
        "The seat walks away: both get their outside options, and the outcome says that the answer "
        "was invalid. A model is asked once, as in the paper, unless its seat says otherwise."
    )

    quantities: tuple[Units, ...] | Drawn = (7, 4, 1)
    """How many items there are of each kind (q), or how these numbers are drawn anew for each deal:
    ``{kinds: 5, mean: 4, zeros: kept}`` draws them from a Poisson distribution, and ``zeros`` says
    what becomes of a kind of which there would be no item (kept, redrawn, or plus_one)."""
    highest_value: int = Field(default=100, ge=1, le=10_000, strict=True)
    """The most that one item can be worth to a player (V); the least is 1."""
    least_outside: Literal[0, 1] = 1
    """The least that an outside option can be worth."""
    below_total: bool = False
    """Whether an outside option is always worth less than all items together, instead of at most
    as much. (The published means fit the range from 0 to below the total best, its text says from
    1 to the total.)"""
    discount: float = Field(default=0.98, gt=0, le=1)
    """What an outcome keeps of its worth from one round to the next (gamma)."""
    rounds: int = Field(default=3, ge=1, le=1_000, strict=True)
    """How many rounds there can be (R)."""

    @model_validator(mode="after")
    def _items_can_be_divided(self) -> "ItemBargaining":
        reason = None if isinstance(self.quantities, Drawn) else no_pool(self.quantities)
        if reason is not None:
            raise ValueError(f"quantities: {reason}")
        return self

    @property
    def places(self) -> dict[str, str]:
        """player_1, who acts first in every round, and player_2."""
        return dict(PLACES)

    @property
    def seats(self) -> tuple[Seat, ...]:
        return SEATS

    def deal(self, chance: Chance) -> Pool:
        given = self.quantities
        drawn = given.quantities(chance("quantities")) if isinstance(given, Drawn) else given
        draw = chance("values and outside options")
        (first, outside), (second, other) = self._hand(drawn, draw), self._hand(drawn, draw)
        return Pool.unchecked(quantities=drawn, values=(first, second), outside=(outside, other))

    def _hand(self, quantities: Bundle, draw: Stream) -> tuple[tuple[int, ...], int]:
        integer, highest = draw.integer, self.highest_value
        values = tuple([integer(1, highest) for _ in quantities])
        return values, integer(self.least_outside, worth(quantities, values) - self.below_total)

    def play(self, deal: Pool, chance: Chance) -> Play[Settlement]:
        for player, seat, rival in TURNS:
            yield Tell(seat, self._briefing(deal, player, seat, rival))
        legal = partial(objection, deal.quantities, False)
        answering = partial(objection, deal.quantities, True)
        offer: Bundle | None = None
        for number in range(1, self.rounds + 1):
            for player, seat, rival in TURNS:
                event: Opening | OfferMade
                if offer is None:
                    event = Opening(number, self.rounds)
                else:
                    last = number == self.rounds and player == 1
                    kept = rest(deal.quantities, offer)
                    event = OfferMade(number, self.rounds, rival, offer, kept, last)
                try:
                    move: Move = yield Ask(seat, Move, event, legal)
                except Forfeited:
                    return (yield from self._end(deal, "invalid", number, player))
                if move.action == "WALK":
                    return (yield from self._end(deal, "walk", number, player))
                if move.action == "ACCEPT":
                    return (yield from self._end(deal, "accept", number, player, offer))
                offer, legal = move.offer, answering
        return (yield from self._end(deal, "rounds", self.rounds, player=1))

    def _briefing(self, deal: Pool, player: int, seat: str, rival: str) -> Briefing:
        quantities, values, outside = deal.quantities, deal.values[player], deal.outside[player]
        return Briefing(
            seat,
            rival,
            quantities,
            values,
            worth(quantities, values),
            outside,
            self.least_outside,
            self.below_total,
            self.highest_value,
            self.discount,
            self.rounds,
        )

    def _end(
        self, deal: Pool, ended: Ending, number: int, player: int, taken: Bundle | None = None
    ) -> Play[Settlement]:
        """Tell both how it ended; ``taken`` is the bundle that this player accepted."""
        by = SEATS[player].name
        bundles, worths = None, deal.outside
        if taken is not None:
            left = rest(deal.quantities, taken)
            bundles = (left, taken) if player else (taken, left)
            worths = (worth(bundles[0], deal.values[0]), worth(bundles[1], deal.values[1]))
        end = Settlement.unchecked(ended=ended, round=number, by=by, bundles=bundles, worth=worths)
        for place, (seat, payoff) in enumerate(self.payoffs(end).items()):
            if bundles is None:
                yield Tell(seat, NotAgreed(number, by, ended, payoff))
            else:
                yield Tell(seat, Agreed(number, by, bundles[place], payoff))
        return end

    def payoffs(self, outcome: Settlement) -> dict[str, float]:
        """Points: what each realises (its bundle's worth or its outside option), discounted."""
        kept = self.discount ** (outcome.round - 1)
        return {FIRST: outcome.worth[0] * kept, SECOND: outcome.worth[1] * kept}

    def payoff_bounds(self) -> dict[str, tuple[float, float]]:
        drawn = self.quantities
        most = MOST * drawn.kinds if isinstance(drawn, Drawn) else sum(drawn)
        return {"player": (0.0, float(most * self.highest_value))}

    def secrets(self, deal: Pool) -> Iterator[Secret]:
        """Each player's values, and its outside option."""
        for player, owner in enumerate(PLACES):
            other = tuple(value % self.highest_value + 1 for value in deal.values[player])
            lower = deal.outside[player] - 1 if deal.outside[player] else 1
            for name, changed in (("values", other), ("outside", lower)):
                both = list(getattr(deal, name))
                both[player] = changed
                fields = deal.model_dump() | {name: both}
                yield Secret(frozenset({owner}), self, Pool.model_validate(fields))


BGS: dict[str, Any] = {"quantities": (7, 4, 1)}
"""The class of small games: three kinds, always as many items."""
BGL: dict[str, Any] = {"quantities": {"kinds": 5, "mean": 4}}
"""The class of large games: five kinds, as many items of each as a Poisson number of mean 4."""

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
"""By the paper's names, for ``ItemBargaining.model_validate``; the two classes have the default
discount and rounds, on which nothing that is particular to a class depends."""
