"""Outcomes of matches that are known without playing the matches."""

from cheaptalk.games.item_bargaining.events import Pool, Settlement
from cheaptalk.games.item_bargaining.rules import FIRST


def walked(instance: Pool, by: str = FIRST) -> Settlement:
    """Return the outcome of a match in which the strategy ``walk`` plays a seat (section 5).

    The strategy walks away in round 1 against any rival, so no model calls are needed.
    """
    return Settlement(ended="walk", round=1, by=by, worth=instance.outside)
