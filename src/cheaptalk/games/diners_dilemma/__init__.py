"""The diner's dilemma: everybody orders, and the bill is split equally."""

from pathlib import Path

from cheaptalk.games.diners_dilemma import strategies
from cheaptalk.games.diners_dilemma.measures import MEASURES, SERIES
from cheaptalk.games.diners_dilemma.rules import DinersDilemma
from cheaptalk.rules import GameBox, StyleFile, by_name, strategies_in

BOX = GameBox(
    rules=DinersDilemma,
    words=Path(__file__).parent / "styles",
    styles={f"v{version}": StyleFile(f"v{version}.jinja") for version in range(1, 6)},
    strategies=strategies_in(strategies),
    measures=by_name(MEASURES),
    series=by_name(SERIES),
)
