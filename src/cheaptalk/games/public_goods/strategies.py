"""Scripted contributors, and the theory that they rest on. They know only what their seat was told.

R is the factor, N the number of players: a token given brings its giver R / N, and all together R.
"""

from functools import lru_cache

from cheaptalk.games.public_goods.events import Briefing, Contribution, RoundResult
from cheaptalk.games.rounds import REMEMBERED, Wholes, in_turn, last_report
from cheaptalk.games.tactics import Share
from cheaptalk.rules import Action, Asked, strategy


def dominant_contribution(players: int, factor: float, tokens: int) -> int | None:
    """The contribution that pays most whatever the others do; None where all pay the same.

    Nothing where R < N, since the giver keeps only R / N of a token, and everything where R > N
    (Samuelson 1954; GAMA-Bench section 2.2). Known rounds change nothing: by backward induction
    it is the equilibrium of every round.

    >>> dominant_contribution(10, 2, 20), dominant_contribution(3, 4, 20)
    (0, 20)
    """
    if factor == players:
        return None
    return 0 if factor < players else tokens


@lru_cache(maxsize=REMEMBERED)
def give(tokens: int) -> Contribution:
    """The contribution of so many tokens."""
    return Contribution(tokens_contributed=tokens)


def contribute(asked: Asked, tokens: float) -> Action:
    """Give so many tokens, to the nearest whole one that is allowed."""
    return give(min(max(round(tokens), 0), asked.briefing.tokens))


@strategy("player")
def fixed(asked: Asked, *, choices: Wholes = (10,)) -> Action:
    """Give the same whatever happens, or several amounts in turn (GAMA-Bench appendix G).

    Args:
        choices: the tokens, one number a round, over and over.
    """
    return give(in_turn(choices, asked.event.round))


@strategy("player")
def random(asked: Asked) -> Action:
    """Give any number of tokens, each equally likely."""
    draw = asked.chance("move", asked.request)
    return give(draw.integer(0, asked.briefing.tokens))


@strategy("player")
def free_rider(asked: Asked) -> Action:
    """Give nothing (GAMA-Bench appendix G)."""
    return contribute(asked, 0)


@strategy("player")
def cooperator(asked: Asked) -> Action:
    """Give everything, which is best for all together where the factor is above 1."""
    return contribute(asked, asked.briefing.tokens)


@strategy("player")
def equilibrium(asked: Asked) -> Action:
    """Give nothing below a factor of N, else everything (Samuelson 1954); at N it costs nothing."""
    me: Briefing = asked.briefing
    dominant = dominant_contribution(me.players, me.factor, me.tokens)
    return contribute(asked, me.tokens if dominant is None else dominant)


@strategy("player")
def conditional_cooperator(asked: Asked, *, first: Share = 1.0, matching: Share = 1.0) -> Action:
    """Give what the others gave on average last (Fischbacher, Gächter and Fehr 2001).

    Args:
        first: the share of the tokens given in the first round.
        matching: the share of the others' average that is given from then on.
    """
    me: Briefing = asked.briefing
    last: RoundResult | None = last_report(asked)
    if last is None:
        return contribute(asked, first * me.tokens)
    return contribute(asked, matching * (last.pot - last.contributed) / (me.players - 1))


@strategy("player")
def grim(asked: Asked) -> Action:
    """Give everything until anybody has given less, then nothing for good (Friedman 1971).

    It need only look at the last round, in which it gave less itself if it was betrayed before.
    """
    tokens = asked.briefing.tokens
    last: RoundResult | None = last_report(asked)
    betrayed = last is not None and min(last.contributions) < tokens
    return contribute(asked, 0 if betrayed else tokens)
