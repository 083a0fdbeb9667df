"""Mistakes: dominated moves, which generalise those of the item bargaining paper (app. B)."""

from typing import NamedTuple

from cheaptalk.games.bargaining.rules import Bargaining
from cheaptalk.games.item_bargaining import metrics as items
from cheaptalk.games.item_bargaining.rules import ItemBargaining
from cheaptalk.games.negotiation.rules import Negotiation
from cheaptalk.profiles.metrics.attainable import gain
from cheaptalk.rules import Result

SLACK = 0.011
"""Tolerance in dollars, because offers are rounded to cents."""


class Mistakes(NamedTuple):
    """The number of mistakes of a seat in a match.

    Attributes:
        losses: demands and acceptances that give the seat less than no agreement.
        others: all other mistakes.
    """

    losses: int
    others: int


def mistakes(result: Result, seat: str) -> Mistakes | None:
    """Return a seat's mistakes in a match; None for games in which mistakes aren't defined.

    In bargaining and negotiation, mistakes are counteroffers that demand less than a rejected offer
    (in present value), demands and acceptances of a loss, and rejections of a gain in the last
    round. In item bargaining, mistakes are M1 to M5.
    """
    match result.game:
        case Bargaining() | Negotiation():
            return _in_offers(result, seat)
        case ItemBargaining() as game:
            index = list(game.seats).index(seat)
            turns = [turn for turn in items.turns(result) if turn.player == index]
            low = [
                items.asked_too_little(turn) or items.accepted_too_little(turn) for turn in turns
            ]
            losses = sum(low)
            return Mistakes(losses, int(items.own_mistakes(result, index)) - losses)
        case _:
            return None


def _in_offers(result: Result, seat: str) -> Mistakes:
    losses, others, offered, turned_down = 0, 0, 0.0, None
    moves = [move for move in result.given() if move.action is not None]
    for request, actor, action in moves:
        stage = request // 2 + 1
        named = gain(result.game, seat, action)
        if named is not None:
            named *= _discount(result.game, seat) ** (stage - 1)
        if named is not None and actor != seat:
            offered = named
        elif named is not None:
            less = turned_down is not None and named < turned_down - SLACK
            losses, others = losses + (named < 0), others + (less and named >= 0)
            turned_down = None
        elif actor == seat:
            accepts = getattr(action, "decision", "") == "accept"
            last = stage == result.game.horizon.rounds and not result.game.horizon.hidden
            losses += accepts and offered < -SLACK
            others += not accepts and last and offered > SLACK
            turned_down = None if accepts else offered
    return Mistakes(losses, others)


def _discount(game: Bargaining | Negotiation, seat: str) -> float:
    """Return a seat's discount factor per stage."""
    return game.discounts[game.roles.index(seat)] if isinstance(game, Bargaining) else 1.0
