"""Scripted negotiators: they talk in plain English and understand what can be read exactly.

All know only what their seat was told. They say "Deal" to an offer that is good enough, propose
what was agreed on, and claim their part of the last offer once the partner has proposed. When the
turns run out they propose what they have.
"""

from functools import cache
from typing import Annotated

from pydantic import Field

from cheaptalk.games.deal_or_no_deal.consistency import misstates
from cheaptalk.games.deal_or_no_deal.contexts import PILE, Triple, bundles, worth
from cheaptalk.games.deal_or_no_deal.events import (
    MessageOrProposal,
    Proposal,
    ProposalMade,
    YourTurn,
)
from cheaptalk.games.deal_or_no_deal.negotiating import (
    closing,
    demand,
    fairest,
    look,
    negotiate,
    own,
    payoffs,
    say,
)
from cheaptalk.games.deal_or_no_deal.talk import say_offer, say_values
from cheaptalk.games.tactics import Share, conceded
from cheaptalk.rules import Action, Asked, strategy

Power = Annotated[float, Field(gt=0)]
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
    if asking and not view.spoken and view.told is None:
        return say(f"{truth} What is each worth to you?")
    fair = fairest(view)
    least = min(payoffs(view, fair))

    def enough(offer: Triple) -> bool:
        return payoffs(view, offer)[0] >= least - 1e-9

    return negotiate(asked, view, fair, enough, truth)


@strategy("player")
def greedy(asked: Asked, *, share: Share = 1.0) -> Action:
    """Insist on a share of the points and take nothing less (Nash 1953, demand game).

    Args:
        share: the share of the 10 points demanded, in [0, 1].
    """
    view = look(asked)
    wanted = demand(view, share)
    return negotiate(asked, view, wanted, lambda offer: own(view, offer) >= own(view, wanted))


@strategy("player")
def fair(asked: Asked) -> Action:
    """Offer half of one's own points or a little more, and accept half or more.

    The equal division of Lewis et al. (2017), each player counting its own points.
    """
    view = look(asked)
    return negotiate(asked, view, demand(view, 0.5), lambda offer: own(view, offer) >= PILE / 2)


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
    return negotiate(
        asked, view, demand(view, share), lambda offer: own(view, offer) >= share * PILE - 1e-9
    )


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
    books, hats, balls = claim = draw.pick(list(bundles(counts)))
    if isinstance(asked.event, ProposalMade):
        return Proposal(books=books, hats=hats, balls=balls)
    if asked.event.turn > 1 and draw.happens(proposing):
        return MessageOrProposal.propose(claim)
    return say(draw.pick((*REMARKS, say_offer(counts, claim))))
