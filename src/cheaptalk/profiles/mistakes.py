"""Mistakes that no reading of the game excuses: offers and answers that are worse whatever follows.

They generalise M1 to M5 of the meta-game of bargaining (appendix B) to the games of two proposers.
"""

from cheaptalk.games.bargaining.rules import Bargaining
from cheaptalk.games.item_bargaining import measures as items
from cheaptalk.games.item_bargaining.rules import ItemBargaining
from cheaptalk.games.negotiation.rules import Negotiation
from cheaptalk.profiles.stakes import gain
from cheaptalk.rules import Result

SLACK = 0.011
"""Dollars that nobody quarrels over: offers are rounded to cents."""


def mistakes(result: Result, place: str) -> int | None:
    """How many mistakes a place makes in a match; None of a game in which none can be told.

    In bargaining and negotiation: to ask in a counteroffer for less than the offer gave that it
    turned down (worth less by then, in bargaining); to offer oneself a loss, or accept one; and to
    turn down something in the last round. In bargaining over items: M1 to M5.
    """
    match result.game:
        case Bargaining() | Negotiation():
            return _in_offers(result, place)
        case ItemBargaining() as game:
            return int(items.own_mistakes(result, list(game.places).index(place)))
        case _:
            return None


def _in_offers(result: Result, place: str) -> int:
    """The mistakes of a place that proposes and answers by turns."""
    found, offered, turned_down = 0, 0.0, None
    given = [one for one in result.given() if one.action is not None]
    for request, seat, action in given:
        stage = request // 2 + 1
        named = gain(result.game, place, action)
        if named is not None:
            named *= _kept(result.game, place) ** (stage - 1)
        if named is not None and seat != place:
            offered = named
        elif named is not None:
            found += named < 0 or (turned_down is not None and named < turned_down - SLACK)
            turned_down = None
        elif seat == place:
            accepts = getattr(action, "decision", "") == "accept"
            last = stage == result.game.horizon.rounds and not result.game.horizon.hidden
            found += offered < -SLACK if accepts else last and offered > SLACK
            turned_down = None if accepts else offered
    return found


def _kept(game: Bargaining | Negotiation, place: str) -> float:
    """What a dollar keeps of its worth to a place from one stage to the next."""
    return game.discounts[game.roles.index(place)] if isinstance(game, Bargaining) else 1.0
