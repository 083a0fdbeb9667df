"""Persuasion of a buyer by a better informed seller."""

from cheaptalk.games.persuasion import events, metrics, rules, strategies
from cheaptalk.rules import GameSpec

__all__ = ["SPEC", "events", "metrics", "rules", "strategies"]

SPEC = GameSpec.of(__name__, assessment=metrics.PersuasionAssessment())
