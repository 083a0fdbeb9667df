"""Persuasion of a buyer by a seller who knows more."""

from cheaptalk.rules import GameBox

BOX = GameBox.of(__name__)
