"""Guessing a fraction of the average of all guesses."""

from pathlib import Path

from cheaptalk.games.guess_the_average import strategies
from cheaptalk.games.guess_the_average.measures import MEASURES, SERIES
from cheaptalk.games.guess_the_average.rules import GuessTheAverage
from cheaptalk.rules import GameBox, StyleFile, by_name, strategies_in

BOX = GameBox(
    rules=GuessTheAverage,
    words=Path(__file__).parent / "styles",
    styles={f"v{version}": StyleFile(f"v{version}.jinja") for version in range(1, 6)},
    strategies=strategies_in(strategies),
    measures=by_name(MEASURES),
    series=by_name(SERIES),
)
