"""Negotiation over the price of a product."""

from pathlib import Path

from cheaptalk.games.negotiation import strategies
from cheaptalk.games.negotiation.measures import MEASURES, SERIES
from cheaptalk.games.negotiation.rules import Negotiation
from cheaptalk.rules import GameBox, StyleFile, by_name, strategies_in

BOX = GameBox(
    rules=Negotiation,
    words=Path(__file__).parent / "styles",
    styles={"plain": StyleFile("plain.jinja")},
    strategies=strategies_in(strategies),
    measures=by_name(MEASURES),
    series=by_name(SERIES),
)
