"""Guessing a fraction of the average of all guesses."""

from cheaptalk.rules import GameBox

BOX = GameBox.of(__name__)
