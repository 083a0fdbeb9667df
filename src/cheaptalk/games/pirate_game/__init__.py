"""The pirate game: sharing out gold by seniority."""

from pathlib import Path

from cheaptalk.games.pirate_game import strategies
from cheaptalk.games.pirate_game.measures import MEASURES, SERIES
from cheaptalk.games.pirate_game.rules import PirateGame
from cheaptalk.rules import GameBox, StyleFile, by_name, strategies_in

BOX = GameBox(
    rules=PirateGame,
    words=Path(__file__).parent / "styles",
    styles={f"v{version}": StyleFile(f"v{version}.jinja") for version in range(1, 6)},
    strategies=strategies_in(strategies),
    measures=by_name(MEASURES),
    series=by_name(SERIES),
)
