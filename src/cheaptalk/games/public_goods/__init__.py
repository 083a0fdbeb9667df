"""Giving to a common pot from which all draw alike."""

from cheaptalk.games.public_goods import events, measures, rules, strategies
from cheaptalk.rules import GameBox

__all__ = ["BOX", "events", "measures", "rules", "strategies"]

BOX = GameBox.of(__name__)
