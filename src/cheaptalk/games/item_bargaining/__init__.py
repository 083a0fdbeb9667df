"""Item bargaining: alternating offers over items of several kinds, with outside options."""

from dataclasses import replace

from cheaptalk.games.item_bargaining import metrics, rules, strategies
from cheaptalk.games.item_bargaining.empirical_view import VIEW
from cheaptalk.rules import GameSpec

__all__ = ["SPEC", "events", "metrics", "rules", "strategies"]

events = rules
STYLES = [f"circle_{circle}" for circle in range(7)]
SPEC = replace(
    GameSpec.of(__name__, assessment=metrics.ItemBargainingAssessment(), styles=STYLES), view=VIEW
)
"""Each circle rewords a prompt of the paper's appendix C, and adds to the one before."""
