"""Deal or No Deal: free talk about books, hats and balls, then private proposals."""

from cheaptalk.rules import GameBox

BOX = GameBox.of(__name__, codecs={"tagged": "tagged"})
