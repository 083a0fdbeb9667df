"""The best response to a rival whose strategy is known and whose hand is not.

The rival's possible hands are gone through one by one, and the own moves to come by looking ahead
to the end of the match. This takes time that grows with hands, bundles and rounds: it is meant for
small pools.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Literal, NamedTuple

from msgspec.structs import replace

from cheaptalk.games.item_bargaining.events import Briefing, Move, OfferMade, Opening
from cheaptalk.games.item_bargaining.pools import Bundle, rest, worth
from cheaptalk.games.item_bargaining.rules import SECOND
from cheaptalk.rules import Ask, Asked, Chance, Decide, Event, Moment, Stream

SMALL = 500
"""Hands that a rival can have in a small pool."""


class Hand(NamedTuple):
    """What a rival may hold, and how likely it is."""

    values: tuple[int, ...]
    outside: int
    weight: float


class Plan(NamedTuple):
    """What a move brings in expectation, and the move: a bundle to offer, or one of two others."""

    value: float
    move: Literal["accept", "walk"] | Bundle


def rival_hands(me: Briefing) -> Iterator[Hand]:
    """All hands that the rival can have, with their probabilities."""
    every = product(range(1, me.highest_value + 1), repeat=len(me.quantities))
    chance = me.highest_value ** -len(me.quantities)
    for values in every:
        options = range(me.least_outside, worth(me.quantities, values) - me.below_total + 1)
        for outside in options:
            yield Hand(values, outside, chance / len(options))


def some_hands(me: Briefing, count: int, draw: Stream) -> Iterator[Hand]:
    """All hands that the rival can have in a small pool, otherwise so many drawn as dealt."""
    mean = sum(me.quantities) * (me.highest_value + 1) / 2
    every = float(me.highest_value) ** len(me.quantities)
    if every * (mean - me.below_total - me.least_outside + 1) <= SMALL:
        yield from rival_hands(me)
        return
    for _ in range(count):
        values = tuple([draw.integer(1, me.highest_value) for _ in me.quantities])
        most = worth(me.quantities, values) - me.below_total
        yield Hand(values, draw.integer(me.least_outside, most), 1 / count)


class Responder:
    """Looks for the best move of one seat against a policy with one of several hands.

    Args:
        me: what the seat knows.
        policy: what the rival does; it must not depend on luck but in its opening.
        hands: what the rival may hold.
    """

    def __init__(self, me: Briefing, policy: Decide, hands: Iterable[Hand]) -> None:
        self.me = me
        self.policy = policy
        self.hands = list(hands)
        self.late = me.seat == SECOND
        bundles = product(*(range(count + 1) for count in me.quantities))
        self._kept = {bundle: worth(rest(me.quantities, bundle), me.values) for bundle in bundles}
        self._replies: dict[tuple[int, int, Bundle | None], Move] = {}
        self._plans: dict[tuple[int, Bundle | None, tuple[int, ...]], Plan] = {}

    def plan(self, number: int, offer: Bundle | None, among: Sequence[int]) -> Plan:
        """The best move in a round, with this offer on the table and one of these hands opposite.

        Values are expected payoffs, given that the rival has one of the hands, by weight.
        """
        key = (number, offer, tuple(among))
        if key not in self._plans:
            self._plans[key] = max(self._options(*key), key=lambda plan: plan.value)
        return self._plans[key]

    def _options(self, number: int, offer: Bundle | None, among: Sequence[int]) -> Iterator[Plan]:
        now = self.me.discount ** (number - 1)
        if offer is not None:
            yield Plan(now * worth(offer, self.me.values), "accept")
        yield Plan(now * self.me.outside, "walk")
        if not (self.late and number == self.me.rounds):
            weight = self.weigh(among)
            for bundle in self._kept:
                yield Plan(self._offering(number, bundle, among) / weight, bundle)

    def _offering(self, number: int, bundle: Bundle, among: Sequence[int]) -> float:
        """The payoffs of offering a bundle to each of these hands, weighed and added up."""
        me, number = self.me, number + self.late
        now = me.discount ** (number - 1)
        kept, total = self._kept[bundle], 0.0
        replies: dict[Bundle, list[int]] = {}
        for hand in among:
            move, weight = self.reply(hand, number, bundle), self.hands[hand].weight
            over = number == me.rounds and not self.late
            if move.action == "ACCEPT":
                total += weight * now * kept
            elif move.offer is None or over:
                total += weight * now * me.outside
            else:
                replies.setdefault(move.offer, []).append(hand)
        later = number if self.late else number + 1
        for offer, hands in replies.items():
            total += self.weigh(hands) * self.plan(later, offer, hands).value
        return total

    def weigh(self, among: Iterable[int]) -> float:
        """How likely it is that the rival has one of these hands."""
        return math.fsum(self.hands[hand].weight for hand in among)

    def reply(self, hand: int, number: int, offer: Bundle | None) -> Move:
        """What the rival does in a round with this hand and this offer on the table."""
        key = (hand, number, offer)
        if key not in self._replies:
            self._replies[key] = self._ask(self.hands[hand], number, offer)
        return self._replies[key]

    def _ask(self, hand: Hand, number: int, offer: Bundle | None) -> Move:
        me = self.me
        briefing = replace(
            me, seat=me.rival, rival=me.seat, values=hand.values, outside=hand.outside,
            total=worth(me.quantities, hand.values),
        )  # fmt: skip
        last = number == me.rounds and not self.late
        event: Event = Opening(number, me.rounds)
        if offer is not None:
            kept = rest(me.quantities, offer)
            event = OfferMade(number, me.rounds, me.seat, offer, kept, last)
        asked = Asked(0, Ask(me.rival, Move, event), [Moment(briefing)], Chance("rival"))
        move = self.policy(asked)
        assert isinstance(move, Move)
        return move

    def consistent(self, seen: Iterable[tuple[int, Bundle | None, Bundle]]) -> list[int]:
        """The hands with which the rival would have offered what it did; all if there is none.

        Args:
            seen: its offers: the round, what was on the table, what it offered.
        """
        everyone = list(range(len(self.hands)))
        found = everyone
        for number, table, offer in seen:
            found = [hand for hand in found if self.reply(hand, number, table).offer == offer]
        return found or everyone


def offers_seen(heard: Iterable[Moment]) -> Iterator[tuple[int, Bundle | None, Bundle]]:
    """The rival's offers that a seat has heard: the round, what was on the table, the offer."""
    mine: Bundle | None = None
    for event, action in heard:
        if isinstance(event, OfferMade):
            yield event.round - (event.proposer == SECOND), mine, event.offer
        if isinstance(action, Move):
            mine = action.offer
