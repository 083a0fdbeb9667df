"""Battle royale: shooters take turns until one is left."""

from cheaptalk.rules import GameBox

BOX = GameBox.of(__name__)
