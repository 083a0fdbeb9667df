"""Scripted traders.

All of them reason in cents and know only what their seat was told.
"""

from cheaptalk.games.chip_trading.beliefs import Learning, best_offer
from cheaptalk.games.chip_trading.choices import drawn, gainful, held
from cheaptalk.games.chip_trading.events import Offered, Proposal, Response
from cheaptalk.games.tactics import Share
from cheaptalk.rules import Action, Asked, strategy


def response(asked: Asked, accept: bool) -> Response:
    """The answer to the open proposal; who does not hold the chips wanted declines."""
    return Response(decision="accept" if accept and asked.event.able else "decline")


def gains(asked: Asked) -> bool:
    """Whether the proposal that the seat is asked about would gain it something."""
    offered: Offered = asked.event
    return offered.after > offered.worth


@strategy("player")
def random(asked: Asked, *, acceptance: Share = 0.5) -> Action:
    """Propose any trade of chips at hand, and accept with a fixed probability.

    Colours and numbers are drawn in turn, each equally likely, up to the most that the seat or
    any other player holds.

    Args:
        acceptance: the probability of accepting a proposal, in [0, 1].
    """
    draw = asked.chance("move", asked.request)
    if isinstance(asked.event, Offered):
        return response(asked, draw.happens(acceptance))
    mine, most = held(asked)
    give = draw.pick([colour for colour, number in mine.items() if number])
    want = draw.pick([colour for colour in mine if colour != give])
    amount = draw.integer(1, mine[give])
    wanted = draw.integer(1, max(1, most[want]))
    return Proposal(give=give, give_amount=amount, want=want, want_amount=wanted)


@strategy("player")
def zero_intelligence(asked: Asked) -> Action:
    """Propose any trade that gains something, and accept any that does.

    Gode and Sunder (1993), traders under a budget constraint, on chips: each gainful proposal
    that another player can pay for is equally likely.
    """
    if isinstance(asked.event, Offered):
        return response(asked, gains(asked))
    return drawn(gainful(asked), asked.chance("move", asked.request))


@strategy("player")
def greedy(asked: Asked) -> Action:
    """Propose what would gain most and another player can pay for, and accept any gain.

    Whether anybody would accept it is not asked: the opposite of a fair trade.
    """
    if isinstance(asked.event, Offered):
        return response(asked, gains(asked))
    worths = dict(asked.briefing.worths)
    offers = [room.asking(room.most) for room in gainful(asked)]
    return max(offers, key=lambda offer: offer.gain(worths))


@strategy("player")
def one_for_one(asked: Asked) -> Action:
    """Propose the trade of one chip for one that gains most, and accept no worse terms.

    The fair trades that people mostly proposed in the study (Strategic Tradeoffs, section 6.2.1).
    It accepts what gains it something and takes no more chips than it brings. Where no trade of
    one for one gains it anything, it proposes the one that gains it least.
    """
    if isinstance(asked.event, Offered):
        offer = asked.event.proposal
        return response(asked, gains(asked) and offer.give_amount >= offer.want_amount)
    worths = dict(asked.briefing.worths)
    rooms = gainful(asked)
    fair = [room.asking(room.amount) for room in rooms if room.least <= room.amount <= room.most]
    if fair:
        return max(fair, key=lambda offer: offer.gain(worths))
    return min((room.asking(room.least) for room in rooms), key=lambda offer: offer.gain(worths))


@strategy("player")
def bayesian(asked: Asked, *, learning: Learning = "answers") -> Action:
    """Propose what gains most, times the probability that somebody accepts, and learn from answers.

    It takes others to accept just what they can pay for and gain by, and does so itself. Ties are
    broken at random. Where nobody could accept anything that gains it something, it proposes any
    such trade.

    Args:
        learning: what it learns from. "answers": that a partner gains by a trade and, where
            nobody accepts, that all who could pay do not. "trades": also that the proposer gains
            by the trade, as the paper's text has it. "own": answers to its own proposals.
            "nothing": it keeps the prior.
    """
    if isinstance(asked.event, Offered):
        return response(asked, gains(asked))
    return best_offer(asked, learning, asked.chance("move", asked.request))
