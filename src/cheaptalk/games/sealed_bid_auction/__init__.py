"""The sealed-bid auction: all bid at once, and the highest bid wins."""

from pathlib import Path

from cheaptalk.games.sealed_bid_auction import strategies
from cheaptalk.games.sealed_bid_auction.measures import MEASURES, SERIES
from cheaptalk.games.sealed_bid_auction.rules import SealedBidAuction
from cheaptalk.rules import GameBox, StyleFile, by_name, strategies_in

BOX = GameBox(
    rules=SealedBidAuction,
    words=Path(__file__).parent / "styles",
    styles={f"v{version}": StyleFile(f"v{version}.jinja") for version in range(1, 6)},
    strategies=strategies_in(strategies),
    measures=by_name(MEASURES),
    series=by_name(SERIES),
)
