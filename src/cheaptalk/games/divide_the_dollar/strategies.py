"""Scripted strategies of the divide-the-dollar game, which depend only on observations."""

from cheaptalk.games.divide_the_dollar.rules import Bid, Briefing, RoundResult
from cheaptalk.games.rounds import Wholes, cached, in_turn, last_report
from cheaptalk.games.seat_names import player_number
from cheaptalk.rules import Action, DecisionRequest, strategy


def equilibrium_bid(golds: int, players: int, number: int) -> int:
    """Return the bid of a player, numbered from 1, in the equilibrium of equal shares.

    The first players share the remainder, one coin each, so that the bids sum to the gold (GAMA-
    Bench section 2.1; Nash 1953 for two players).

    >>> [equilibrium_bid(100, 3, number) for number in (1, 2, 3)]
    [34, 33, 33]
    """
    share, remainder = divmod(golds, players)
    return share + (number <= remainder)


def best_bid(golds: int, opponent_total: int) -> int:
    """Return the best response to the other players' total bid: the remaining gold, or 0.

    >>> best_bid(100, 91), best_bid(100, 120)
    (9, 0)
    """
    return min(max(golds - opponent_total, 0), golds)


bid = cached(Bid)


@strategy("player")
def fixed(request: DecisionRequest, *, choices: Wholes = (10,)) -> Action:
    """Always bid the same amount (91 in GAMA-Bench appendix G), or cycle through several bids."""
    return bid(in_turn(choices, request.event.round))


@strategy("player")
def random(request: DecisionRequest) -> Action:
    """Bid a random amount from 0 to the gold."""
    return bid(request.chance("move", request.number).integer(0, request.briefing.golds))


@strategy("player")
def equilibrium(request: DecisionRequest) -> Action:
    """Bid an equal share of the gold (the equilibrium of GAMA-Bench section 2.1)."""
    me: Briefing = request.briefing
    return bid(equilibrium_bid(me.golds, me.players, player_number(request.actor)))


@strategy("player")
def best_response(request: DecisionRequest) -> Action:
    """Bid the gold that the others' last bids leave (Cournot 1838); begin with an equal share."""
    last: RoundResult | None = last_report(request)
    if last is None:
        return equilibrium(request)
    return bid(best_bid(last.golds, last.total - last.bid))


@strategy("player")
def proportional(request: DecisionRequest) -> Action:
    """Rescale the last bid by the gold divided by the sum of all bids (Moulin 2002, rationing).

    Begin with an equal share. If all players use this strategy, their bids fit after one round.
    """
    last: RoundResult | None = last_report(request)
    if last is None or last.total <= 0:
        return equilibrium(request)
    fitting = last.golds * last.bid // last.total
    return bid(min(max(fitting, 0), last.golds))
