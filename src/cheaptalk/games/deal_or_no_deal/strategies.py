"""Scripted negotiators: they talk in plain English and understand what can be read exactly.

All know only what their seat was told. They say "Deal" to an offer that is good enough, propose
what was agreed on, and claim their part of the last offer once the partner has proposed. When the
turns run out they propose what they have.
"""

from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from typing import Annotated, Literal, NamedTuple, TypeAlias

from pydantic import Field

from cheaptalk.games.deal_or_no_deal.contexts import KINDS, PILE, Triple, bundles, rest, worth
from cheaptalk.games.deal_or_no_deal.dialogue import (
    Move,
    Standing,
    misstates,
    standing,
    stated_values,
)
from cheaptalk.games.deal_or_no_deal.events import (
    Briefing,
    MessageOrProposal,
    Proposal,
    ProposalMade,
    YourTurn,
)
from cheaptalk.games.deal_or_no_deal.talk import (
    REMEMBERED,
    kind_of,
    say_bundle,
    say_offer,
    say_values,
)
from cheaptalk.games.manners import Manner, Topics, wording
from cheaptalk.games.tactics import Share, conceded
from cheaptalk.rules import Action, Asked, Strategy, Stream, by_name, strategy

Values: TypeAlias = tuple[float, float, float]
"""What a book, a hat and a ball are worth, or are taken to be."""


class View(NamedTuple):
    """What a seat sees of a game.

    Attributes:
        me: its briefing.
        table: what lies on the table.
        part: what the seat gets in the division offered last, if any.
        stated: the partner's values, where it has stated all of them.
        spoken: whether the seat has said anything yet.
    """

    me: Briefing
    table: Standing
    part: Triple | None
    stated: Values | None
    spoken: bool

    @property
    def offered(self) -> Triple | None:
        """What the partner's offer leaves to the seat; None where the last offer is its own."""
        return self.part if self.table.proposer == self.me.partner else None

    @property
    def theirs(self) -> Values:
        """The partner's values as far as they are known; every piece alike where they are not."""
        alike = PILE / sum(self.me.counts)
        return self.stated or (alike, alike, alike)


def look(asked: Asked) -> View:
    """What a seat sees when it is asked."""
    me: Briefing = asked.briefing
    seat = asked.seat
    moves: list[Move] = []
    said: list[str] = []
    for event, action in (*asked.heard, (asked.event, None)):
        if isinstance(event, YourTurn) and event.message is not None:
            said.append(event.message)
            moves.append(Move(me.partner, say(event.message)))
        if isinstance(action, MessageOrProposal):  # who has made a Proposal is not asked again
            moves.append(Move(seat, action))
    table, spoken = standing(me.counts, moves), len(moves) > len(said)
    return View(me, table, table.part(me.counts, seat), read_values(said, me.counts), spoken)


def read_values(messages: Iterable[str], counts: Triple) -> Values | None:
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
    return (found[0], found[1], found[2]) if len(found) == len(KINDS) else None


def own(view: View, claim: Triple) -> float:
    """What a claim is worth to the seat, in points."""
    return worth(view.me.values, claim)


def payoffs(me: Briefing, theirs: Values, claim: Triple) -> tuple[float, float]:
    """What a claim pays the seat and, by what is known of its values, its partner."""
    mine, left = worth(me.values, claim), worth(theirs, rest(me.counts, claim))
    return mine + me.objective * left, left + me.objective * mine


@lru_cache(maxsize=REMEMBERED)
def fairest(me: Briefing, theirs: Values) -> Triple:
    """The division whose worse payoff is the best, and of these the one with the greatest sum."""

    def worst_then_sum(claim: Triple) -> tuple[float, float]:
        one, other = payoffs(me, theirs, claim)
        return round(min(one, other), 9), round(one + other, 9)

    return max(bundles(me.counts), key=worst_then_sum)


@lru_cache(maxsize=REMEMBERED)
def demand(me: Briefing, theirs: Values, share: float) -> Triple:
    """Of the divisions that give the seat a share of its pile, the one best for the partner."""
    least = share * PILE - 1e-9
    enough = [claim for claim in bundles(me.counts) if worth(me.values, claim) >= least]
    return max(enough, key=lambda claim: worth(theirs, rest(me.counts, claim)))


@lru_cache(maxsize=REMEMBERED)
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
    return say(f"{TAKEN if good else aside} {say_offer(view.me.counts, division)}".lstrip())


