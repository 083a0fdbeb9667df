"""Item bargaining: alternating offers over items of several kinds, with outside options."""

from dataclasses import replace

from cheaptalk.games.item_bargaining import events, measures, rules, strategies
from cheaptalk.games.item_bargaining.empirical_view import VIEW
from cheaptalk.rules import GameBox
from cheaptalk.rules.box import LANGUAGES

__all__ = ["BOX", "events", "measures", "rules", "strategies"]

STYLES = [*(f"circle_{circle}" for circle in range(7)), *LANGUAGES]
BOX = replace(GameBox.of(__name__, styles=STYLES), view=VIEW)
"""Each circle is a prompt version of the paper's appendix C, which adds to the one before."""
