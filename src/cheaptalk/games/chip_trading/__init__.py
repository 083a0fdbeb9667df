"""Chip trading among players with private values."""

from cheaptalk.games.chip_trading import events, metrics, rules, strategies
from cheaptalk.rules import GameSpec

__all__ = ["SPEC", "events", "metrics", "rules", "strategies"]

SPEC = GameSpec.of(__name__)
