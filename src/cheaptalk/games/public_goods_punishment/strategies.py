"""Scripted contributors and punishers, which depend only on observations."""

from statistics import fmean

from cheaptalk.games.public_goods.rules import Contribution
from cheaptalk.games.public_goods_punishment.rules import (
    MAX_POINTS,
    Briefing,
    GroupResult,
    Punishment,
)
from cheaptalk.games.rounds import cached
from cheaptalk.games.tactics import Share
from cheaptalk.rules import Action, DecisionRequest, strategy

give = cached(Contribution)


def punish_nobody(request: DecisionRequest) -> Action:
    """Assign no points."""
    return Punishment(points=(0,) * (request.briefing.group_size - 1))


@strategy("player")
def equilibrium(request: DecisionRequest) -> Action:
    """Contribute nothing, and punish nobody (subgame-perfect equilibrium of selfish players)."""
    return punish_nobody(request) if isinstance(request.event, GroupResult) else give(0)


@strategy("player")
def cooperator(request: DecisionRequest) -> Action:
    """Contribute everything, and punish nobody."""
    if isinstance(request.event, GroupResult):
        return punish_nobody(request)
    return give(request.briefing.tokens)


@strategy("player")
def reciprocal(request: DecisionRequest, *, first: Share = 1.0, severity: Share = 0.2) -> Action:
    """Match the others' last average contribution, and punish those who contributed less.

    In rounds with punishment, the contribution does not fall below the player's previous one.

    Args:
        first: the share of the tokens contributed in the first round.
        severity: points for each token that a member contributed less than the player.
    """
    me: Briefing = request.briefing
    event = request.event
    if isinstance(event, GroupResult):
        shortfalls = (max(event.contributed - given, 0) for given in event.others)
        points = (min(round(severity * shortfall), MAX_POINTS) for shortfall in shortfalls)
        return Punishment(points=tuple(points))
    past = [moment.event for moment in request.heard if isinstance(moment.event, GroupResult)]
    if not past:
        return give(round(first * me.tokens))
    average = round(fmean(past[-1].others))
    return give(max(average, past[-1].contributed) if past[-1].punishment else average)


@strategy("player")
def antisocial(request: DecisionRequest, *, points: int = 1) -> Action:
    """Contribute nothing, and punish those who contributed more (Herrmann et al. 2008).

    Args:
        points: the points for each member who contributed more, from 0 to 10.
    """
    event = request.event
    if isinstance(event, GroupResult):
        number = min(max(points, 0), MAX_POINTS)
        return Punishment(
            points=tuple(number if given > event.contributed else 0 for given in event.others)
        )
    return give(0)


@strategy("player")
def random(request: DecisionRequest) -> Action:
    """Contribute a random number of tokens, and assign up to two random points to each member."""
    draw = request.chance("move", request.number)
    me: Briefing = request.briefing
    if isinstance(request.event, GroupResult):
        return Punishment(points=tuple(draw.integer(0, 2) for _ in range(me.group_size - 1)))
    return give(draw.integer(0, me.tokens))
