"""Giving to a common pot from which all draw alike."""

from cheaptalk.rules import GameBox

BOX = GameBox.of(__name__)
