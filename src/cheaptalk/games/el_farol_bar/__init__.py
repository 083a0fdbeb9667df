"""Going to a bar that is fun only while it is not crowded."""

from cheaptalk.games.el_farol_bar import events, measures, rules, strategies
from cheaptalk.rules import GameBox

__all__ = ["BOX", "events", "measures", "rules", "strategies"]

BOX = GameBox.of(__name__)
