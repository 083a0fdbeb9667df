"""A game in which players guess a fraction of the average guess."""

from cheaptalk.games.guess_the_average import events, metrics, rules, strategies
from cheaptalk.rules import GameSpec

__all__ = ["SPEC", "events", "metrics", "rules", "strategies"]

SPEC = GameSpec.of(__name__)
