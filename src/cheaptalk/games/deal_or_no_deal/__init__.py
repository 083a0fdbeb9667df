"""Deal or No Deal: free talk about books, hats and balls, then private proposals."""

from cheaptalk.games.deal_or_no_deal import events, metrics, rules, strategies
from cheaptalk.games.deal_or_no_deal.assessment import DealOrNoDealAssessment
from cheaptalk.rules import GameSpec

__all__ = ["SPEC", "events", "metrics", "rules", "strategies"]

SPEC = GameSpec.of(__name__, assessment=DealOrNoDealAssessment(), codecs={"tagged": "tagged"})
