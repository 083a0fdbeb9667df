"""Scripted bidders, and the theory that they rest on. They know only what their seat was told."""

from functools import lru_cache
from math import floor

from cheaptalk.games.rounds import REMEMBERED, Wholes, in_turn
from cheaptalk.games.sealed_bid_auction.events import Bid, Briefing, Price, Turn
from cheaptalk.games.tactics import Share
from cheaptalk.rules import Action, Asked, strategy


def equilibrium_bid(valuation: float, players: int, price: Price, low: float = 0) -> float:
    """The bid in symmetric equilibrium of risk-neutral bidders with independent uniform valuations.

    First price: low + (v - low) * (N - 1) / N, what the highest of the others is worth on average
    if all are below v. Second price: v, which no other bid beats whatever the others do (Vickrey
    1961; McAfee and McMillan 1987).

    GAMA-Bench draws valuations from a grid without replacement. There that average is less by one
    part in N of the grid's step (179 and not 180 for v = 200 among ten bidders), and a grid has no
    symmetric equilibrium in pure bids; so at the first price this is the limit of a fine grid.

    Args:
        valuation: v, at least ``low``.
        players: N, the bidders.
        price: what the winner pays.
        low: the least valuation there can be.

    >>> equilibrium_bid(200, 10, "first"), equilibrium_bid(200, 10, "second")
    (180.0, 200)
    """
    return valuation if price == "second" else low + (valuation - low) * (players - 1) / players


@lru_cache(maxsize=REMEMBERED)
def bid(amount: int) -> Bid:
    """The bid of so much."""
    return Bid(bid=amount)


@strategy("player")
def fixed(asked: Asked, *, choices: Wholes = (50,)) -> Action:
    """Bid the same whatever happens, or several amounts in turn (GAMA-Bench appendix G).

    Args:
        choices: the bids, one a round, over and over; the highest legal bid where that is less.
    """
    turn: Turn = asked.event
    amount = in_turn(choices, turn.round)
    return bid(amount if turn.highest is None else min(amount, turn.highest))


@strategy("player")
def random(asked: Asked) -> Action:
    """Bid any whole number up to one's valuation, each equally likely."""
    turn: Turn = asked.event
    return bid(asked.chance("move", asked.request).integer(0, turn.valuation))


@strategy("player")
def truthful(asked: Asked) -> Action:
    """Bid one's valuation, which is best at the second price whatever others do (Vickrey 1961)."""
    return bid(asked.event.valuation)


@strategy("player")
def shade(asked: Asked, *, share: Share = 0.9) -> Action:
    """Bid a fixed share of one's valuation, rounded down (Cox, Roberson and Smith 1982).

    Args:
        share: the share of the valuation, in [0, 1].
    """
    return bid(floor(share * asked.event.valuation + 1e-9))


@strategy("player")
def equilibrium(asked: Asked) -> Action:
    """Play the symmetric equilibrium for uniform valuations (Vickrey 1961), rounded down.

    Who is not told how valuations are drawn takes them to begin at 0.
    """
    me: Briefing = asked.briefing
    low = me.prior.low if me.prior else 0
    return bid(floor(equilibrium_bid(asked.event.valuation, me.players, me.price, low) + 1e-9))
