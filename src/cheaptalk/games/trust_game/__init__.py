"""An investor sends points, which are multiplied, and a trustee returns some of them."""

from cheaptalk.games.trust_game import metrics, rules, strategies
from cheaptalk.rules import GameSpec

__all__ = ["SPEC", "events", "metrics", "rules", "strategies"]

events = rules
SPEC = GameSpec.of(__name__)
