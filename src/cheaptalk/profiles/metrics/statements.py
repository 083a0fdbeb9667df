"""Checkable statements: facts that a player can misreport, and secrets that it can reveal."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from cheaptalk.games.bargaining.events import Offer, SpokenOffer
from cheaptalk.games.bargaining.rules import Bargaining
from cheaptalk.games.negotiation.events import Price, SpokenPrice
from cheaptalk.games.negotiation.rules import Negotiation
from cheaptalk.rules import Game, Result, get_game

CHECKED = {"persuasion": ("honesty", "honest"), "deal_or_no_deal": ("hallucination", "consistent")}
"""The exact check of a game's messages, which compares claims with the facts."""
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


class Statement(NamedTuple):
    """A statement of a player.

    Attributes:
        request: the question that was answered with it.
        seat: the actor who made it.
        true: whether it is true.
    """

    request: int
    actor: str
    true: bool


def statements(result: Result) -> list[Statement]:
    """Return the statements of a match, in order, as far as the exact check can read them."""
    name, true = CHECKED.get(result.game.name, ("", ""))
    check = get_game(result.game.name).checks.get(name)
    checked = {} if check is None else check(result)
    return [
        Statement(request, actor, statement == true)
        for (request, actor), statement in checked.items()
    ]


def keeps_secrets(game: Game) -> bool:
    """Return whether players of a game have a private number and can send messages."""
    if not isinstance(game, Bargaining | Negotiation):
        return False
    return game.messages and not game.complete_information


def leaks(result: Result, seat: str) -> list[int] | None:
    """Return the requests at which a seat revealed its private number; None if it has none or sent
    no message.

    If the opponent sends messages, only later messages of the seat count. In negotiation, the
    number is the product's value to it; in bargaining, the discount, as a factor or as a percentage
    kept or lost. A number that is also the one offered does not count, because its meaning is
    ambiguous.
    """
    game = result.game
    if not isinstance(game, Bargaining | Negotiation) or not keeps_secrets(game):
        return None
    secret = {round(secret, 6) for secret in _secrets(game, seat)}
    spoken = [
        (request, actor, action) for request, actor, action in result.given()
        if isinstance(action, SpokenOffer | SpokenPrice)
    ]  # fmt: skip
    first_request = next((request for request, actor, action in spoken
                  if actor != seat and action.message), -1)  # fmt: skip
    answers = [(request, action) for request, actor, action in spoken
               if actor == seat and request > first_request]  # fmt: skip
    if not answers:
        return None
    return [request for request, action in answers
            if (_named(action.message) - _offered(action)) & secret]  # fmt: skip


def _named(message: str) -> set[float]:
    return {round(float(text.replace(",", "")), 6) for text in NUMBER.findall(message)}


def _secrets(game: Bargaining | Negotiation, seat: str) -> Iterator[float]:
    if isinstance(game, Negotiation):
        yield game.value(seat)
    else:
        discount = game.discounts[game.roles.index(seat)]
        yield from (discount, 100 * discount, 100 * (1 - discount))


def _offered(action: Offer | Price) -> set[float]:
    """Yield the numbers that an action itself offers."""
    if isinstance(action, Price):
        return {round(action.price, 6)}
    return {round(action.alice_gain, 6), round(action.bob_gain, 6)}
