"""Bargaining over a sum of money that shrinks."""

from cheaptalk.rules import GameBox

BOX = GameBox.of(__name__)
