"""The diner's dilemma: everybody orders, and the bill is split equally."""

from cheaptalk.rules import GameBox

BOX = GameBox.of(__name__)
