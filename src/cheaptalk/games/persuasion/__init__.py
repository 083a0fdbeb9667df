"""Persuasion of a buyer by a seller who knows more."""

from pathlib import Path

from cheaptalk.games.persuasion import strategies
from cheaptalk.games.persuasion.measures import CHECKS, MEASURES, SERIES
from cheaptalk.games.persuasion.rules import Persuasion
from cheaptalk.rules import GameBox, StyleFile, by_name, strategies_in

BOX = GameBox(
    rules=Persuasion,
    words=Path(__file__).parent / "styles",
    styles={"plain": StyleFile("plain.jinja")},
    strategies=strategies_in(strategies),
    measures=by_name(MEASURES),
    series=by_name(SERIES),
    checks=CHECKS,
)
