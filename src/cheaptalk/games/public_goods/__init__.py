"""Giving to a common pot from which all draw alike."""

from pathlib import Path

from cheaptalk.games.public_goods import strategies
from cheaptalk.games.public_goods.measures import MEASURES, SERIES
from cheaptalk.games.public_goods.rules import PublicGoods
from cheaptalk.rules import GameBox, StyleFile, by_name, strategies_in

BOX = GameBox(
    rules=PublicGoods,
    words=Path(__file__).parent / "styles",
    styles={f"v{version}": StyleFile(f"v{version}.jinja") for version in range(1, 6)},
    strategies=strategies_in(strategies),
    measures=by_name(MEASURES),
    series=by_name(SERIES),
)
