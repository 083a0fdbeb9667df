"""Deal or No Deal: free talk about books, hats and balls, then private proposals."""

from cheaptalk.games.deal_or_no_deal import events, measures, rules, strategies
from cheaptalk.rules import GameBox

__all__ = ["BOX", "events", "measures", "rules", "strategies"]

BOX = GameBox.of(__name__, codecs={"tagged": "tagged"})
