"""Scripted bidders, and the theory that they rest on. They know only what their seat was told.

G is the gold, N the number of players.
"""

from functools import lru_cache

from cheaptalk.games.divide_the_dollar.events import Bid, Briefing, RoundResult
from cheaptalk.games.places import player_number
from cheaptalk.games.rounds import REMEMBERED, Wholes, in_turn, last_report
from cheaptalk.rules import Action, Asked, strategy


def equilibrium_bid(golds: int, players: int, number: int) -> int:
    """The bid of a player, numbered from 1, in the equilibrium of equal shares: G / N.

    What whole numbers leave over goes to the first players, a piece each, so that the bids always
    sum to G: nobody gains by more, which leaves all with nothing, or by less. It is symmetric
    where N divides G (GAMA-Bench section 2.1; Nash 1953 for two).

    >>> [equilibrium_bid(100, 3, number) for number in (1, 2, 3)]
    [34, 33, 33]
    """
    share, left = divmod(golds, players)
    return share + (number <= left)


def best_bid(golds: int, others: int) -> int:
    """The bid that pays most when the others' bids sum to this: all that they leave, or 0.

    >>> best_bid(100, 91), best_bid(100, 120)
    (9, 0)
    """
    return min(max(golds - others, 0), golds)


@lru_cache(maxsize=REMEMBERED)
def bid(amount: int) -> Bid:
    """The bid of so much gold."""
    return Bid(bid_amount=amount)


@strategy("player")
def fixed(asked: Asked, *, choices: Wholes = (10,)) -> Action:
    """Bid the same whatever happens, or several bids in turn (GAMA-Bench appendix G bids 91).

    Args:
        choices: the bids, one a round, over and over.
    """
    return bid(in_turn(choices, asked.event.round))


@strategy("player")
def random(asked: Asked) -> Action:
    """Bid anything from 0 to the gold, each equally likely."""
    draw = asked.chance("move", asked.request)
    return bid(draw.integer(0, asked.briefing.golds))


@strategy("player")
def equilibrium(asked: Asked) -> Action:
    """Bid an equal share of the gold (the equilibrium of GAMA-Bench section 2.1)."""
    me: Briefing = asked.briefing
    number = player_number(asked.seat)
    return bid(equilibrium_bid(me.golds, me.players, number))


@strategy("player")
def best_response(asked: Asked) -> Action:
    """Bid all that the others' last bids leave over (Cournot 1838); begin with an equal share."""
    last: RoundResult | None = last_report(asked)
    if last is None:
        return equilibrium(asked)
    return bid(best_bid(last.golds, last.total - last.bid))


@strategy("player")
def proportional(asked: Asked) -> Action:
    """Bid the share of the gold that one's last bid had in the sum (Moulin 2002, rationing).

    When all do so, their bids fit at once. Begin with an equal share.
    """
    last: RoundResult | None = last_report(asked)
    if last is None or last.total <= 0:
        return equilibrium(asked)
    fitting = last.golds * last.bid // last.total
    return bid(min(max(fitting, 0), last.golds))
