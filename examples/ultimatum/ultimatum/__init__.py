"""An ultimatum game about a sum that only the proposer knows."""

from pathlib import Path

from cheaptalk import rules as ct

from . import strategies
from .measures import MEASURES
from .rules import Ultimatum

BOX = ct.GameBox(
    rules=Ultimatum,
    words=Path(__file__).parent / "styles",
    styles={"plain": ct.StyleFile("plain.jinja")},
    strategies=ct.strategies_in(strategies),
    measures=ct.by_name(MEASURES),
)
