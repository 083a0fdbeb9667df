"""The diner's dilemma: all players order, and the bill is split equally."""

from cheaptalk.games.diners_dilemma import metrics, rules, strategies
from cheaptalk.rules import GameSpec

__all__ = ["SPEC", "events", "metrics", "rules", "strategies"]

events = rules
SPEC = GameSpec.of(__name__)
