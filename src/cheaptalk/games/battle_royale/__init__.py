"""Battle royale: shooters take turns until one is left."""

from pathlib import Path

from cheaptalk.games.battle_royale import strategies
from cheaptalk.games.battle_royale.measures import MEASURES, SERIES
from cheaptalk.games.battle_royale.rules import BattleRoyale
from cheaptalk.rules import GameBox, StyleFile, by_name, strategies_in

BOX = GameBox(
    rules=BattleRoyale,
    words=Path(__file__).parent / "styles",
    styles={f"v{version}": StyleFile(f"v{version}.jinja") for version in range(1, 6)},
    strategies=strategies_in(strategies),
    measures=by_name(MEASURES),
    series=by_name(SERIES),
)
