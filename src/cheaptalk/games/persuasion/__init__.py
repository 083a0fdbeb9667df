"""Persuasion of a buyer by a seller who knows more."""

from cheaptalk.games.persuasion import events, measures, rules, strategies
from cheaptalk.rules import GameBox

__all__ = ["BOX", "events", "measures", "rules", "strategies"]

BOX = GameBox.of(__name__)
