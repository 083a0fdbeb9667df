"""Mistakes: moves that are dominated under any reading of the game.

They generalize M1 to M5 of the meta-game of bargaining (appendix B) to the games with two
proposers.
"""

from typing import NamedTuple

from cheaptalk.games.bargaining.rules import Bargaining
from cheaptalk.games.item_bargaining import metrics as items
from cheaptalk.games.item_bargaining.rules import ItemBargaining
from cheaptalk.games.negotiation.rules import Negotiation
from cheaptalk.profiles.metrics.attainable import gain
from cheaptalk.rules import Result

SLACK = 0.011
"""Dollars that are ignored, because offers are rounded to cents."""


class Mistakes(NamedTuple):
    """The number of mistakes of a seat in a match, by kind.

    Attributes:
        losses: offers to itself, and takings, that leave it less than no agreement.
        others: all others.
    """

    losses: int
    others: int


def mistakes(result: Result, seat: str) -> Mistakes | None:
    """Return the mistakes of a seat in a match; None for games without a check.

    In bargaining and negotiation, these are counteroffers that demand less than a rejected offer
    gave (or less in present value, in bargaining), offering oneself or accepting a loss, and
    rejecting an offer in the last round. In bargaining over items, these are M1 to M5.
    """
    match result.game:
        case Bargaining() | Negotiation():
            return _in_offers(result, seat)
        case ItemBargaining() as game:
            index = list(game.seats).index(seat)
            turns = [turn for turn in items.turns(result) if turn.player == index]
            losses = sum(
                items.asked_too_little(turn) or items.accepted_too_little(turn) for turn in turns
            )
            return Mistakes(losses, int(items.own_mistakes(result, index)) - losses)
        case _:
            return None


def _in_offers(result: Result, seat: str) -> Mistakes:
    """Return the mistakes of a seat in games of alternating offers."""
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
    """Return the factor by which a dollar is discounted for a seat from one stage to the next."""
    return game.discounts[game.roles.index(seat)] if isinstance(game, Bargaining) else 1.0
