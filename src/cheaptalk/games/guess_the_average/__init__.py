"""A game in which players guess a fraction of the average guess."""

from cheaptalk.games.guess_the_average import metrics, rules, strategies
from cheaptalk.rules import GameSpec

__all__ = ["SPEC", "events", "metrics", "rules", "strategies"]

events = rules
SPEC = GameSpec.of(__name__)
