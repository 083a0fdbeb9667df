"""Contributions to a group project, and points that punish other members of the group."""

from cheaptalk.games.public_goods_punishment import metrics, rules, strategies
from cheaptalk.rules import GameSpec

__all__ = ["SPEC", "events", "metrics", "rules", "strategies"]

events = rules
SPEC = GameSpec.of(__name__)
