"""Item bargaining as array functions; see :class:`.ItemBargaining`."""

from collections.abc import Iterator, Sequence
from itertools import product
from math import exp, factorial, prod
from typing import Any, NamedTuple

from cheaptalk.arrays.games import Array, ArrayGame, NotArrayed, namespace, one_hot
from cheaptalk.arrays.luck import below
from cheaptalk.games.extras import needed
from cheaptalk.games.item_bargaining.best_response import Hand
from cheaptalk.games.item_bargaining.events import Briefing, Move, OfferMade, Pool
from cheaptalk.games.item_bargaining.pools import LARGEST, MOST, Bundle, Drawn, worth
from cheaptalk.games.item_bargaining.rules import PLACES, ItemBargaining
from cheaptalk.rules import Action, Asked, Deal

np = needed("numpy")

WALK, ACCEPT, OFFER = 0, 1, 2
"""Actions; from ``OFFER`` on they are bundles to offer, see ``ItemBargainingArrays.offered``."""
RUNNING, ACCEPTED, WALKED, LATE = 0, 1, 2, 3
"""How a match stands: under way, or ended by accepting, by walking, or by an offer too late."""
MOST_HANDS = 1_000
"""Hands of a player up to which all deals are listed."""
TRIES = 4
"""Pools that are drawn, of which the first that can be divided is dealt."""


class Bargain(NamedTuple):
    """Matches of item bargaining. Each move that does not end a match is an offer.

    Attributes:
        quantities: items of each kind, shape (..., kinds).
        values: of an item of each kind, shape (..., 2, kinds).
        outside: outside options, shape (..., 2).
        offers: made so far, to the other player each, shape (..., 2 x rounds, kinds).
        moves: how many offers were made; shape (...).
        stands: how the match stands; shape (...).
    """

    quantities: Array
    values: Array
    outside: Array
    offers: Array
    moves: Array
    stands: Array


