"""Item bargaining: alternating offers over items of several kinds, with outside options."""

from cheaptalk.rules import GameBox

BOX = GameBox.of(__name__, styles=[f"circle_{circle}" for circle in range(7)])
"""Each style is a prompt version of the paper's appendix C, which adds to the one before."""
