"""Public goods: contributions to a pot that all players share."""

from cheaptalk.games.public_goods import metrics, rules, strategies
from cheaptalk.rules import GameSpec

__all__ = ["SPEC", "events", "metrics", "rules", "strategies"]

events = rules
SPEC = GameSpec.of(__name__)
