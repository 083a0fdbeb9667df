"""Deal or No Deal: free talk about books, hats and balls, then private proposals."""

from pathlib import Path

from cheaptalk.games.deal_or_no_deal import strategies
from cheaptalk.games.deal_or_no_deal import strategies as mistakes
from cheaptalk.games.deal_or_no_deal.measures import CHECKS, MEASURES, SERIES
from cheaptalk.games.deal_or_no_deal.rules import DealOrNoDeal
from cheaptalk.rules import GameBox, StyleFile, by_name, strategies_in

BOX = GameBox(
    rules=DealOrNoDeal,
    words=Path(__file__).parent / "styles",
    styles={
        "plain": StyleFile("plain.jinja"),
        "tagged": StyleFile("tagged.jinja", codec="tagged"),
    },
    strategies=strategies_in(strategies) | strategies_in(mistakes),
    measures=by_name(MEASURES),
    series=by_name(SERIES),
    checks=CHECKS,
)
