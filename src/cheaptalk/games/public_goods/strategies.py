"""Scripted strategies of public goods, which depend only on observations.

R is the factor and N is the number of players: each contributed token yields R / N to its
contributor, and R to all players together.
"""

from cheaptalk.games.public_goods.rules import Briefing, Contribution, RoundResult
from cheaptalk.games.rounds import Wholes, cached, in_turn, last_report
from cheaptalk.games.tactics import Share
from cheaptalk.rules import Action, DecisionRequest, strategy


def dominant_contribution(players: int, factor: float, tokens: int) -> int | None:
    """Return the dominant contribution; None if all contributions pay the same.

    The dominant contribution is nothing if R < N, because the contributor gets R / N of a token
    back, and everything if R > N (Samuelson 1954; GAMA-Bench section 2.2). By backward induction,
    this is the equilibrium of every round.

    >>> dominant_contribution(10, 2, 20), dominant_contribution(3, 4, 20)
    (0, 20)
    """
    if factor == players:
        return None
    return 0 if factor < players else tokens


give = cached(Contribution)


def contribute(request: DecisionRequest, tokens: float) -> Action:
    """Contribute the legal number of tokens that is nearest to the given number."""
    return give(min(max(round(tokens), 0), request.briefing.tokens))


@strategy("player")
def fixed(request: DecisionRequest, *, choices: Wholes = (10,)) -> Action:
    """Always contribute the same amount, or cycle through several (GAMA-Bench appendix G)."""
    return give(in_turn(choices, request.event.round))


@strategy("player")
def random(request: DecisionRequest) -> Action:
    """Contribute a random number of tokens."""
    return give(request.chance("move", request.number).integer(0, request.briefing.tokens))


@strategy("player")
def free_rider(request: DecisionRequest) -> Action:
    """Contribute nothing (GAMA-Bench appendix G)."""
    return contribute(request, 0)


@strategy("player")
def cooperator(request: DecisionRequest) -> Action:
    """Contribute everything, which maximises the sum of payoffs if the factor is above 1."""
    return contribute(request, request.briefing.tokens)


@strategy("player")
def equilibrium(request: DecisionRequest) -> Action:
    """Contribute all if the factor is at least the number of players, else 0 (Samuelson 1954)."""
    me: Briefing = request.briefing
    dominant = dominant_contribution(me.players, me.factor, me.tokens)
    return contribute(request, me.tokens if dominant is None else dominant)


@strategy("player")
def conditional_cooperator(
    request: DecisionRequest, *, first: Share = 1.0, matching: Share = 1.0
) -> Action:
    """Match the others' average contribution in the last round (Fischbacher et al. 2001).

    Args:
        first: the share of the tokens contributed in the first round.
        matching: the share of the others' average that is contributed in later rounds.
    """
    me: Briefing = request.briefing
    last: RoundResult | None = last_report(request)
    if last is None:
        return contribute(request, first * me.tokens)
    return contribute(request, matching * (last.pot - last.contributed) / (me.players - 1))


@strategy("player")
def grim(request: DecisionRequest) -> Action:
    """Contribute everything until any player contributes less, then nothing (Friedman 1971)."""
    tokens = request.briefing.tokens
    last: RoundResult | None = last_report(request)
    # after an earlier deviation, this strategy itself contributed less in the last round
    betrayed = last is not None and min(last.contributions) < tokens
    return contribute(request, 0 if betrayed else tokens)
