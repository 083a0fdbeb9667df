"""Dividing a sum of gold by bids that must not exceed it together."""

from pathlib import Path

from cheaptalk.games.divide_the_dollar import strategies
from cheaptalk.games.divide_the_dollar.measures import MEASURES, SERIES
from cheaptalk.games.divide_the_dollar.rules import DivideTheDollar
from cheaptalk.rules import GameBox, StyleFile, by_name, strategies_in

BOX = GameBox(
    rules=DivideTheDollar,
    words=Path(__file__).parent / "styles",
    styles={f"v{version}": StyleFile(f"v{version}.jinja") for version in range(1, 6)},
    strategies=strategies_in(strategies),
    measures=by_name(MEASURES),
    series=by_name(SERIES),
)
