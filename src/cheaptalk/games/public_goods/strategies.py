"""Scripted contributors, which use only what they have observed, and their theory.

R is the factor and N the number of players: a token contributed yields R / N to its contributor,
and R to all players together.
"""

from functools import lru_cache

from cheaptalk.games.public_goods.events import Briefing, Contribution, RoundResult
from cheaptalk.games.rounds import REMEMBERED, Wholes, in_turn, last_report
from cheaptalk.games.tactics import Share
from cheaptalk.rules import Action, DecisionRequest, strategy


def dominant_contribution(players: int, factor: float, tokens: int) -> int | None:
    """Return the dominant contribution; None if all contributions pay the same.

    Nothing if R < N, because the contributor gets only R / N of a token back, and everything if R >
    N (Samuelson 1954; GAMA-Bench section 2.2). A known number of rounds changes nothing: by
    backward induction it is the equilibrium of every round.

    >>> dominant_contribution(10, 2, 20), dominant_contribution(3, 4, 20)
    (0, 20)
    """
    if factor == players:
        return None
    return 0 if factor < players else tokens


@lru_cache(maxsize=REMEMBERED)
def give(tokens: int) -> Contribution:
    """Return the contribution of this many tokens."""
    return Contribution(tokens_contributed=tokens)


def contribute(request: DecisionRequest, tokens: float) -> Action:
    """Contribute this many tokens, rounded to the nearest legal number."""
    return give(min(max(round(tokens), 0), request.briefing.tokens))


@strategy("player")
def fixed(request: DecisionRequest, *, choices: Wholes = (10,)) -> Action:
    """Always contribute the same, or repeat several amounts in turn (GAMA-Bench appendix G).

    Args:
        choices: the numbers of tokens, one per round, repeated.
    """
    return give(in_turn(choices, request.event.round))


@strategy("player")
def random(request: DecisionRequest) -> Action:
    """Contribute a random number of tokens."""
    draw = request.chance("move", request.number)
    return give(draw.integer(0, request.briefing.tokens))


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
    """Contribute nothing if the factor is below N, else everything (Samuelson 1954)."""
    me: Briefing = request.briefing
    dominant = dominant_contribution(me.players, me.factor, me.tokens)
    return contribute(request, me.tokens if dominant is None else dominant)


@strategy("player")
def conditional_cooperator(
    request: DecisionRequest, *, first: Share = 1.0, matching: Share = 1.0
) -> Action:
    """Contribute what the others contributed on average last (Fischbacher, Gächter and Fehr 2001).

    Args:
        first: the share of the tokens contributed in the first round.
        matching: the share of the others' average that is contributed from then on.
    """
    me: Briefing = request.briefing
    last: RoundResult | None = last_report(request)
    if last is None:
        return contribute(request, first * me.tokens)
    return contribute(request, matching * (last.pot - last.contributed) / (me.players - 1))


@strategy("player")
def grim(request: DecisionRequest) -> Action:
    """Contribute everything until any player contributes less, then nothing (Friedman 1971).

    Only the last round matters, because the strategy itself contributed less there if any player
    did before.
    """
    tokens = request.briefing.tokens
    last: RoundResult | None = last_report(request)
    betrayed = last is not None and min(last.contributions) < tokens
    return contribute(request, 0 if betrayed else tokens)
