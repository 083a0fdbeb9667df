"""What scripted negotiators share: how they see the table, weigh divisions and take a turn."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from cheaptalk.games.deal_or_no_deal.agreement import Move, Standing, standing
from cheaptalk.games.deal_or_no_deal.consistency import stated_values
from cheaptalk.games.deal_or_no_deal.contexts import KINDS, PILE, Triple, bundles, rest
from cheaptalk.games.deal_or_no_deal.events import (
    Briefing,
    MessageOrProposal,
    Proposal,
    ProposalMade,
    YourTurn,
)
from cheaptalk.games.deal_or_no_deal.talk import kind_of, say_offer
from cheaptalk.rules import Action, Asked

Values = Sequence[float]
"""What a book, a hat and a ball are worth, or are taken to be."""


class View(NamedTuple):
    """What a seat sees of a game.

    Attributes:
        me: its briefing.
        table: what lies on the table.
        part: what the seat gets in the division offered last, if any.
        told: the partner's values, where it has stated all of them.
        spoken: whether the seat has said anything yet.
    """

    me: Briefing
    table: Standing
    part: Triple | None
    told: Values | None
    spoken: bool

    @property
    def offered(self) -> Triple | None:
        """What the partner's offer leaves to the seat; None where the last offer is its own."""
        return self.part if self.table.proposer == self.me.partner else None

    @property
    def theirs(self) -> Values:
        """The partner's values as far as they are known; every piece alike where they are not."""
        return self.told or (PILE / sum(self.me.counts),) * len(KINDS)


def look(asked: Asked) -> View:
    """What a seat sees when it is asked."""
    me: Briefing = asked.briefing
    moves: list[Move] = []
    for event, action in (*asked.heard, (asked.event, None)):
        if isinstance(event, YourTurn) and event.message is not None:
            moves.append(Move(me.partner, MessageOrProposal(message=event.message)))
        if isinstance(action, MessageOrProposal | Proposal):
            moves.append(Move(asked.seat, action))
    table = standing(me.counts, moves)
    said = [move.message or "" for move in moves if move.player == me.partner]
    spoken = any(move.player == asked.seat for move in moves)
    return View(me, table, table.part(me.counts, asked.seat), told(said, me.counts), spoken)


def told(messages: Iterable[str], counts: Triple) -> Values | None:
    """The values that a player has stated in these messages, if all of them; the last word holds.

    What several pieces "are worth" is taken for each of them where the pile could be worth that;
    nothing is worth more than the pile.
    """
    found: dict[int, float] = {}
    for message in messages:
        for noun, stated in stated_values(message):
            kind, value = kind_of(noun), min(stated, PILE)
            together = noun.endswith("s") and value * counts[kind] > PILE
            found[kind] = value / counts[kind] if together else value
    return [found[kind] for kind in range(len(KINDS))] if len(found) == len(KINDS) else None


def points(values: Values, bundle: Triple) -> float:
    """What a bundle is worth at these values."""
    return sum(value * number for value, number in zip(values, bundle, strict=True))


def own(view: View, claim: Triple) -> float:
    """What a claim is worth to the seat, in points."""
    return points(view.me.values, claim)


def payoffs(view: View, claim: Triple) -> tuple[float, float]:
    """What a claim pays the seat and, so far as it knows, its partner."""
    mine, theirs = own(view, claim), points(view.theirs, rest(view.me.counts, claim))
    weight = view.me.objective
    return mine + weight * theirs, theirs + weight * mine


def fairest(view: View) -> Triple:
    """The division whose worse payoff is the best, and of these the one with the greatest sum."""

    def worst_then_sum(claim: Triple) -> tuple[float, float]:
        both = payoffs(view, claim)
        return round(min(both), 9), round(sum(both), 9)

    return max(bundles(view.me.counts), key=worst_then_sum)


def demand(view: View, share: float) -> Triple:
    """Of the divisions that give the seat a share of its pile, the one best for the partner."""
    enough = [claim for claim in bundles(view.me.counts) if own(view, claim) >= share * PILE - 1e-9]
    return max(enough, key=lambda claim: points(view.theirs, rest(view.me.counts, claim)))


def say(message: str) -> MessageOrProposal:
    """The message."""
    return MessageOrProposal(message=message)


def closing(turn: YourTurn) -> bool:
    """Whether a proposal must be made now to be answered."""
    return turn.turn > 1 and turn.turn >= turn.turns - 1


def negotiate(
    asked: Asked, view: View, wanted: Triple, enough: Callable[[Triple], bool], aside: str = ""
) -> Action:
    """Take a turn like all scripted negotiators.

    Args:
        asked: the question.
        view: what the seat sees.
        wanted: the division that it offers itself.
        enough: whether it takes what an offer of its partner leaves to it.
        aside: what it says with its offers.
    """
    if isinstance(asked.event, ProposalMade):
        books, hats, balls = view.part or wanted
        return Proposal(books=books, hats=hats, balls=balls)
    if view.part is not None and view.table.agreed:
        return MessageOrProposal.propose(view.part)
    good = view.offered is not None and enough(view.offered)
    division = view.offered if view.offered is not None and good else wanted
    if closing(asked.event):
        return MessageOrProposal.propose(division)
    return say(f"{'Deal.' if good else aside} {say_offer(view.me.counts, division)}".lstrip())
