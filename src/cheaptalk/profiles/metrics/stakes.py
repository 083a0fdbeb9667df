"""What a seat could have had of a match, and what it first asks of that."""

from collections.abc import Iterator
from math import inf, isfinite
from typing import NamedTuple

from cheaptalk.games.bargaining.events import Offer
from cheaptalk.games.bargaining.rules import Bargaining
from cheaptalk.games.deal_or_no_deal.contexts import rest, worth
from cheaptalk.games.deal_or_no_deal.events import MessageOrProposal, Proposal
from cheaptalk.games.deal_or_no_deal.rules import DealOrNoDeal
from cheaptalk.games.deal_or_no_deal.talk import read_offer
from cheaptalk.games.item_bargaining import measures as items
from cheaptalk.games.item_bargaining.events import Pool
from cheaptalk.games.item_bargaining.rules import ItemBargaining
from cheaptalk.games.negotiation.events import Price
from cheaptalk.games.negotiation.rules import Negotiation
from cheaptalk.games.persuasion.rules import Persuasion, Qualities
from cheaptalk.rules import Action, Deal, Game, Result

ATTAINABLE = "share of the attainable payoff"
"""The unit of metrics that all games share."""


def could_have(game: Game, deal: Deal, place: str) -> float | None:
    """The most that a place could get of a match from others who give it all, in the game's unit.

    In negotiation that is the whole gain from trade; to a buyer in persuasion, what all products
    bring that are worth more than they cost; to a player who divides items, all of them at once;
    elsewhere the highest payoff of the rules. None where there is nothing to be had, or no end to
    it.
    """
    match game, deal:
        case Negotiation(), _:
            most = game.value("bob") - game.value("alice")
        case Persuasion(), Qualities() if place == "bob":
            most = sum(max(0.0, _worth(game, high) - game.price) for high in deal.qualities)
        case ItemBargaining(), Pool():
            values = deal.values[list(game.places).index(place)]
            most = float(sum(n * value for n, value in zip(deal.quantities, values, strict=True)))
        case _:
            most = game.payoff_bounds().get(game.places[place], (0.0, inf))[1]
    return most if most > 0 and isfinite(most) else None


def _worth(game: Persuasion, high: bool) -> float:
    return game.price * (game.value if high else game.low_value)


def gain(game: Game, place: str, action: Action | None) -> float | None:
    """What an offer gives a place in dollars if it is accepted, undiscounted; None of what is no
    offer of bargaining or negotiation."""
    match game, action:
        case Bargaining(), Offer() as offer:
            return float(offer.alice_gain if place == "alice" else offer.bob_gain)
        case Negotiation(), Price() as named:
            value = game.value(place)
            return float(named.price - value if place == "alice" else value - named.price)
        case _:
            return None


class Asking(NamedTuple):
    """What a place asks for itself, or takes, undiscounted.

    Attributes:
        asked: that.
        offered: what the other had offered it last; 0 where it had offered nothing.
    """

    asked: float
    offered: float


def first_asked(result: Result, place: str) -> Asking | None:
    """What a place first asks for itself, or takes if it takes something before.

    Returns:
        Shares of what it could have had, from 0 to 1; None where it decides on no division.
    """
    most = could_have(result.game, result.deal, place)
    first = next(_asked(result, place), None)
    if most is None or first is None:
        return None
    return Asking(*(min(1.0, max(0.0, one / most)) for one in first))


def _asked(result: Result, place: str) -> Iterator[Asking]:
    """What a place asks for or takes, in the game's unit, in order."""
    match result.game:
        case Bargaining() | Negotiation():
            yield from _in_dollars(result, place)
        case ItemBargaining() as game:
            for turn in items.turns(result):
                named = turn.table if turn.action == "ACCEPT" else turn.kept
                if turn.player == list(game.places).index(place) and named is not None:
                    yield Asking(named, turn.table or 0.0)
        case DealOrNoDeal():
            yield from _in_points(result, place)


def _in_dollars(result: Result, place: str) -> Iterator[Asking]:
    """What a place asks for or takes that proposes and answers by turns."""
    offered = 0.0
    for _, seat, action in result.given():
        named = gain(result.game, place, action)
        if named is not None and seat != place:
            offered = named
        elif named is not None:
            yield Asking(named, offered)
        elif seat == place and getattr(action, "decision", "") == "accept":
            yield Asking(offered, offered)


def _in_points(result: Result, place: str) -> Iterator[Asking]:
    """What a player claims in Deal or No Deal, in a proposal or in words that can be read."""
    context = result.deal.context
    values = context.values[list(result.game.places).index(place)]
    offered = 0.0
    for _, seat, action in result.given():
        claim = None
        if isinstance(action, MessageOrProposal) and action.message is not None:
            claim = read_offer(action.message, context.counts)
        elif seat == place and isinstance(action, Proposal | MessageOrProposal):
            claim = (action.books or 0, action.hats or 0, action.balls or 0)
        if claim is None:
            continue
        if seat == place:
            yield Asking(worth(values, claim), offered)
        else:
            offered = worth(values, rest(context.counts, claim))
