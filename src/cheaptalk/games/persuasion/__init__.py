"""Persuasion of a buyer by a better informed seller."""

from cheaptalk.games.persuasion import metrics, rules, strategies
from cheaptalk.rules import GameSpec

__all__ = ["SPEC", "events", "metrics", "rules", "strategies"]

events = rules
SPEC = GameSpec.of(__name__, assessment=metrics.PersuasionAssessment())
