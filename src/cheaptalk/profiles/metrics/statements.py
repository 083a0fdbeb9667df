"""What players say that can be held against what they know: statements of fact, and secrets."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from cheaptalk.games.bargaining.events import Offer, SpokenOffer
from cheaptalk.games.bargaining.rules import Bargaining
from cheaptalk.games.negotiation.events import Price, SpokenPrice
from cheaptalk.games.negotiation.rules import Negotiation
from cheaptalk.rules import Game, Result, game_box

CHECKED = {"persuasion": ("honesty", "honest"), "deal_or_no_deal": ("hallucination", "consistent")}
"""The exact check of what is said in a game, and its verdict on what is true."""
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


class Statement(NamedTuple):
    """What somebody stated.

    Attributes:
        request: the question that was answered with it.
        seat: who stated it.
        true: whether it is true.
    """

    request: int
    seat: str
    true: bool


def statements(result: Result) -> list[Statement]:
    """What was stated in a match, in order, as far as an exact check of the game reads it."""
    name, true = CHECKED.get(result.game.name, ("", ""))
    check = game_box(result.game.name).checks.get(name)
    found = {} if check is None else check(result)
    return [Statement(request, seat, said == true) for (request, seat), said in found.items()]


def keeps_secrets(game: Game) -> bool:
    """Whether players of a game alone know a number, and have words to tell it."""
    if not isinstance(game, Bargaining | Negotiation):
        return False
    return game.messages and not game.complete_information


def leaks(result: Result, place: str) -> list[int] | None:
    """The requests that a place answers with the number that it alone knows; None where it knows
    none, or does not speak.

    Where the other says something, what counts is what the place says after that. In negotiation
    the number is what the product is worth to it; in bargaining the discount, as a factor or as
    what is kept or lost in percent. One that is also the one offered does not count: nobody can
    tell why it was named.
    """
    game = result.game
    if not isinstance(game, Bargaining | Negotiation) or not keeps_secrets(game):
        return None
    secret = {round(one, 6) for one in _secrets(game, place)}
    spoken = [
        (request, seat, action) for request, seat, action in result.given()
        if isinstance(action, SpokenOffer | SpokenPrice)
    ]  # fmt: skip
    asked = next((request for request, seat, action in spoken
                  if seat != place and action.message), -1)  # fmt: skip
    answers = [(request, action) for request, seat, action in spoken
               if seat == place and request > asked]  # fmt: skip
    if not answers:
        return None
    return [request for request, action in answers
            if (_named(action.message) - _offered(action)) & secret]  # fmt: skip


def _named(message: str) -> set[float]:
    return {round(float(one.replace(",", "")), 6) for one in NUMBER.findall(message)}


def _secrets(game: Bargaining | Negotiation, place: str) -> Iterator[float]:
    if isinstance(game, Negotiation):
        yield game.value(place)
    else:
        kept = game.discounts[game.roles.index(place)]
        yield from (kept, 100 * kept, 100 * (1 - kept))


def _offered(action: Offer | Price) -> set[float]:
    """The numbers that an action offers itself."""
    if isinstance(action, Price):
        return {round(action.price, 6)}
    return {round(action.alice_gain, 6), round(action.bob_gain, 6)}
