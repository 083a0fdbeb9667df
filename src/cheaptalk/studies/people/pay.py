"""Pay: what participants are owed, as it follows from what they went through."""

from collections.abc import Collection, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from cheaptalk.rules import Chance, Game, Result, game_box
from cheaptalk.studies.people.path import Journey, Response
from cheaptalk.studies.people.protocol import EARNING, Bonus, Ending, Pay, Protocol, cents

Kind: TypeAlias = Literal["base", "bonus"]


class Due(NamedTuple):
    """Something that is owed to somebody, once.

    Attributes:
        key: what it is for, such as ``base/1`` or ``game/3``.
        kind: ``base`` is what a platform pays by itself for taking part, ``bonus`` all else.
        cents: how much.
    """

    key: str
    kind: Kind
    cents: int


def bonus_of(pay: Pay, game: Game) -> Bonus | None:
    """Return the rule by which a game's payoff becomes money; None if it does not."""
    parameters = game.model_dump(mode="json")
    return next((rule for rule in pay.bonus if rule.fits(game.name, parameters)), None)


def game_cents(
    pay: Pay, game: Game, place: str, result: Result, silent: Collection[str] = ()
) -> int:
    """What a game that was played to its end is worth to who sat in a place.

    Args:
        result: how it ended; a seat's measure is that of the whole match.
        silent: places that gave no valid answer in the end.
    """
    if pay.aborted is not None and {*silent} - {place}:
        return cents(pay.aborted)
    bonus = bonus_of(pay, game)
    if bonus is None:
        return cents(pay.game)
    if bonus.measure is None:
        earned: float | None = game.place_payoffs(result.outcome)[place]
    else:
        measure = game_box(game.name).measures[bonus.measure.replace("{place}", place)]
        earned = None if measure.of is None else measure.of(result)
    return cents(pay.game) + bonus.of(earned or 0.0)


def visit_cents(protocol: Protocol) -> tuple[int, int | None]:
    """The least and the most cents that somebody earns who completes a visit.

    A bonus without ``most`` has no bound here: what a payoff can be, a game alone knows.

    >>> from cheaptalk.studies.people.protocol import Protocol
    >>> paid = {"base": 1.5, "game": 0.1, "bonus": [{"rate": 0.02, "most": 2}]}
    >>> visit_cents(Protocol(path=[{"games": {"most": 2}}], pay=paid))
    (170, 570)
    """
    pay, games = protocol.pay, protocol.games
    fewest = 1 if games.may_stop or pay.one_game else games.most
    most = 1 if pay.one_game else games.most
    base, game = cents(pay.base), cents(pay.game)
    least = min((cents(one.least) for one in pay.bonus), default=0)
    bounds = [one.most for one in pay.bonus]
    bonus = None if None in bounds else max((cents(one or 0) for one in bounds), default=0)
    whole = None if bonus is None else most * (game + bonus)
    if pay.most is not None:
        whole = min(one for one in (whole, cents(pay.most)) if one is not None)
    return base + fewest * (game + least), None if whole is None else base + whole


def dues(journey: Journey, seed: str) -> list[Due]:
    """All that is owed for the visits that have ended.

    A visit earns its base where it is completed, and what its games earned where it ends without
    fault of the participant's; an ending with a payment of its own adds that.

    Args:
        seed: of the draw of the game that is paid for, where only one is.
    """
    return _dues(journey, journey.endings, seed)


def dues_if_ended(journey: Journey, ending: Ending, seed: str) -> list[Due]:
    """Return what the visit under way would be owed if it ended now in this way.

    Which game is paid where only one is depends on the draw, so the result is no news for
    participants then.
    """
    past = {due.key for due in dues(journey, seed)}
    return [due for due in _dues(journey, [*journey.endings, ending], seed) if due.key not in past]


def _dues(journey: Journey, endings: Sequence[Ending], seed: str) -> list[Due]:
    owed: list[Due] = []
    for visit, ending in enumerate(endings, 1):
        owed += _of_visit(journey, visit, ending, seed)
    return list(_bounded(owed, journey.protocol.pay.most))


def _games(journey: Journey, visit: int) -> list[Response]:
    """The games of a visit that were played to their end."""
    return [
        one for one in journey.games if one.visit == visit and one.answer["state"] == "finished"
    ]


def _of_visit(journey: Journey, visit: int, ending: Ending, seed: str) -> Iterator[Due]:
    pay, games = journey.protocol.pay, _games(journey, visit)
    if ending == "complete" and pay.base:
        kind: Kind = "base" if visit == 1 else "bonus"  # platforms pay for one visit by themselves
        yield Due(f"base/{visit}", kind, cents(pay.base))
    waited = any(one.visit == visit and one.answer.get("waited") for one in journey.games)
    if (more := pay.ended.get(ending)) and (ending != "timed_out" or waited):
        yield Due(f"{ending}/{visit}", "bonus", cents(more))
    if ending not in EARNING:
        return
    if pay.one_game and games:
        games = [Chance(seed)("paid game", visit).pick(games)]
    for one in games:
        yield Due(f"game/{one.game}", "bonus", one.answer["cents"])


def _bounded(owed: list[Due], most: float | None) -> Iterator[Due]:
    """What is owed with no more bonus than there may be."""
    left = sum(due.cents for due in owed) if most is None else cents(most)
    for due in owed:
        if not due.key.startswith("base/"):
            due = due._replace(cents=min(due.cents, left))
            left -= due.cents
        if due.cents:
            yield due
