"""Deal or No Deal: free talk about books, hats and balls, then private proposals."""

from cheaptalk.games.deal_or_no_deal import metrics, rules, strategies
from cheaptalk.rules import GameSpec

__all__ = ["SPEC", "events", "metrics", "rules", "strategies"]

events = rules
SPEC = GameSpec.of(
    __name__, assessment=metrics.DealOrNoDealAssessment(), codecs={"tagged": "tagged"}
)
