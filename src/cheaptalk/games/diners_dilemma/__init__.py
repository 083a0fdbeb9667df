"""The diner's dilemma: everybody orders, and the bill is split equally."""

from cheaptalk.games.diners_dilemma import events, measures, rules, strategies
from cheaptalk.rules import GameBox

__all__ = ["BOX", "events", "measures", "rules", "strategies"]

BOX = GameBox.of(__name__)
