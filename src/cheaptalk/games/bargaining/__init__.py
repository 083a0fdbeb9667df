"""Bargaining over a sum of money that shrinks."""

from cheaptalk.games.bargaining import events, measures, rules, strategies
from cheaptalk.rules import GameBox

__all__ = ["BOX", "events", "measures", "rules", "strategies"]

BOX = GameBox.of(__name__)
