"""The attainable payoff of a seat, and the share of it that the seat first demands."""

from collections.abc import Iterator
from math import inf, isfinite
from operator import mul
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
    """Return a seat's highest payoff in the game's unit if its opponents concede everything.

    In negotiation, it is the entire gain from trade. For a buyer in persuasion, it is the gain from
    all products that are worth more than their price. In item bargaining, it is the value of all
    items. In other games, it is the highest payoff. It is None without a possible gain or an upper
    bound.
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
            attainable = float(sum(map(mul, instance.quantities, values)))
        case _:
            attainable = game.payoff_bounds().get(game.seats[seat], (0.0, inf))[1]
    return attainable if attainable > 0 and isfinite(attainable) else None


def _worth(game: Persuasion, high: bool) -> float:
    return game.price * (game.value if high else game.low_value)


def gain(game: Game, seat: str, action: Action | None) -> float | None:
    """Return a seat's undiscounted payoff in dollars from an offer; None for other actions."""
    match game, action:
        case Bargaining(), Offer() as offer:
            return float(offer.alice_gain if seat == "alice" else offer.bob_gain)
        case Negotiation(), Price() as named:
            value = game.value(seat)
            return float(named.price - value if seat == "alice" else value - named.price)
        case _:
            return None


class Asking(NamedTuple):
    """A seat's demand or acceptance and the last offer to it (or 0), as undiscounted payoffs."""

    asked: float
    offered: float


def first_asked(result: Result, seat: str) -> Asking | None:
    """Return a seat's first demand or acceptance as a share of its attainable payoff (0 to 1).

    The result is None if the seat never demanded or accepted a payoff.
    """
    attainable = could_have(result.game, result.instance, seat)
    first = next(_demands(result, seat), None)
    if attainable is None or first is None:
        return None
    return Asking(*(min(1.0, max(0.0, share / attainable)) for share in first))


def _demands(result: Result, seat: str) -> Iterator[Asking]:
    """Yield a seat's demands and acceptances in order, in the game's unit."""
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
    """Yield a seat's demands and acceptances in games of alternating offers."""
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
    """Yield the payoffs that a seat claims in Deal or No Deal, by proposal or message."""
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
