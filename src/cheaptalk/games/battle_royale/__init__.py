"""Battle royale: shooters take turns until one is left."""

from cheaptalk.games.battle_royale import metrics, rules, strategies
from cheaptalk.rules import GameSpec

__all__ = ["SPEC", "events", "metrics", "rules", "strategies"]

events = rules
SPEC = GameSpec.of(__name__)
