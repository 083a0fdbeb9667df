"""Negotiation of the price of a product."""

from cheaptalk.games.negotiation import events, metrics, rules, strategies
from cheaptalk.games.negotiation.assessment import NegotiationAssessment
from cheaptalk.rules import GameSpec

__all__ = ["SPEC", "events", "metrics", "rules", "strategies"]

SPEC = GameSpec.of(__name__, assessment=NegotiationAssessment())
