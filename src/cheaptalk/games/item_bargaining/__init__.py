"""Item bargaining: alternating offers over items of several kinds, with outside options."""

from pathlib import Path

from cheaptalk.games.item_bargaining import strategies
from cheaptalk.games.item_bargaining.measures import MEASURES
from cheaptalk.games.item_bargaining.rules import ItemBargaining
from cheaptalk.games.item_bargaining.series import SERIES
from cheaptalk.games.item_bargaining.view import VIEW
from cheaptalk.rules import GameBox, StyleFile, by_name, strategies_in

CIRCLES = 7
"""Prompt versions of the paper's appendix C, each of which adds to the one before."""

BOX = GameBox(
    rules=ItemBargaining,
    words=Path(__file__).parent / "styles",
    styles={f"circle_{n}": StyleFile(f"circle_{n}.jinja") for n in range(CIRCLES)},
    strategies=strategies_in(strategies),
    measures=by_name(MEASURES),
    series=by_name(SERIES),
    view=VIEW,
)
