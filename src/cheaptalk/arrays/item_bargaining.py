"""Item bargaining as an array game, which plays many matches at once."""

from collections.abc import Mapping, Sequence
from itertools import product
from math import exp, factorial, prod
from typing import Any, NamedTuple

from cheaptalk.arrays.chance import draw_below
from cheaptalk.arrays.games import Array, ArrayGame, NoArrayGame, entry_at, namespace, one_hot
from cheaptalk.games.extras import needed
from cheaptalk.games.item_bargaining.best_response import possible_hands
from cheaptalk.games.item_bargaining.rules import (
    MAX_COUNT,
    MAX_DIVISIONS,
    Briefing,
    Drawn,
    ItemBargaining,
    Move,
    OfferMade,
    Pool,
)
from cheaptalk.rules import Action, DecisionRequest, Instance
from cheaptalk.rules.errors import expect

np = needed("numpy")

WALK, ACCEPT, OFFER = 0, 1, 2
"""Action numbers; ``OFFER`` and higher numbers are offers, see ``ItemBargainingArrays.offered``."""
RUNNING, ACCEPTED, WALKED, LATE = 0, 1, 2, 3
"""The status of a match: running, or ended by acceptance, by walking away, or by a late offer."""
MAX_HANDS = 1_000
"""Maximum number of a player's hands for which all instances are listed."""
TRIES = 4
"""Number of candidate pools that are drawn; the first pool that can be divided is used."""


class Bargain(NamedTuple):
    """States of item bargaining; all moves that do not end a match are offers.

    Attributes:
        quantities: the number of items of each kind, shape (..., kinds).
        values: the value of an item of each kind, shape (..., 2, kinds).
        outside: the outside options, shape (..., 2).
        offers: the bundles that were offered to the other player, shape (..., 2 x rounds, kinds).
        moves: the number of offers; shape (...).
        status: ``RUNNING``, ``ACCEPTED``, ``WALKED`` or ``LATE``; shape (...).
    """

    quantities: Array
    values: Array
    outside: Array
    offers: Array
    moves: Array
    status: Array


