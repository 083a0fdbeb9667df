"""Battle royale: shooters take turns until one is left."""

from cheaptalk.games.battle_royale import events, measures, rules, strategies
from cheaptalk.rules import GameBox

__all__ = ["BOX", "events", "measures", "rules", "strategies"]

BOX = GameBox.of(__name__)
