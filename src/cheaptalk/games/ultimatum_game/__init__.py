"""A proposer offers a part of a sum, and a responder accepts or rejects it."""

from cheaptalk.games.ultimatum_game import metrics, rules, strategies
from cheaptalk.rules import GameSpec

__all__ = ["SPEC", "events", "metrics", "rules", "strategies"]

events = rules
SPEC = GameSpec.of(__name__)
