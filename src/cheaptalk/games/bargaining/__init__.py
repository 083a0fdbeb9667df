"""Bargaining over a sum of money that shrinks."""

from cheaptalk.games.bargaining import metrics, rules, strategies
from cheaptalk.rules import GameSpec

__all__ = ["SPEC", "events", "metrics", "rules", "strategies"]

events = rules
SPEC = GameSpec.of(__name__, assessment=metrics.BargainingAssessment())
