"""The sealed-bid auction: all players bid simultaneously, and the highest bid wins."""

from cheaptalk.games.sealed_bid_auction import metrics, rules, strategies
from cheaptalk.rules import GameSpec

__all__ = ["SPEC", "events", "metrics", "rules", "strategies"]

events = rules
SPEC = GameSpec.of(__name__)
