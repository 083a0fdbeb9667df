"""The attainable payoff of a seat, and the share of it that the seat first demands."""

from collections.abc import Iterator
from math import inf, isfinite
from typing import NamedTuple

from cheaptalk.games.bargaining.events import Offer
from cheaptalk.games.bargaining.rules import Bargaining
from cheaptalk.games.deal_or_no_deal.contexts import rest, worth
from cheaptalk.games.deal_or_no_deal.events import MessageOrProposal, Proposal
from cheaptalk.games.deal_or_no_deal.rules import DealOrNoDeal
from cheaptalk.games.deal_or_no_deal.talk import read_offer
from cheaptalk.games.item_bargaining import metrics as items
from cheaptalk.games.item_bargaining.events import Pool
from cheaptalk.games.item_bargaining.rules import ItemBargaining
from cheaptalk.games.negotiation.events import Price
from cheaptalk.games.negotiation.rules import Negotiation
from cheaptalk.games.persuasion.rules import Persuasion, Qualities
from cheaptalk.rules import Action, Game, Instance, Result

ATTAINABLE = "share of the attainable payoff"
"""The unit of metrics that all games share."""


def could_have(game: Game, instance: Instance, seat: str) -> float | None:
    """Return the largest payoff of a seat against opponents who concede everything, in the game's
    unit.

    In negotiation, this is the whole gain from trade; for a buyer in persuasion, the gain from all
    products that are worth more than they cost; for a player who divides items, the value of all
    items; otherwise, the highest payoff of the rules. It is None if there is nothing to gain or no
    upper bound.
    """
    match game, instance:
        case Negotiation(), _:
            attainable = game.value("bob") - game.value("alice")
        case Persuasion(), Qualities() if seat == "bob":
            attainable = sum(
                max(0.0, _worth(game, high) - game.price) for high in instance.qualities
            )
        case ItemBargaining(), Pool():
            values = instance.values[list(game.seats).index(seat)]
            attainable = float(
                sum(n * value for n, value in zip(instance.quantities, values, strict=True))
            )
        case _:
            attainable = game.payoff_bounds().get(game.seats[seat], (0.0, inf))[1]
    return attainable if attainable > 0 and isfinite(attainable) else None


def _worth(game: Persuasion, high: bool) -> float:
    return game.price * (game.value if high else game.low_value)


def gain(game: Game, seat: str, action: Action | None) -> float | None:
    """Return what an offer gives a seat in dollars if it is accepted, undiscounted; None for other
    actions."""
    match game, action:
        case Bargaining(), Offer() as offer:
            return float(offer.alice_gain if seat == "alice" else offer.bob_gain)
        case Negotiation(), Price() as named:
            value = game.value(seat)
            return float(named.price - value if seat == "alice" else value - named.price)
        case _:
            return None


class Asking(NamedTuple):
    """A seat's demand or acceptance, undiscounted.

    Attributes:
        asked: that.
        offered: the opponent's last offer; 0 if there was none.
    """

    asked: float
    offered: float


def first_asked(result: Result, seat: str) -> Asking | None:
    """Return a seat's first demand, or its first acceptance if that comes earlier.

    Returns:
        Shares of its attainable payoff, from 0 to 1; None without a decision on a division.
    """
    attainable = could_have(result.game, result.instance, seat)
    first = next(_demands(result, seat), None)
    if attainable is None or first is None:
        return None
    return Asking(*(min(1.0, max(0.0, share / attainable)) for share in first))


def _demands(result: Result, seat: str) -> Iterator[Asking]:
    """Yield a seat's demands and acceptances, in the game's unit, in order."""
    match result.game:
        case Bargaining() | Negotiation():
            yield from _in_dollars(result, seat)
        case ItemBargaining() as game:
            for turn in items.turns(result):
                named = turn.table if turn.action == "ACCEPT" else turn.kept
                if turn.player == list(game.seats).index(seat) and named is not None:
                    yield Asking(named, turn.table or 0.0)
        case DealOrNoDeal():
            yield from _in_points(result, seat)


def _in_dollars(result: Result, seat: str) -> Iterator[Asking]:
    """Yield the demands and acceptances of a seat in games of alternating offers."""
    offered = 0.0
    for _, actor, action in result.given():
        named = gain(result.game, seat, action)
        if named is not None and actor != seat:
            offered = named
        elif named is not None:
            yield Asking(named, offered)
        elif actor == seat and getattr(action, "decision", "") == "accept":
            yield Asking(offered, offered)


def _in_points(result: Result, seat: str) -> Iterator[Asking]:
    """Yield a player's claims in Deal or No Deal, in proposals or in readable messages."""
    context = result.instance.context
    values = context.values[list(result.game.seats).index(seat)]
    offered = 0.0
    for _, actor, action in result.given():
        claim = None
        if isinstance(action, MessageOrProposal) and action.message is not None:
            claim = read_offer(action.message, context.counts)
        elif actor == seat and isinstance(action, Proposal | MessageOrProposal):
            claim = (action.books or 0, action.hats or 0, action.balls or 0)
        if claim is None:
            continue
        if actor == seat:
            yield Asking(worth(values, claim), offered)
        else:
            offered = worth(values, rest(context.counts, claim))
