"""Negotiation of the price of a product."""

from cheaptalk.games.negotiation import metrics, rules, strategies
from cheaptalk.rules import GameSpec

__all__ = ["SPEC", "events", "metrics", "rules", "strategies"]

events = rules
SPEC = GameSpec.of(__name__, assessment=metrics.NegotiationAssessment())
