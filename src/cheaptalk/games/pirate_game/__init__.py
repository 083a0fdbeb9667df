"""The pirate game: sharing out gold by seniority."""

from cheaptalk.games.pirate_game import events, measures, rules, strategies
from cheaptalk.rules import GameBox

__all__ = ["BOX", "events", "measures", "rules", "strategies"]

BOX = GameBox.of(__name__)
