"""Chip trading among players with private values."""

from cheaptalk.games.chip_trading import events, measures, rules, strategies
from cheaptalk.rules import GameBox

__all__ = ["BOX", "events", "measures", "rules", "strategies"]

BOX = GameBox.of(__name__)
