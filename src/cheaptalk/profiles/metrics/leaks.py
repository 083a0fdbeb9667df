"""Private numbers that a player's messages reveal."""

import re

from cheaptalk.rules import Action, Game, Result, get_game
from cheaptalk.rules.bounds import numbers

NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def keeps_secrets(game: Game) -> bool:
    """Return whether a game has private numbers that messages can reveal."""
    assessment, instance = get_game(game.name).assessment, game.instance_of("1")
    return any(assessment.private_numbers(game, instance, seat) for seat in game.seats)


def leaks(result: Result, seat: str) -> list[int] | None:
    """Return the requests at which a seat revealed its private number.

    See :meth:`.Assessment.private_numbers`. Messages before the opponent's first message are
    ignored if the opponent sends any. Numbers that equal a number in the same action, such as an
    offer, are ignored, because their meaning is ambiguous. The result is None without a private
    number or a message.
    """
    assessment = get_game(result.game.name).assessment
    private = assessment.private_numbers(result.game, result.instance, seat)
    if not private:
        return None
    secret = {round(number, 6) for number in private}
    own = {actor.name for actor in result.game.actors if actor.seat == seat}
    spoken = [
        (request, actor, action, action.message or "")
        for request, actor, action in result.given()
        if action is not None and hasattr(action, "message")
    ]
    first_request = next(
        (request for request, actor, _, message in spoken if actor not in own and message), -1
    )
    answers = [(request, action, message) for request, actor, action, message in spoken
               if actor in own and request > first_request]  # fmt: skip
    if not answers:
        return None
    return [request for request, action, message in answers
            if (_named(message) - _offered(action)) & secret]  # fmt: skip


def _named(message: str) -> set[float]:
    return {round(float(text.replace(",", "")), 6) for text in NUMBER.findall(message)}


def _offered(action: Action) -> set[float]:
    return {round(number, 6) for _, number in numbers(action.model_dump())}
