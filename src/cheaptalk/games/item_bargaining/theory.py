"""Outcomes of matches that can be computed without playing the matches."""

from cheaptalk.games.item_bargaining.events import Pool, Settlement
from cheaptalk.games.item_bargaining.rules import FIRST


def walked(instance: Pool, by: str = FIRST) -> Settlement:
    """Return the outcome of a match in which one player uses the strategy ``walk`` (section 5).

    The strategy walks away in round 1 against any rival, so no model calls are needed.
    """
    return Settlement(ended="walk", round=1, by=by, worth=instance.outside)
