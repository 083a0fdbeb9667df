"""What can be known of a match without playing it."""

from cheaptalk.games.item_bargaining.events import Pool, Settlement
from cheaptalk.games.item_bargaining.rules import FIRST


def walked(deal: Pool, by: str = FIRST) -> Settlement:
    """How every match ends in which the strategy ``walk`` sits at this place.

    It walks away in round 1, whoever its rival is, so that such a match need not be played and no
    model be asked (section 5).
    """
    return Settlement(ended="walk", round=1, by=by, worth=deal.outside)
