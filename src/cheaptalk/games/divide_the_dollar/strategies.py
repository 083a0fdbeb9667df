"""Scripted bidders, which use only what they have observed, and their theory.

G is the gold and N the number of players.
"""

from functools import lru_cache

from cheaptalk.games.divide_the_dollar.events import Bid, Briefing, RoundResult
from cheaptalk.games.rounds import REMEMBERED, Wholes, in_turn, last_report
from cheaptalk.games.seat_names import player_number
from cheaptalk.rules import Action, DecisionRequest, strategy


def equilibrium_bid(golds: int, players: int, number: int) -> int:
    """Return the bid of a player, numbered from 1, in the equilibrium of equal shares: G / N.

    The remainder is distributed over the first players, one coin each, so the bids sum to G: no
    player gains by bidding more, which leaves all with nothing, or less. The equilibrium is
    symmetric if N divides G (GAMA-Bench section 2.1; Nash 1953 for two).

    >>> [equilibrium_bid(100, 3, number) for number in (1, 2, 3)]
    [34, 33, 33]
    """
    share, remainder = divmod(golds, players)
    return share + (number <= remainder)


def best_bid(golds: int, opponent_total: int) -> int:
    """Return the best response to the sum of the other players' bids: the remaining gold, or 0.

    >>> best_bid(100, 91), best_bid(100, 120)
    (9, 0)
    """
    return min(max(golds - opponent_total, 0), golds)


@lru_cache(maxsize=REMEMBERED)
def bid(amount: int) -> Bid:
    """Return the bid of an amount."""
    return Bid(bid_amount=amount)


@strategy("player")
def fixed(request: DecisionRequest, *, choices: Wholes = (10,)) -> Action:
    """Always bid the same, or repeat several bids in turn (GAMA-Bench appendix G bids 91).

    Args:
        choices: the bids, one per round, repeated.
    """
    return bid(in_turn(choices, request.event.round))


@strategy("player")
def random(request: DecisionRequest) -> Action:
    """Bid a random amount from 0 to the gold."""
    draw = request.chance("move", request.number)
    return bid(draw.integer(0, request.briefing.golds))


@strategy("player")
def equilibrium(request: DecisionRequest) -> Action:
    """Bid an equal share of the gold (the equilibrium of GAMA-Bench section 2.1)."""
    me: Briefing = request.briefing
    number = player_number(request.actor)
    return bid(equilibrium_bid(me.golds, me.players, number))


@strategy("player")
def best_response(request: DecisionRequest) -> Action:
    """Bid the gold that the others' last bids leave (Cournot 1838); begin with an equal share."""
    last: RoundResult | None = last_report(request)
    if last is None:
        return equilibrium(request)
    return bid(best_bid(last.golds, last.total - last.bid))


@strategy("player")
def proportional(request: DecisionRequest) -> Action:
    """Bid the share of the gold that one's last bid had in the sum (Moulin 2002, rationing).

    If all players do so, their bids fit after one round. Begin with an equal share.
    """
    last: RoundResult | None = last_report(request)
    if last is None or last.total <= 0:
        return equilibrium(request)
    fitting = last.golds * last.bid // last.total
    return bid(min(max(fitting, 0), last.golds))
