"""The best response to a rival with a known strategy and an unknown hand.

The search enumerates the rival's possible hands, and the player's moves to the end of the match.
The time grows with hands, bundles and rounds, so use it for small pools.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import product
from typing import Literal, NamedTuple

from msgspec.structs import replace

from cheaptalk.games.item_bargaining.rules import (
    SECOND,
    Briefing,
    Bundle,
    ItemBargaining,
    Move,
    OfferMade,
    Opening,
    rest,
    worth,
)
from cheaptalk.rules import Ask, Chance, Decide, DecisionRequest, Event, Moment, Stream

SMALL = 500
"""Maximum number of a rival's possible hands for which all hands are enumerated."""


class Hand(NamedTuple):
    """A rival's possible hand, and its probability."""

    values: tuple[int, ...]
    outside: int
    weight: float


class Plan(NamedTuple):
    """A move (a bundle to offer, "accept" or "walk") and its expected payoff."""

    value: float
    move: Literal["accept", "walk"] | Bundle


def possible_hands(limits: Briefing | ItemBargaining, quantities: Bundle) -> Iterator[Hand]:
    """Yield all hands that a player can have, with their probabilities."""
    chance = limits.highest_value ** -len(quantities)
    for values in product(range(1, limits.highest_value + 1), repeat=len(quantities)):
        options = range(limits.least_outside, worth(quantities, values) - limits.below_total + 1)
        for outside in options:
            yield Hand(values, outside, chance / len(options))


def candidate_hands(me: Briefing, count: int, draw: Stream) -> Iterator[Hand]:
    """Yield all possible hands of the rival or, if there are too many, a random sample."""
    mean = sum(me.quantities) * (me.highest_value + 1) / 2
    total = float(me.highest_value) ** len(me.quantities)
    if total * (mean - me.below_total - me.least_outside + 1) <= SMALL:
        yield from possible_hands(me, me.quantities)
        return
    for _ in range(count):
        values = tuple([draw.integer(1, me.highest_value) for _ in me.quantities])
        maximum = worth(me.quantities, values) - me.below_total
        yield Hand(values, draw.integer(me.least_outside, maximum), 1 / count)


class Responder:
    """A search for the best move against a rival whose hand is one of several candidates.

    Args:
        me: the player's briefing.
        policy: the rival's strategy; only its opening may be random.
        hands: the rival's possible hands.
    """

    def __init__(self, me: Briefing, policy: Decide, hands: Iterable[Hand]) -> None:
        self.me = me
        self.policy = policy
        self.hands = list(hands)
        self.late = me.seat == SECOND
        bundles = product(*(range(count + 1) for count in me.quantities))
        self._kept_worths = {
            bundle: worth(rest(me.quantities, bundle), me.values) for bundle in bundles
        }
        self.plan = cache(self._plan)
        self.reply = cache(self._reply)

    def _plan(self, number: int, offer: Bundle | None, among: tuple[int, ...]) -> Plan:
        """Return the best move in a round, given the current offer and the rival's hands."""
        return max(self._options(number, offer, among), key=lambda plan: plan.value)

    def _options(self, number: int, offer: Bundle | None, among: Sequence[int]) -> Iterator[Plan]:
        factor = self.me.discount ** (number - 1)
        if offer is not None:
            yield Plan(factor * worth(offer, self.me.values), "accept")
        yield Plan(factor * self.me.outside, "walk")
        if not (self.late and number == self.me.rounds):
            weight = self.weigh(among)
            for bundle in self._kept_worths:
                yield Plan(self._offering(number, bundle, among) / weight, bundle)

    def _offering(self, number: int, bundle: Bundle, among: Sequence[int]) -> float:
        """Return an offer's payoff, weighted by the probabilities of the rival's possible hands."""
        me, number = self.me, number + self.late
        factor = me.discount ** (number - 1)
        kept_worth, total = self._kept_worths[bundle], 0.0
        replies: dict[Bundle, list[int]] = {}
        for hand in among:
            move, weight = self.reply(hand, number, bundle), self.hands[hand].weight
            over = number == me.rounds and not self.late
            if move.action == "ACCEPT":
                total += weight * factor * kept_worth
            elif move.offer is None or over:
                total += weight * factor * me.outside
            else:
                replies.setdefault(move.offer, []).append(hand)
        next_round = number if self.late else number + 1
        for offer, hands in replies.items():
            total += self.weigh(hands) * self.plan(next_round, offer, tuple(hands)).value
        return total

    def weigh(self, among: Iterable[int]) -> float:
        """Return the probability that the rival's hand is one of the given hands."""
        return math.fsum(self.hands[hand].weight for hand in among)

    def _reply(self, index: int, number: int, offer: Bundle | None) -> Move:
        """Return the rival's move in a round, given the index of its hand and the current offer."""
        hand = self.hands[index]
        me = self.me
        briefing = replace(
            me,
            seat=me.rival,
            rival=me.seat,
            values=hand.values,
            outside=hand.outside,
            total=worth(me.quantities, hand.values),
        )
        last = number == me.rounds and not self.late
        event: Event = Opening(number, me.rounds)
        if offer is not None:
            event = OfferMade(number, me.rounds, me.seat, offer, rest(me.quantities, offer), last)
        ask = Ask(me.rival, Move, event)
        move = self.policy(DecisionRequest(0, ask, [Moment(briefing)], Chance("rival")))
        assert isinstance(move, Move)
        return move

    def consistent(self, offers: Iterable[tuple[int, Bundle | None, Bundle]]) -> tuple[int, ...]:
        """Return the hands that are consistent with the rival's offers, or all hands if none is.

        Args:
            offers: rounds, current offers, and the rival's offers, as from :func:`offers_seen`.
        """
        hands = all_hands = tuple(range(len(self.hands)))
        for number, table, offer in offers:
            hands = tuple(
                [hand for hand in hands if self.reply(hand, number, table).offer == offer]
            )
        return hands or all_hands


def offers_seen(heard: Iterable[Moment]) -> Iterator[tuple[int, Bundle | None, Bundle]]:
    """Yield (round, offer on the table, rival's offer) for each offer of the rival."""
    own_offer: Bundle | None = None
    for event, action in heard:
        if isinstance(event, OfferMade):
            yield event.round - (event.proposer == SECOND), own_offer, event.offer
        if isinstance(action, Move):
            own_offer = action.offer
