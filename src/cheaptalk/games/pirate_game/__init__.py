"""The pirate game: sharing out gold by seniority."""

from cheaptalk.rules import GameBox

BOX = GameBox.of(__name__)
