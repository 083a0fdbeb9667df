"""Which models were asked, which ones answered, and how: what a report says of a study's calls."""

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias

from cheaptalk.records.costs import Cost, cost_of
from cheaptalk.records.spending import Sending

NOBODY, UNNAMED = "none answered", "not named"
"""What stands in place of a model id where no reply came, or one that does not name its model."""
Way: TypeAlias = tuple[str, str, str, str, str]


class Served(NamedTuple):
    """Sendings that one player's calls were answered, or failed, in the same way.

    Attributes:
        player: its label.
        asked: the model string.
        answered: the model id that came back, or one of the above.
        route: how the answer was asked for, where that is known.
        settings: what went over the wire beside the messages.
        sendings: how many, those from a cache included.
        cached: how many of them came from a cache.
        first, last: when the first and the last of their matches ended, in seconds since 1970;
            None where none has.
    """

    player: str
    asked: str
    answered: str
    route: str | None
    settings: dict[str, Any]
    sendings: int
    cached: int
    first: float | None
    last: float | None


def served(sendings: Iterable[Sending]) -> tuple[list[Served], dict[str, Cost]]:
    """How a study's calls were answered, and what they took by player, in one look at them all."""
    counts: Counter[Way] = Counter()
    cached: Counter[Way] = Counter()
    ends: dict[Way, list[float]] = {}
    costs: dict[str, Cost] = {}
    for player, model, reply, ended in sendings:
        known = reply or {}
        sent = json.dumps(known.get("sent") or {}, sort_keys=True)
        unnamed = NOBODY if known.get("text") is None else UNNAMED
        way = (player, model, known.get("model") or unnamed, known.get("route") or "", sent)
        counts[way] += 1
        cached[way] += bool(known.get("cached"))
        costs[player] = costs.get(player, Cost()) + cost_of(reply)
        if ended is not None:
            span = ends.setdefault(way, [ended, ended])
            span[:] = min(span[0], ended), max(span[1], ended)
    return [
        Served(
            *way[:3], way[3] or None, json.loads(way[4]), counts[way], cached[way],
            *ends.get(way, (None, None)),
        )
        for way in sorted(counts)
    ], dict(sorted(costs.items()))  # fmt: skip
