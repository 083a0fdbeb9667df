"""Bargaining over a sum of money that shrinks."""

from pathlib import Path

from cheaptalk.games.bargaining import strategies
from cheaptalk.games.bargaining.measures import MEASURES, SERIES
from cheaptalk.games.bargaining.rules import Bargaining
from cheaptalk.rules import GameBox, StyleFile, by_name, strategies_in

BOX = GameBox(
    rules=Bargaining,
    words=Path(__file__).parent / "styles",
    styles={"plain": StyleFile("plain.jinja")},
    strategies=strategies_in(strategies),
    measures=by_name(MEASURES),
    series=by_name(SERIES),
)
