"""Mistakes that no reading of the game excuses: offers and answers that are worse whatever follows.

They generalise M1 to M5 of the meta-game of bargaining (appendix B) to the games of two proposers.
"""

from typing import NamedTuple

from cheaptalk.games.bargaining.rules import Bargaining
from cheaptalk.games.item_bargaining import measures as items
from cheaptalk.games.item_bargaining.rules import ItemBargaining
from cheaptalk.games.negotiation.rules import Negotiation
from cheaptalk.profiles.metrics.stakes import gain
from cheaptalk.rules import Result

SLACK = 0.011
"""Dollars that nobody quarrels over: offers are rounded to cents."""


class Mistakes(NamedTuple):
    """How often a place makes each kind of mistake in a match.

    Attributes:
        losses: offers to itself, and takings, that leave it less than no agreement.
        others: all others.
    """

    losses: int
    others: int


def mistakes(result: Result, place: str) -> Mistakes | None:
    """The mistakes of a place in a match; None of a game in which none can be told.

    In bargaining and negotiation: to ask in a counteroffer for less than the offer gave that it
    turned down (worth less by then, in bargaining); to offer oneself a loss, or accept one; and to
    turn down something in the last round. In bargaining over items: M1 to M5.
    """
    match result.game:
        case Bargaining() | Negotiation():
            return _in_offers(result, place)
        case ItemBargaining() as game:
            own = list(game.places).index(place)
            turns = [turn for turn in items.turns(result) if turn.player == own]
            losses = sum(
                items.asked_too_little(turn) or items.accepted_too_little(turn) for turn in turns
            )
            return Mistakes(losses, int(items.own_mistakes(result, own)) - losses)
        case _:
            return None


def _in_offers(result: Result, place: str) -> Mistakes:
    """The mistakes of a place that proposes and answers by turns."""
    losses, others, offered, turned_down = 0, 0, 0.0, None
    given = [one for one in result.given() if one.action is not None]
    for request, seat, action in given:
        stage = request // 2 + 1
        named = gain(result.game, place, action)
        if named is not None:
            named *= _kept(result.game, place) ** (stage - 1)
        if named is not None and seat != place:
            offered = named
        elif named is not None:
            less = turned_down is not None and named < turned_down - SLACK
            losses, others = losses + (named < 0), others + (less and named >= 0)
            turned_down = None
        elif seat == place:
            accepts = getattr(action, "decision", "") == "accept"
            last = stage == result.game.horizon.rounds and not result.game.horizon.hidden
            losses += accepts and offered < -SLACK
            others += not accepts and last and offered > SLACK
            turned_down = None if accepts else offered
    return Mistakes(losses, others)


def _kept(game: Bargaining | Negotiation, place: str) -> float:
    """What a dollar keeps of its worth to a place from one stage to the next."""
    return game.discounts[game.roles.index(place)] if isinstance(game, Bargaining) else 1.0
