"""Divide the dollar: a game of bids whose sum must not exceed an amount of gold."""

from cheaptalk.games.divide_the_dollar import metrics, rules, strategies
from cheaptalk.rules import GameSpec

__all__ = ["SPEC", "events", "metrics", "rules", "strategies"]

events = rules
SPEC = GameSpec.of(__name__)
