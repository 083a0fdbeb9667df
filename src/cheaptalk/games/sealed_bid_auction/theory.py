"""What theory says about bids: pure functions that strategies and tests rest on."""

from typing import Literal

Price = Literal["first", "second"]
"""What the winner pays: the highest bid, its own, or the second highest one."""


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
