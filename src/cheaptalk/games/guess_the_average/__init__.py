"""Guessing a fraction of the average of all guesses."""

from cheaptalk.games.guess_the_average import events, measures, rules, strategies
from cheaptalk.rules import GameBox

__all__ = ["BOX", "events", "measures", "rules", "strategies"]

BOX = GameBox.of(__name__)
