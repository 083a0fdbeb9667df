"""Negotiation of the price of a product."""

from cheaptalk.games.negotiation import events, metrics, rules, strategies
from cheaptalk.rules import GameSpec

__all__ = ["SPEC", "events", "metrics", "rules", "strategies"]

SPEC = GameSpec.of(__name__, assessment=metrics.NegotiationAssessment())
