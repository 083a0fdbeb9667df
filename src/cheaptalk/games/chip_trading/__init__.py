"""Chip trading among players with private values."""

from cheaptalk.rules import GameBox

BOX = GameBox.of(__name__)
