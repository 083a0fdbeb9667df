"""A player's conduct in a match: its first demand, revealed secrets, course and lapses."""

import json
import re
from hashlib import sha256
from math import isfinite
from typing import Any, NamedTuple

from cheaptalk.players import Kind
from cheaptalk.records import MatchRecord
from cheaptalk.rules import Demand, Game, Instance, Result, get_game
from cheaptalk.rules.assessment import LATE, LONG, Conduct
from cheaptalk.rules.bounds import numbers

WORDS = ("message", "reasoning")
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


class Course(NamedTuple):
    """A player's course through a match.

    Attributes:
        course: a digest of the player's moves, of the offers and statements in its messages, and of
            the match's status. The opponent's moves are excluded, because manipulations can contain
            false statements and scripted moves follow from the player's moves.
        reached: whether the player made a decision after a message of the opponent.
        reads: whether the player reads text, including names and wording.
    """

    course: str
    reached: bool
    reads: bool


def course(record: MatchRecord, result: Result | None, seat: str) -> Course:
    """Return a player's course through a match; pass None as ``result`` if it did not finish."""
    meanings = {} if result is None else get_game(record.game).assessment.meanings(result)
    moves: list[Any] = [record.status.value]
    spoken = reached = False
    for answer in record.answers:
        action = answer.action or {}
        if answer.actor != seat:
            spoken |= bool(action.get("message"))
            continue
        reached |= spoken
        move = {
            key: value for key, value in action.items() if key not in WORDS and value is not None
        }
        moves.append([answer.request, move, meanings.get((answer.request, answer.actor))])
    digest = sha256(json.dumps(moves, sort_keys=True).encode()).hexdigest()[:16]
    return Course(digest, reached, "model" in record.seats[seat]["spec"])


def conduct(record: MatchRecord, result: Result | None, seat: str) -> Conduct:
    """Return a player's conduct in a match; pass None as ``result`` if it did not finish."""
    if result is not None:
        return get_game(result.game.name).assessment.conduct(result, seat)
    rounds = getattr(getattr(record.rules, "horizon", None), "rounds", 0)
    answers = [answer for answer in record.answers if answer.actor == seat]
    failed = [row.request for row in answers if row.kind not in (Kind.OK, Kind.REPAIRED)]
    late = bool(failed) and min(failed) >= 2 * LATE - 2
    return Conduct(late=late if rounds >= LONG and answers else None)


def could_have(game: Game, instance: Instance, seat: str) -> float | None:
    """Return a seat's highest payoff in the game's unit if its opponents concede everything.

    See :meth:`.Assessment.attainable`. It is None without a possible gain or an upper bound.
    """
    attainable = get_game(game.name).assessment.attainable(game, instance, seat)
    if attainable is None or attainable <= 0 or not isfinite(attainable):
        return None
    return attainable


def first_asked(result: Result, seat: str) -> Demand | None:
    """Return a seat's first demand or acceptance as a share of its attainable payoff (0 to 1).

    The result is None if the seat never demanded or accepted a payoff.
    """
    attainable = could_have(result.game, result.instance, seat)
    first = next(get_game(result.game.name).assessment.demands(result, seat), None)
    if attainable is None or first is None:
        return None
    return Demand(*(min(1.0, max(0.0, share / attainable)) for share in first))


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
    own = {actor.name for actor in result.game.actors if actor.seat == seat}
    spoken = [
        (request, actor, action, action.message or "")
        for request, actor, action in result.given()
        if action is not None and hasattr(action, "message")
    ]
    asked = (request for request, actor, _, message in spoken if actor not in own and message)
    first = next(asked, -1)
    answers = [item for item in spoken if item[1] in own and item[0] > first]
    secret = {round(number, 6) for number in private}
    revealed = []
    for request, _, action, message in answers:
        named = {round(float(text.replace(",", "")), 6) for text in NUMBER.findall(message)}
        offered = {round(number, 6) for _, number in numbers(action.model_dump())}
        revealed += [request] if (named - offered) & secret else []
    return revealed if answers else None