class ItemBargainingArrays(ArrayGame[ItemBargaining, Bargain]):
    """Item bargaining, many matches at once."""

    def __init__(self, rules: ItemBargaining) -> None:
        super().__init__(rules)
        given = rules.quantities
        self.fixed = None if isinstance(given, Drawn) else given
        self.kinds = given.kinds if isinstance(given, Drawn) else len(given)
        self.players = tuple(PLACES)
        most = LARGEST if self.fixed is None else prod(count + 1 for count in self.fixed)
        self.actions = OFFER + most
        drawn = 0 if self.fixed is not None else TRIES * self.kinds
        self.luck = drawn + 2 * (self.kinds + 1)
        self.longest = 2 * rules.rounds
        self.pieces = {
            "player": 2, "quantities": self.kinds, "values": self.kinds, "outside": 1,
            "moves": self.longest, "offers": self.longest * self.kinds,
        }  # fmt: skip
        self.kept = np.array([rules.discount**number for number in range(rules.rounds)])

    # Deals

    def deal(self, luck: Array) -> Bargain:
        xp, shape, kinds = namespace(luck), luck.shape[:-1], self.kinds
        quantities = self._quantities(luck[..., : self.luck - 2 * (kinds + 1)])
        own = luck[..., -2 * (kinds + 1) :].reshape(*shape, 2, kinds + 1)
        values = 1 + below(own[..., :kinds], self.rules.highest_value)
        total = (values * quantities[..., None, :]).sum(axis=-1)
        least = self.rules.least_outside
        width = total - self.rules.below_total - least + 1
        outside = least + below(own[..., kinds], width)
        return self._begun(xp, quantities, values, outside)

    def of_deals(self, deals: Sequence[Deal]) -> Bargain:
        pools = [one for one in deals if isinstance(one, Pool)]
        quantities, values, outside = (
            np.array([getattr(one, name) for one in pools], np.int32)
            for name in ("quantities", "values", "outside")
        )
        return self._begun(np, quantities, values, outside)

    def every_deal(self) -> tuple[list[Deal], list[float]]:
        if self.fixed is None or self.rules.highest_value**self.kinds > MOST_HANDS:
            raise NotArrayed(
                "item_bargaining has too many deals to list; take fixed quantities, few kinds and "
                "a small highest_value"
            )
        hands = list(self._hands(self.fixed))
        if len(hands) > MOST_HANDS:
            raise NotArrayed("item_bargaining has too many deals to list; take fewer items")
        pairs = list(product(hands, repeat=2))
        deals: list[Deal] = [
            Pool(quantities=self.fixed, values=(one.values, other.values),
                 outside=(one.outside, other.outside))
            for one, other in pairs
        ]  # fmt: skip
        return deals, [one.weight * other.weight for one, other in pairs]

    def _hands(self, quantities: Bundle) -> Iterator[Hand]:
        """All hands that a player can have, with their probabilities."""
        rules, most = self.rules, self.rules.highest_value
        for values in product(range(1, most + 1), repeat=self.kinds):
            top = worth(quantities, values) - rules.below_total
            options = range(rules.least_outside, top + 1)
            for outside in options:
                yield Hand(values, outside, most**-self.kinds / len(options))

    def deals_of(self, state: Bargain) -> list[Deal]:
        columns = (np.asarray(part).tolist() for part in state[:3])
        return [
            Pool(quantities=quantities, values=values, outside=outside)
            for quantities, values, outside in zip(*columns, strict=True)
        ]

    def _begun(self, xp: Any, quantities: Array, values: Array, outside: Array) -> Bargain:
        shape = outside.shape[:-1]
        return Bargain(
            quantities, values, outside,
            xp.zeros((*shape, self.longest, self.kinds), np.int32),
            xp.zeros(shape, np.int32), xp.zeros(shape, np.int32),
        )  # fmt: skip

    def _quantities(self, luck: Array) -> Array:
        """The items of each kind, shape (..., kinds)."""
        xp, shape = namespace(luck), luck.shape[:-1]
        given = self.rules.quantities
        if not isinstance(given, Drawn):
            return xp.broadcast_to(xp.asarray(given, dtype=np.int32), (*shape, self.kinds))
        chances = [exp(-given.mean) * given.mean**count / factorial(count) for count in range(MOST)]
        below = np.cumsum(chances)
        place = luck.reshape(*shape, TRIES, self.kinds)
        if given.zeros == "redrawn":
            place = chances[0] + place * (1 - chances[0])
        counts = (place[..., None] >= xp.asarray(below)).sum(axis=-1).astype(np.int32)
        counts = xp.minimum(counts + (given.zeros == "plus_one"), MOST)
        ways = (counts + 1.0).prod(axis=-1)
        good = (counts.sum(axis=-1) >= 2) & (ways <= LARGEST)
        first = xp.argmax(good, axis=-1)[..., None, None]
        chosen = xp.take_along_axis(counts, first, axis=-2)[..., 0, :]
        return xp.where(good.any(axis=-1)[..., None], chosen, 2)

    # Moves

    def turn(self, state: Bargain) -> Array:
        return state.moves % 2

    def over(self, state: Bargain) -> Array:
        return state.stands != RUNNING

    def ways(self, state: Bargain) -> Array:
        """In how many ways the pool can be divided; shape (...)."""
        return (state.quantities + 1).prod(axis=-1)

    def permitted(self, state: Bargain, number: Array) -> Array:
        bundles = number < OFFER + self.ways(state)[..., None]
        possible = bundles & ((number != ACCEPT) | (state.moves > 0)[..., None])
        return possible & ~self.over(state)[..., None]

    def drawn(self, state: Bargain, luck: Array) -> Array:
        first = state.moves == 0
        count = self.ways(state) + OFFER - first
        number = below(luck, count)
        return number + (first & (number >= ACCEPT))

    def offered(self, quantities: Array, action: Array) -> Array:
        """The bundle that an action offers, shape (..., kinds): the digits of its number, in which
        each kind counts up to its items, the last one fastest.
        """
        xp, left, digits = namespace(action), action - OFFER, []
        for kind in reversed(range(self.kinds)):
            base = quantities[..., kind] + 1
            digits.append(left % base)
            left = left // base
        return xp.stack(digits[::-1], axis=-1)

    def moved(self, state: Bargain, action: Array, moves: Array) -> Bargain:
        xp, offering = namespace(state.moves), action >= OFFER
        late = state.moves == self.longest - 1
        ended = xp.where(action == ACCEPT, ACCEPTED, xp.where(action == WALK, WALKED, LATE))
        goes_on = offering & ~late
        stands = xp.where(moves & ~goes_on, ended, state.stands).astype(np.int32)
        made = moves & goes_on
        here = (xp.arange(self.longest) == state.moves[..., None]) & made[..., None]
        bundle = self.offered(state.quantities, xp.maximum(action, OFFER))
        offers = xp.where(here[..., None], bundle[..., None, :], state.offers)
        return state._replace(offers=offers, moves=state.moves + made, stands=stands)

    def table(self, state: Bargain) -> Array:
        """The offer on the table, zeros before the first; shape (..., kinds)."""
        xp = namespace(state.moves)
        last = xp.maximum(state.moves - 1, 0)[..., None, None]
        return xp.take_along_axis(state.offers, last, axis=-2)[..., 0, :]

    def returns(self, state: Bargain) -> Array:
        xp = namespace(state.moves)
        taken = self.table(state)
        left = state.quantities - taken
        taker = state.moves % 2
        bundles = xp.stack(
            [xp.where((taker == player)[..., None], taken, left) for player in (0, 1)], axis=-2
        )
        agreed = (bundles * state.values).sum(axis=-1)
        worth = xp.where((state.stands == ACCEPTED)[..., None], agreed, state.outside)
        kept = xp.asarray(self.kept)[state.moves // 2]
        return xp.where(self.over(state)[..., None], worth * kept[..., None], 0.0)

    def scale(self, state: Bargain) -> Array:
        """What all items are worth to each player."""
        return (state.values * state.quantities[..., None, :]).sum(axis=-1).astype(np.float32)

    # What players know

    def observe(self, state: Bargain, player: Array) -> Array:
        xp = namespace(state.moves)
        player = xp.broadcast_to(xp.asarray(player), state.moves.shape)
        own = player[..., None, None]
        values = xp.take_along_axis(state.values, own, axis=-2)[..., 0, :]
        outside = xp.take_along_axis(state.outside, player[..., None], axis=-1)[..., 0]
        total = xp.maximum((values * state.quantities).sum(axis=-1), 1)
        most = max(self.fixed) if self.fixed else MOST
        share = state.offers / xp.maximum(state.quantities, 1)[..., None, :]
        pieces = [  # shares of the largest possible numbers, in [0, 1]
            one_hot(xp, player, 2), state.quantities / most, values / self.rules.highest_value,
            (outside / total)[..., None], one_hot(xp, state.moves, self.longest),
            share.reshape(*state.moves.shape, self.longest * self.kinds),
        ]  # fmt: skip
        return xp.concatenate([piece.astype(np.float32) for piece in pieces], axis=-1)

    def position(self, asked: Asked) -> Bargain:
        briefing: Briefing = asked.briefing
        made = []
        for event, action in [*asked.heard, (asked.event, None)]:
            if isinstance(event, OfferMade):
                made.append(event.offer)
            if isinstance(action, Move) and action.offer is not None:
                made.append(action.offer)
        offers = np.zeros((self.longest, self.kinds), np.int32)
        offers[: len(made)] = made or 0
        player, values = self.place_number(asked), np.zeros((2, self.kinds), np.int32)
        values[player] = briefing.values
        outside = np.zeros(2)
        outside[player] = briefing.outside
        return Bargain(
            np.array(briefing.quantities),
            values,
            outside,
            offers,
            np.array(len(made)),
            np.array(RUNNING),
        )

    def action(self, asked: Asked, number: int) -> Action:
        if number < OFFER:
            return Move(action="ACCEPT" if number == ACCEPT else "WALK")
        offer = self.offered(np.array(asked.briefing.quantities), np.array(number))
        return Move(action="COUNTEROFFER", offer=tuple(int(one) for one in offer))

    def number(self, asked: Asked, action: Action) -> int:
        assert isinstance(action, Move)
        if action.offer is None:
            return ACCEPT if action.action == "ACCEPT" else WALK
        found = 0
        for count, of in zip(action.offer, asked.briefing.quantities, strict=True):
            found = found * (of + 1) + count
        return OFFER + found
