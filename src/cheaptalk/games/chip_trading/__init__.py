"""Chip trading among players with private values."""

from pathlib import Path

from cheaptalk.games.chip_trading import strategies
from cheaptalk.games.chip_trading.measures import MEASURES, SERIES
from cheaptalk.games.chip_trading.rules import ChipTrading
from cheaptalk.rules import GameBox, StyleFile, by_name, strategies_in

BOX = GameBox(
    rules=ChipTrading,
    words=Path(__file__).parent / "styles",
    styles={"plain": StyleFile("plain.jinja")},
    strategies=strategies_in(strategies),
    measures=by_name(MEASURES),
    series=by_name(SERIES),
)
