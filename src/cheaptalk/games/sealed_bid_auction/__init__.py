"""The sealed-bid auction: all bid at once, and the highest bid wins."""

from cheaptalk.rules import GameBox

BOX = GameBox.of(__name__)