Power = Annotated[float, Field(gt=0)]
TAKEN = "Deal."
"""What an offer of the partner is accepted with."""
REMARKS = ("Hello.", "What do you need?", "No.", "Deal.")


@strategy("player")
def honest(asked: Asked) -> Action:
    """State one's true values, ask for the partner's, and offer and accept what is fair.

    Fair is the division whose worse payoff is the best (Rawls 1971, maximin), by the values that
    were stated; under the cooperative objective it has the greatest sum.
    """
    view = look(asked)
    truth = say_values(view.me.values)
    asking = isinstance(asked.event, YourTurn) and not closing(asked.event)
    if asking and not view.spoken and view.stated is None:
        return say(f"{truth} What is each worth to you?")
    fair = fairest(view.me, view.theirs)
    least = min(payoffs(view.me, view.theirs, fair))

    def enough(offer: Triple) -> bool:
        return payoffs(view.me, view.theirs, offer)[0] >= least - 1e-9

    return negotiate(asked, view, fair, enough, truth)


@strategy("player")
def greedy(asked: Asked, *, share: Share = 1.0) -> Action:
    """Insist on a share of the points and take nothing less (Nash 1953, demand game).

    Args:
        share: the share of the 10 points demanded, in [0, 1].
    """
    view = look(asked)
    wanted = demand(view.me, view.theirs, share)
    return negotiate(asked, view, wanted, lambda offer: own(view, offer) >= own(view, wanted))


@strategy("player")
def fair(asked: Asked) -> Action:
    """Offer half of one's own points or a little more, and accept half or more.

    The equal division of Lewis et al. (2017), each player counting its own points.
    """
    view = look(asked)
    wanted = demand(view.me, view.theirs, 0.5)
    return negotiate(asked, view, wanted, lambda offer: own(view, offer) >= PILE / 2)


