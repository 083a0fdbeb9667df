"""Going to a bar that is fun only while it is not crowded."""

from pathlib import Path

from cheaptalk.games.el_farol_bar import strategies
from cheaptalk.games.el_farol_bar.measures import MEASURES, SERIES
from cheaptalk.games.el_farol_bar.rules import ElFarolBar
from cheaptalk.rules import GameBox, StyleFile, by_name, strategies_in

BOX = GameBox(
    rules=ElFarolBar,
    words=Path(__file__).parent / "styles",
    styles={f"v{version}": StyleFile(f"v{version}.jinja") for version in range(1, 6)},
    strategies=strategies_in(strategies),
    measures=by_name(MEASURES),
    series=by_name(SERIES),
)
