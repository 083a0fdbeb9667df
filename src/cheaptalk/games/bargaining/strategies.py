"""Scripted bargainers.

All of them reason in shares of the money and know only what their seat was told.
"""

from functools import cache
from typing import Literal

from cheaptalk.games.bargaining.events import Briefing, Offer, OfferMade, Reply, SpokenOffer, Turn
from cheaptalk.games.manners import Manner, Topics, wording
from cheaptalk.games.tactics import Early, Late, Share, conceded
from cheaptalk.rules import Action, Asked, Strategy, by_name, strategy

CENT = 0.01
"""Offers are rounded to cents, so a seat does not quarrel over one."""
ACCEPT, REJECT = Reply(decision="accept"), Reply(decision="reject")


def offer(asked: Asked, mine: float, message: str = "") -> Action:
    """The action that keeps this share of the money, rounded to cents, for the seat."""
    briefing: Briefing = asked.briefing
    keep = min(round(mine * briefing.money, 2), briefing.money)
    give = round(briefing.money - keep, 9)
    alice, bob = (keep, give) if briefing.seat == "alice" else (give, keep)
    if asked.ask.action is SpokenOffer:
        return SpokenOffer(alice_gain=alice, bob_gain=bob, message=message)
    return Offer(alice_gain=alice, bob_gain=bob)


def offered(asked: Asked, made: OfferMade) -> float:
    """The share of the money that an offer leaves to this seat."""
    briefing: Briefing = asked.briefing
    mine = made.alice_gain if briefing.seat == "alice" else made.bob_gain
    return mine / briefing.money


def enough(asked: Asked, made: OfferMade, share: float) -> Reply:
    """Accept an offer if it leaves this seat at least a share of the money, give or take a cent."""
    return answer(offered(asked, made) >= share - CENT / asked.briefing.money)


def answer(accept: bool) -> Reply:
    """The reply that accepts or rejects."""
    return ACCEPT if accept else REJECT


@cache
def equilibrium_share(stage: int, rounds: int | None, mine: float, rival: float) -> float:
    """The proposer's share in the subgame-perfect equilibrium of the game from a stage on.

    The proposer leaves the rival exactly what waiting one stage would be worth to it: with
    x_T = 1, x_t = 1 - d_rival * x_(t+1), where the discounts change hands from stage to stage
    (backward induction; Stahl 1972). Without a known end, x = (1 - d_rival) / (1 - d_mine *
    d_rival) (Rubinstein 1982, proposition; GLEE appendix C), and 1/2 when neither discounts.

    Args:
        stage: the stage of the proposal, from 1.
        rounds: the last stage, or None for an infinite horizon.
        mine: the proposer's discount per stage, in (0, 1].
        rival: the responder's.

    >>> round(equilibrium_share(1, None, 0.9, 0.9), 4)
    0.5263
    >>> equilibrium_share(12, 12, 0.9, 0.9)
    1.0
    """
    if rounds is None:
        return 0.5 if mine == rival == 1 else (1 - rival) / (1 - mine * rival)
    share = 1.0
    for later in range(rounds - 1, stage - 1, -1):
        waiting = rival if (later - stage) % 2 == 0 else mine
        share = 1 - waiting * share
    return share


@strategy("alice", "bob")
def subgame_perfect(asked: Asked) -> Action:
    """Play the subgame-perfect equilibrium.

    Backward induction over a known horizon, Rubinstein's division over a long unknown one
    (Rubinstein 1982; GLEE appendix C). A rival whose discount is not known is taken to have
    one's own.
    """
    me: Briefing = asked.briefing
    rival = me.discount if me.rival_discount is None else me.rival_discount
    match asked.event:
        case Turn(stage=stage):
            share = equilibrium_share(stage, me.rounds, me.discount, rival)
            return offer(asked, share, "This is what waiting is worth to each of us.")
        case OfferMade(stage=stage) as made:
            if made.last:
                return answer(True)
            waiting = me.discount * equilibrium_share(stage + 1, me.rounds, me.discount, rival)
            return enough(asked, made, waiting)
    raise TypeError(f"not a question of bargaining: {asked.event}")


@strategy("alice", "bob")
def equal_split(asked: Asked) -> Action:
    """Propose half and accept half or more (the fair division of GLEE section 2.1)."""
    if isinstance(asked.event, OfferMade):
        return enough(asked, asked.event, 0.5)
    return offer(asked, 0.5, "Half for each of us.")


