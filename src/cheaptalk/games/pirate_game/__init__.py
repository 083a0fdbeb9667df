"""The pirate game, in which pirates divide gold by seniority."""

from cheaptalk.games.pirate_game import metrics, rules, strategies
from cheaptalk.rules import GameSpec

__all__ = ["SPEC", "events", "metrics", "rules", "strategies"]

events = rules
SPEC = GameSpec.of(__name__)