@strategy("player")
def conceding(asked: Asked, *, start: Share = 1.0, end: Share = 0.3, power: Power = 1.0) -> Action:
    """Ask for less from turn to turn (Faratin, Sierra and Jennings 1998).

    Over the first 12 of the seat's own turns, or as many as there are.

    Args:
        start: the share of the 10 points demanded at first, in [0, 1].
        end: the share demanded at the end, in [0, 1].
        power: above 0: 1 for an even pace, more to concede late, less to concede early.
    """
    view = look(asked)
    stage = (asked.event.turn + 1) // 2
    rounds = min(12, view.me.turns // 2)
    share = conceded(stage, rounds, start, end, power)
    wanted = demand(view.me, view.theirs, share)
    return negotiate(asked, view, wanted, lambda offer: own(view, offer) >= share * PILE - 1e-9)


@strategy("player")
def liar(asked: Asked) -> Action:
    """State false values, and ask for the most that looks fair by them.

    The false values are those of a legal context under which the liar can have most without
    seeming to get more than half of the pile (the first inconsistency of Liao, Tomlin and Klein
    2024, figure 8).
    """
    view = look(asked)
    feigned, wanted = pretence(view.me.counts, view.me.values)
    good = worth(view.me.values, wanted)
    return negotiate(
        asked, view, wanted, lambda offer: own(view, offer) >= good, say_values(feigned)
    )


@cache
def pretence(counts: Triple, values: Triple) -> tuple[Triple, Triple]:
    """The values that a liar states, and what it then claims."""
    lies = [
        feigned
        for feigned in bundles((PILE, PILE, PILE))
        if worth(feigned, counts) == PILE and misstates(say_values(feigned), counts, values)
    ]
    modest = [
        (feigned, claim)
        for feigned in lies
        for claim in bundles(counts)
        if 2 * worth(feigned, claim) <= PILE and claim != counts
    ]
    return max(modest, key=lambda pair: (worth(values, pair[1]), -sum(pair[1])))


@strategy("player")
def random(asked: Asked, *, proposing: Share = 0.2) -> Action:
    """Talk at random, and propose a random division with a fixed probability a turn.

    Args:
        proposing: the probability of proposing once something has been said, in [0, 1].
    """
    draw = asked.chance("move", asked.request)
    counts = asked.briefing.counts
    books, hats, balls = claim = draw.pick(bundles(counts))
    if isinstance(asked.event, ProposalMade):
        return Proposal(books=books, hats=hats, balls=balls)
    if asked.event.turn > 1 and draw.happens(proposing):
        return MessageOrProposal.propose(claim)
    return say(draw.pick((*REMARKS, say_offer(counts, claim))))


@strategy("player")
def noisy(
    asked: Asked, *, impossible: Share = 0.1, lying: Share = 0.1, contradicting: Share = 0.1
) -> Action:
    """Negotiate honestly, but for the inconsistencies that language models were found to commit.

    Those of Liao, Tomlin and Klein (2024, figure 8). Replies that are no answer at all are beyond
    a strategy.

    Args:
        impossible: the probability that a message asks for more of a kind than there are.
        lying: the probability that another message states false values.
        contradicting: the probability that a proposal is not what was last offered or agreed on.
    """
    draw = asked.chance("mistake", asked.request)
    action = honest(asked)
    view = look(asked)
    counts, values = view.me.counts, view.me.values
    if isinstance(action, MessageOrProposal) and action.message is not None:
        if draw.happens(impossible):
            return say(f"I take {say_bundle(_too_many(counts, draw))}.")
        if draw.happens(lying):
            return say(say_values(pretence(counts, values)[0]))
    elif draw.happens(contradicting):
        assert isinstance(action, MessageOrProposal | Proposal)
        others = [claim for claim in bundles(counts) if claim != action.claim]
        return action.model_copy(update=dict(zip(KINDS, draw.pick(others), strict=True)))
    return action


@strategy("player")
def muddled(
    asked: Asked,
    *,
    inverting: Share = 0.3,
    impossible: Share = 0.1,
    lying: Share = 0.1,
    contradicting: Share = 0.1,
) -> Action:
    """Negotiate as `noisy` does, and now and then propose what the partner should get.

    Language models were found to learn this by self-play in strict competition, where two who both
    do so agree (Liao, Tomlin and Klein 2024, appendix D).

    Args:
        inverting: the probability that a proposal claims what the last offer leaves to the partner.
        impossible: the probability that a message asks for more of a kind than there are.
        lying: the probability that another message states false values.
        contradicting: the probability that another proposal is not what was last offered or agreed
            on.
    """
    action = noisy(asked, impossible=impossible, lying=lying, contradicting=contradicting)
    view = look(asked)
    says = isinstance(action, MessageOrProposal) and action.message is not None
    if says or view.part is None or not asked.chance("inversion", asked.request).happens(inverting):
        return action
    assert isinstance(action, MessageOrProposal | Proposal)
    theirs = rest(view.me.counts, view.part)
    return action.model_copy(update=dict(zip(KINDS, theirs, strict=True)))


TACTICS: dict[str, Strategy] = by_name([greedy, fair, conceding])
"""Whose offers a talker can make."""


@strategy("player")
def talker(
    asked: Asked,
    *,
    manner: Manner = "polite",
    offers: Literal["greedy", "fair", "conceding"] = "conceding",
    repeat: int = 0,  # noqa: ARG001 - tells identical talkers apart
) -> Action:
    """Make another strategy's offers at its settings' defaults, and speak in a manner of one's own.

    Talkers of two manners do the same where the partner does: what differs then is the effect of
    words (:mod:`~cheaptalk.games.manners`).

    Args:
        manner: how it speaks.
        offers: the strategy whose offers and proposals it makes.
        repeat: tells identical talkers apart, whose matches are repeats; it changes nothing.
    """
    action = TACTICS[offers](asked)
    if not isinstance(action, MessageOrProposal) or action.message is None:
        return action
    if action.message.startswith(TAKEN):  # what is agreed on needs no more words
        return action
    me: Briefing = asked.briefing
    topics = Topics(
        anchor="my last three partners each left me 9 points or more",
        claim=say_values(pretence(me.counts, me.values)[0]),
        rule="both of us leave with nothing once two of my offers are turned down",
        rival="9 of the 10 points for me",
        wish="that you agree with my last offer",
        private="what each thing counts for you",
    )
    return say(f"{action.message} {wording(manner, topics, asked)}".strip())


def _too_many(counts: Triple, draw: Stream) -> Triple:
    """A claim to one more of a kind than there are, and to nothing else."""
    chosen = draw.integer(0, len(KINDS) - 1)
    books, hats, balls = (count + 1 if kind == chosen else 0 for kind, count in enumerate(counts))
    return books, hats, balls
