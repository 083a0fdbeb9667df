"""Payments: the amounts owed to participants, computed from their responses."""

from collections.abc import Collection, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from cheaptalk.rules import Chance, Game, Result, get_game, suggest
from cheaptalk.rules.errors import LocatedError
from cheaptalk.studies.people.path import Journey
from cheaptalk.studies.people.protocol import EARNING, Bonus, Ending, Pay, Protocol, cents

Kind: TypeAlias = Literal["base", "bonus"]


class Due(NamedTuple):
    """A payment owed to a participant.

    Attributes:
        key: the reason, such as ``base/1`` or ``game/3``.
        kind: ``base`` for the reward that the platform pays, ``bonus`` for other payments.
    """

    key: str
    kind: Kind
    cents: int


def bonus_of(pay: Pay, game: Game) -> Bonus | None:
    """Return the first bonus rule that applies to a game; None if no rule applies."""
    parameters = game.model_dump(mode="json")
    return next((rule for rule in pay.bonus if rule.fits(game.name, parameters)), None)


def check_metrics(pay: Pay, games: Sequence[Game]) -> None:
    """Raise a LocatedError if the bonus for a game depends on a metric that the game lacks."""
    for game in games:
        rule, metrics = bonus_of(pay, game), get_game(game.name).metrics
        if rule is None or rule.metric is None:
            continue
        general = (name.replace(seat, "{seat}") for name in metrics for seat in game.seats)
        known = sorted({*metrics, *general})
        if rule.metric not in known:
            problem = f"{game.name} has no metric {suggest(rule.metric, known)}"
            raise LocatedError(problem, "people", "pay", "bonus", pay.bonus.index(rule), "metric")


def game_cents(
    pay: Pay, game: Game, seat: str, result: Result, silent: Collection[str] = ()
) -> int:
    """Return a player's payment for a completed game, in cents.

    ``silent`` contains the seats that forfeited the game.
    """
    if pay.aborted is not None and {*silent} - {seat}:
        return cents(pay.aborted)
    bonus = bonus_of(pay, game)
    if bonus is None:
        return cents(pay.game)
    if bonus.metric is None:
        earned: float | None = game.seat_payoffs(result.outcome)[seat]
    else:
        metric = get_game(game.name).metrics[bonus.metric.replace("{seat}", seat)]
        earned = None if metric.of is None else metric.of(result)
    return cents(pay.game) + bonus.of(earned or 0.0)


def visit_cents(protocol: Protocol) -> tuple[int, int | None]:
    """Return the minimum and the maximum payment for a completed visit, in cents.

    The maximum is None if a bonus has no ``max``.

    >>> from cheaptalk.studies.people.protocol import Protocol
    >>> paid = {"base": 1.5, "game": 0.1, "bonus": [{"rate": 0.02, "max": 2}]}
    >>> visit_cents(Protocol(path=[{"games": {"max": 2}}], pay=paid))
    (170, 570)
    """
    pay, games = protocol.pay, protocol.games
    min_games = 1 if games.can_stop or pay.one_game else games.count
    max_games = 1 if pay.one_game else games.count
    base, game = cents(pay.base), cents(pay.game)
    min_bonus = min((cents(rule.min) for rule in pay.bonus), default=0)
    bounds = [rule.max for rule in pay.bonus]
    bonus = None if None in bounds else max((cents(bound or 0) for bound in bounds), default=0)
    maximum = None if bonus is None else max_games * (game + bonus)
    if pay.max is not None:
        maximum = min(limit for limit in (maximum, cents(pay.max)) if limit is not None)
    return base + min_games * (game + min_bonus), None if maximum is None else base + maximum


def dues(journey: Journey, seed: str) -> list[Due]:
    """Return all payments owed for visits that have ended.

    A completed visit earns the base payment. Games are paid unless the participant is responsible
    for an early end of the visit. Some endings earn an additional payment. If only one game is
    paid, the random seed selects it.
    """
    return list(_dues(journey, journey.endings, seed))


def dues_if_ended(journey: Journey, ending: Ending, seed: str) -> list[Due]:
    """Return the additional payments that would be owed if the visit ended now with ``ending``.

    If only one game is paid, do not show the result to participants: it reveals the paid game.
    """
    past = {due.key for due in dues(journey, seed)}
    return [due for due in _dues(journey, [*journey.endings, ending], seed) if due.key not in past]


def _dues(journey: Journey, endings: Sequence[Ending], seed: str) -> Iterator[Due]:
    """Yield the payments owed for visits with given endings, with bonuses up to the maximum."""
    visits = enumerate(endings, 1)
    owed = [due for visit, ending in visits for due in _dues_of_visit(journey, visit, ending, seed)]
    maximum = journey.protocol.pay.max
    remaining = sum(due.cents for due in owed) if maximum is None else cents(maximum)
    for due in owed:
        if not due.key.startswith("base/"):
            due = due._replace(cents=min(due.cents, remaining))
            remaining -= due.cents
        if due.cents:
            yield due


def _dues_of_visit(journey: Journey, visit: int, ending: Ending, seed: str) -> Iterator[Due]:
    pay, played = journey.protocol.pay, [game for game in journey.games if game.visit == visit]
    games = [game for game in played if game.answer["state"] == "finished"]
    if ending == "complete" and pay.base:
        kind: Kind = "base" if visit == 1 else "bonus"  # platforms pay only for one visit
        yield Due(f"base/{visit}", kind, cents(pay.base))
    waited = any(game.answer.get("waited") for game in played)
    if (extra := pay.ended.get(ending)) and (ending != "timed_out" or waited):
        yield Due(f"{ending}/{visit}", "bonus", cents(extra))
    if ending not in EARNING:
        return
    if pay.one_game and games:
        games = [Chance(seed)("paid game", visit).pick(games)]
    for response in games:
        yield Due(f"game/{response.game}", "bonus", response.answer["cents"])
