"""Divide the dollar: bids for a sum of gold that they must not exceed."""

from cheaptalk.games.divide_the_dollar import events, metrics, rules, strategies
from cheaptalk.rules import GameSpec

__all__ = ["SPEC", "events", "metrics", "rules", "strategies"]

SPEC = GameSpec.of(__name__)
