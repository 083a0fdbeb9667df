"""Dividing a sum of gold by bids that must not exceed it together."""

from cheaptalk.games.divide_the_dollar import events, measures, rules, strategies
from cheaptalk.rules import GameBox

__all__ = ["BOX", "events", "measures", "rules", "strategies"]

BOX = GameBox.of(__name__)