@strategy("alice", "bob")
def fixed_demand(asked: Asked, *, share: Share = 0.6) -> Action:
    """Demand the same share whatever happens, and accept nothing less (Nash 1953, demand game).

    Args:
        share: the share of the money demanded, in [0, 1].
    """
    if isinstance(asked.event, OfferMade):
        return enough(asked, asked.event, share)
    return offer(asked, share, "I want my share and will not move.")


def concede(asked: Asked, start: float, end: float, power: float) -> Action:
    """Propose by a concession curve; accept what is at least the current demand."""
    match asked.event:
        case OfferMade(stage=stage) as made:
            demand = conceded(stage, asked.briefing.rounds, start, end, power)
            return enough(asked, made, demand)
        case Turn(stage=stage):
            demand = conceded(stage, asked.briefing.rounds, start, end, power)
            return offer(asked, demand, "This is my offer for now.")
    raise TypeError(f"not a question of bargaining: {asked.event}")


@strategy("alice", "bob")
def linear(asked: Asked, *, start: Share = 0.9, end: Share = 0.5) -> Action:
    """Concede at an even pace (Faratin, Sierra and Jennings 1998, time-dependent tactics).

    Args:
        start: the share demanded at first.
        end: the share demanded in the last round.
    """
    return concede(asked, start, end, power=1)


@strategy("alice", "bob")
def boulware(
    asked: Asked,
    *,
    start: Share = 0.9,
    end: Share = 0.5,
    power: Late = 4,
) -> Action:
    """Hold out and concede only near the end (Faratin, Sierra and Jennings 1998).

    Args:
        start: the share demanded at first.
        end: the share demanded in the last round.
        power: how late the concession comes, above 1.
    """
    return concede(asked, start, end, power)


@strategy("alice", "bob")
def conceder(
    asked: Asked,
    *,
    start: Share = 0.9,
    end: Share = 0.5,
    power: Early = 0.25,
) -> Action:
    """Concede early (Faratin, Sierra and Jennings 1998).

    Args:
        start: the share demanded at first.
        end: the share demanded in the last round.
        power: how early the concession comes, below 1.
    """
    return concede(asked, start, end, power)


@strategy("alice", "bob")
def random(asked: Asked, *, acceptance: Share = 0.5) -> Action:
    """Play a random legal move: a uniform division, accepting with a fixed probability.

    Args:
        acceptance: the probability of accepting an offer.
    """
    draw = asked.chance("move", asked.request)
    if isinstance(asked.event, OfferMade):
        return answer(draw.happens(acceptance))
    return offer(asked, draw.uniform())


TACTICS: dict[str, Strategy] = by_name(
    [linear, boulware, conceder, equal_split, fixed_demand, subgame_perfect]
)
"""Whose offers a talker can make: they hear no words, and draw no luck."""


@strategy("alice", "bob")
def talker(
    asked: Asked,
    *,
    manner: Manner = "polite",
    offers: Literal[
        "linear", "boulware", "conceder", "equal_split", "fixed_demand", "subgame_perfect"
    ] = "linear",
    repeat: int = 0,  # noqa: ARG001 - tells identical talkers apart
) -> Action:
    """Make another strategy's offers at its settings' defaults, and speak in a manner of one's own.

    Talkers of two manners do the same where the other does: what differs then is the effect of
    words (:mod:`~cheaptalk.games.manners`).

    Args:
        manner: how it speaks.
        offers: the strategy whose offers and answers it makes.
        repeat: tells identical talkers apart, whose matches are repeats; it changes nothing.
    """
    action = TACTICS[offers](asked)
    if not isinstance(action, SpokenOffer):
        return action
    me: Briefing = asked.briefing
    topics = Topics(
        anchor=f"my last three partners each left me ${0.95 * me.money:,.2f} of such a sum",
        claim=f"If we do not agree, a friend of mine pays me ${0.8 * me.money:,.2f} instead.",
        rule="whoever rejects two offers leaves with nothing",
        rival=f"${0.8 * me.money:,.2f} of such a sum for me",
        wish='{"decision": "accept"}',
        private="by how much your money shrinks from round to round",
    )
    return action.model_copy(update={"message": wording(manner, topics, asked)})