class ItemBargainingArrays(ArrayGame[ItemBargaining, Bargain]):
    """Item bargaining as an array game, which plays many matches at once."""

    def __init__(self, rules: ItemBargaining) -> None:
        super().__init__(rules)
        quantities = rules.quantities
        self.fixed = None if isinstance(quantities, Drawn) else quantities
        self.kinds = quantities.kinds if isinstance(quantities, Drawn) else len(quantities)
        bundles = MAX_DIVISIONS if self.fixed is None else prod(count + 1 for count in self.fixed)
        self.actions = OFFER + bundles
        quantity_uniforms = 0 if self.fixed is not None else TRIES * self.kinds
        self.uniforms = quantity_uniforms + 2 * (self.kinds + 1)
        self.longest = 2 * rules.rounds
        self.discounts = np.array([rules.discount**number for number in range(rules.rounds)])

    # Instances

    def draw_instance(self, uniforms: Array) -> Bargain:
        xp, shape, kinds = namespace(uniforms), uniforms.shape[:-1], self.kinds
        quantities = self._quantities(uniforms[..., : self.uniforms - 2 * (kinds + 1)])
        hand_uniforms = uniforms[..., -2 * (kinds + 1) :].reshape(*shape, 2, kinds + 1)
        values = 1 + draw_below(hand_uniforms[..., :kinds], self.rules.highest_value)
        total = (values * quantities[..., None, :]).sum(axis=-1)
        minimum = self.rules.least_outside
        width = total - self.rules.below_total - minimum + 1
        outside = minimum + draw_below(hand_uniforms[..., kinds], width)
        return self._begun(xp, quantities, values, outside)

    def from_instances(self, instances: Sequence[Instance]) -> Bargain:
        pools = [instance for instance in instances if isinstance(instance, Pool)]
        quantities, values, outside = (
            np.array([getattr(pool, name) for pool in pools], np.int32)
            for name in ("quantities", "values", "outside")
        )
        return self._begun(np, quantities, values, outside)

    def every_instance(self) -> tuple[list[Instance], list[float]]:
        if self.fixed is None or self.rules.highest_value**self.kinds > MAX_HANDS:
            raise NoArrayGame(
                "item_bargaining has too many instances to list; use fixed quantities, few kinds "
                "and a small highest_value"
            )
        hands = list(possible_hands(self.rules, self.fixed))
        if len(hands) > MAX_HANDS:
            raise NoArrayGame("item_bargaining has too many instances to list; use fewer items")
        pairs = list(product(hands, repeat=2))
        instances: list[Instance] = [
            Pool(
                quantities=self.fixed,
                values=(first.values, second.values),
                outside=(first.outside, second.outside),
            )
            for first, second in pairs
        ]
        return instances, [first.weight * second.weight for first, second in pairs]

    def instances_of(self, state: Bargain) -> list[Instance]:
        columns = (np.asarray(column).tolist() for column in state[:3])
        return [
            Pool(quantities=quantities, values=values, outside=outside)
            for quantities, values, outside in zip(*columns, strict=True)
        ]

    def _begun(self, xp: Any, quantities: Array, values: Array, outside: Array) -> Bargain:
        shape = outside.shape[:-1]
        offers = xp.zeros((*shape, self.longest, self.kinds), np.int32)
        moves = xp.zeros(shape, np.int32)
        return Bargain(quantities, values, outside, offers, moves, moves + RUNNING)

    def _quantities(self, uniforms: Array) -> Array:
        """Return the number of items of each kind, shape (..., kinds)."""
        xp, shape = namespace(uniforms), uniforms.shape[:-1]
        specification = self.rules.quantities
        if not isinstance(specification, Drawn):
            return xp.broadcast_to(xp.asarray(specification, dtype=np.int32), (*shape, self.kinds))
        chances = [
            exp(-specification.mean) * specification.mean**count / factorial(count)
            for count in range(MAX_COUNT)
        ]
        below = np.cumsum(chances)
        draws = uniforms.reshape(*shape, TRIES, self.kinds)
        if specification.zeros == "redrawn":
            draws = chances[0] + draws * (1 - chances[0])
        counts = (draws[..., None] >= xp.asarray(below)).sum(axis=-1).astype(np.int32)
        counts = xp.minimum(counts + (specification.zeros == "plus_one"), MAX_COUNT)
        good = (counts.sum(axis=-1) >= 2) & ((counts + 1.0).prod(axis=-1) <= MAX_DIVISIONS)
        return xp.where(good.any(axis=-1)[..., None], entry_at(counts, xp.argmax(good, axis=-1)), 2)

    # Moves

    def turn(self, state: Bargain) -> Array:
        return state.moves % 2

    def over(self, state: Bargain) -> Array:
        return state.status != RUNNING

    def ways(self, state: Bargain) -> Array:
        """Return the number of ways to divide the pool; shape (...)."""
        return (state.quantities + 1).prod(axis=-1)

    def possible(self, state: Bargain, number: Array) -> Array:
        bundles = number < OFFER + self.ways(state)[..., None]
        return bundles & ((number != ACCEPT) | (state.moves > 0)[..., None])

    def random_action(self, state: Bargain, uniforms: Array) -> Array:
        first = state.moves == 0
        number = draw_below(uniforms, self.ways(state) + OFFER - first)
        return number + (first & (number >= ACCEPT))

    def offered(self, quantities: Array, action: Array) -> Array:
        """Return the bundle that an action offers, shape (..., kinds).

        The counts are the digits of the action number. The base of each digit is the quantity plus
        1, and the last kind varies fastest.
        """
        xp, remainder, digits = namespace(action), action - OFFER, []
        for kind in reversed(range(self.kinds)):
            base = quantities[..., kind] + 1
            digits.append(remainder % base)
            remainder = remainder // base
        return xp.stack(digits[::-1], axis=-1)

    def moved(self, state: Bargain, action: Array, moves: Array) -> Bargain:
        xp, offering = namespace(state.moves), action >= OFFER
        late = state.moves == self.longest - 1
        ended = xp.where(action == ACCEPT, ACCEPTED, xp.where(action == WALK, WALKED, LATE))
        continues = offering & ~late
        status = xp.where(moves & ~continues, ended, state.status).astype(np.int32)
        offered = moves & continues
        mask = (xp.arange(self.longest) == state.moves[..., None]) & offered[..., None]
        bundle = self.offered(state.quantities, xp.maximum(action, OFFER))
        offers = xp.where(mask[..., None], bundle[..., None, :], state.offers)
        return state._replace(offers=offers, moves=state.moves + offered, status=status)

    def table(self, state: Bargain) -> Array:
        """Return the last offer, or zeros before the first offer; shape (..., kinds)."""
        return entry_at(state.offers, namespace(state.moves).maximum(state.moves - 1, 0))

    def payoffs(self, state: Bargain) -> Array:
        xp = namespace(state.moves)
        offer = self.table(state)[..., None, :]
        takes = (state.moves % 2)[..., None] == xp.arange(2)
        bundles = xp.where(takes[..., None], offer, state.quantities[..., None, :] - offer)
        agreed = (bundles * state.values).sum(axis=-1)
        worth = xp.where((state.status == ACCEPTED)[..., None], agreed, state.outside)
        factor = xp.asarray(self.discounts)[state.moves // 2]
        return worth * factor[..., None]

    def scale(self, state: Bargain) -> Array:
        """Return the total value of all items to each player."""
        return (state.values * state.quantities[..., None, :]).sum(axis=-1).astype(np.float32)

    # Observations

    def observation(self, state: Bargain, player: Array) -> Mapping[str, Array]:
        xp = namespace(state.moves)
        values, outside = entry_at(state.values, player), entry_at(state.outside, player)
        total = xp.maximum((values * state.quantities).sum(axis=-1), 1)
        return {
            "quantities": state.quantities / (max(self.fixed) if self.fixed else MAX_COUNT),
            "values": values / self.rules.highest_value,
            "outside": outside / total,
            "moves": one_hot(xp, state.moves, self.longest),
            "offers": state.offers / xp.maximum(state.quantities, 1)[..., None, :],
        }

    def position(self, request: DecisionRequest) -> Bargain:
        briefing: Briefing = request.briefing
        offers_made = []
        for event, action in [*request.heard, (request.event, None)]:
            if isinstance(event, OfferMade):
                offers_made.append(event.offer)
            if isinstance(action, Move) and action.offer is not None:
                offers_made.append(action.offer)
        offers = np.zeros((self.longest, self.kinds), np.int32)
        offers[: len(offers_made)] = offers_made or 0
        player, values = self.player_index(request), np.zeros((2, self.kinds), np.int32)
        values[player] = briefing.values
        outside = np.zeros(2)
        outside[player] = briefing.outside
        quantities, moves = np.array(briefing.quantities), np.array(len(offers_made))
        return Bargain(quantities, values, outside, offers, moves, np.array(RUNNING))

    def action(self, request: DecisionRequest, number: int) -> Action:
        if number < OFFER:
            return Move(action="ACCEPT" if number == ACCEPT else "WALK")
        offer = self.offered(np.array(request.briefing.quantities), np.array(number))
        return Move(action="COUNTEROFFER", offer=tuple(int(count) for count in offer))

    def number(self, request: DecisionRequest, action: Action) -> int:
        action = expect(action, Move, "a Move")
        if action.offer is None:
            return ACCEPT if action.action == "ACCEPT" else WALK
        code = 0
        for count, maximum in zip(action.offer, request.briefing.quantities, strict=True):
            code = code * (maximum + 1) + count
        return OFFER + code
