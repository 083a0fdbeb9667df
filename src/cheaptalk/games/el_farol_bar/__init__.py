"""The El Farol bar: going out is fun only if the bar isn't crowded."""

from cheaptalk.games.el_farol_bar import metrics, rules, strategies
from cheaptalk.rules import GameSpec

__all__ = ["SPEC", "events", "metrics", "rules", "strategies"]

events = rules
SPEC = GameSpec.of(__name__)
