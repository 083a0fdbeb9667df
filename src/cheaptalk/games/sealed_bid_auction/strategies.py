"""Scripted strategies of the sealed-bid auction, which depend only on observations."""

from math import floor

from cheaptalk.games.rounds import Wholes, cached, in_turn
from cheaptalk.games.sealed_bid_auction.rules import Bid, Briefing, Price, Turn
from cheaptalk.games.tactics import Share
from cheaptalk.rules import Action, DecisionRequest, strategy


def equilibrium_bid(valuation: float, players: int, price: Price, low: float = 0) -> float:
    """Return the symmetric equilibrium bid of risk-neutral bidders with uniform valuations.

    First price: low + (v - low) * (N - 1) / N, the expected highest valuation of the other bidders
    if all are below v. Second price: v, which is dominant (Vickrey 1961; McAfee and McMillan 1987).

    The first-price bid is the limit of a fine grid, because a grid has no symmetric equilibrium in
    pure bids. With GAMA-Bench's draws from a grid without replacement, the expectation is lower by
    1/N of the grid's step (179 instead of 180 for v = 200 among ten bidders).

    Args:
        valuation: v, at least the minimum valuation ``low``.
        players: N, the number of bidders.

    >>> equilibrium_bid(200, 10, "first"), equilibrium_bid(200, 10, "second")
    (180.0, 200)
    """
    return valuation if price == "second" else low + (valuation - low) * (players - 1) / players


bid = cached(Bid)


@strategy("player")
def fixed(request: DecisionRequest, *, choices: Wholes = (50,)) -> Action:
    """Always bid the same amount, or cycle through several (GAMA-Bench appendix G).

    Args:
        choices: the bids, one per round, repeated; reduced to the highest legal bid.
    """
    turn: Turn = request.event
    amount = in_turn(choices, turn.round)
    return bid(amount if turn.highest is None else min(amount, turn.highest))


@strategy("player")
def random(request: DecisionRequest) -> Action:
    """Bid a random integer up to the valuation."""
    turn: Turn = request.event
    return bid(request.chance("move", request.number).integer(0, turn.valuation))


@strategy("player")
def truthful(request: DecisionRequest) -> Action:
    """Bid the true valuation, which is optimal in second-price auctions (Vickrey 1961)."""
    return bid(request.event.valuation)


@strategy("player")
def shade(request: DecisionRequest, *, share: Share = 0.9) -> Action:
    """Bid a fixed share of the valuation, rounded down (Cox, Roberson and Smith 1982).

    Args:
        share: the share of the valuation, in [0, 1].
    """
    return bid(floor(share * request.event.valuation + 1e-9))


@strategy("player")
def equilibrium(request: DecisionRequest) -> Action:
    """Play the symmetric equilibrium for uniform valuations (Vickrey 1961), rounded down.

    If the distribution of valuations is unknown, the minimum is assumed to be 0.
    """
    me: Briefing = request.briefing
    low = me.prior.low if me.prior else 0
    return bid(floor(equilibrium_bid(request.event.valuation, me.players, me.price, low) + 1e-9))
