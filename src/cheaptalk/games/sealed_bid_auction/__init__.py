"""The sealed-bid auction: all bid at once, and the highest bid wins."""

from cheaptalk.games.sealed_bid_auction import events, measures, rules, strategies
from cheaptalk.rules import GameBox

__all__ = ["BOX", "events", "measures", "rules", "strategies"]

BOX = GameBox.of(__name__)
