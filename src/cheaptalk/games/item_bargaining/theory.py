"""Results of matches that needn't be played."""

from cheaptalk.games.item_bargaining.events import Pool, Settlement
from cheaptalk.games.item_bargaining.rules import FIRST


def walked(instance: Pool, by: str = FIRST) -> Settlement:
    """Return the outcome of every match in which the strategy ``walk`` is in this seat.

    It walks away in round 1 against any rival, so such a match needs no model calls (section 5).
    """
    return Settlement(ended="walk", round=1, by=by, worth=instance.outside)
