"""Going to a bar that is fun only while it is not crowded."""

from cheaptalk.rules import GameBox

BOX = GameBox.of(__name__)
