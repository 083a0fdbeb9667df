"""Participants' payments: the results of their games, and the breakdown on their pages."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Literal, NamedTuple

from cheaptalk.records import MatchRecord, Status
from cheaptalk.records.descriptions import invalid
from cheaptalk.rules import Chance, get_game
from cheaptalk.studies.people.path import Journey
from cheaptalk.studies.people.pay import Due, GamePay, Limit, Statement, game_pay
from cheaptalk.studies.people.pay_rules import Pay, cents
from cheaptalk.studies.study import Study
from cheaptalk.web.participants.people import Participant
from cheaptalk.web.rooms.rooms import Room


def seed_of(study: Study, code: str) -> str:
    """Return the seed of the draws of a participant's paid games and rounds."""
    return f"{study.seed}/{code}"


def outcome_of(
    study: Study, person: Participant, room: Room, record: MatchRecord
) -> tuple[str, float | None, GamePay | None]:
    """Return the state of a participant's ended game, their payoff and their payment."""
    assert study.people is not None
    seat, forfeiters = room.seat_of(person.visitor), {name for name, _ in invalid(record.kinds)}
    if record.status is Status.FINISHED:
        assert record.payoffs is not None
        number = person.journey.stop.game
        pay = game_pay(
            study.people.pay,
            record.result(),
            seat,
            rounds=Chance(seed_of(study, person.code))("paid rounds", number),
            treatment=person.plays[number]["treatment"],
            silent=forfeiters,
        )
        return "finished", record.payoffs[seat], pay
    if seat in forfeiters:
        return "timed_out", None, None
    return "partner_left" if forfeiters & {*room.visitors} else "technical", None, None


class PaymentLine(NamedTuple):
    """A line of a participant's payment.

    Attributes:
        reason: the first part of the payment's key, such as ``game``.
        number: number of the game, or of correct answers for paid tasks.
        cents: the amount before limits; None for a game that was not selected for payment.
        result, unit, rate: the result of the game, its unit and its exchange rate, if they
            determine the amount; no unit if the roles of the game have different ones.
        rounds: the rounds that were selected for payment, if any.
        bound: ``min`` or ``max`` if this limit of the bonus determines the amount, else empty.
    """

    reason: str
    number: int
    cents: int | None
    result: float | None = None
    unit: str = ""
    rate: float | None = None
    rounds: tuple[int, ...] = ()
    bound: Literal["min", "max", ""] = ""


class PaymentBreakdown(NamedTuple):
    """A participant's payment for a visit, as shown on pages; amounts are in cents.

    Attributes:
        limits: the amounts by which limits change the sum of the lines.
        base: the part that a platform pays as the reward; the remainder is a bonus.
    """

    lines: list[PaymentLine]
    limits: dict[Limit, int]
    total: int
    base: int


def breakdown_of(
    journey: Journey, statement: Statement, played: Mapping[int, str]
) -> PaymentBreakdown:
    """Return the payment for a visit with the calculation of each amount.

    ``played`` are the names of the games by number.
    """
    lines = [_line_of(due, statement) for due in statement.dues if due.reason != "game"]
    amounts = {due.key: due.earned for due in statement.dues}
    answers = {response.game: response.answer for response in journey.games}
    for number, paid in statement.games.items():
        amount = amounts[f"game/{number}"] if paid else None
        line = _line_of_game(journey.protocol.pay, number, amount, answers[number])
        lines.append(line._replace(unit=_unit_of(played[number])))
    lines.sort(key=lambda line: line.reason == "minimum")
    return PaymentBreakdown(lines, statement.limits, statement.total, statement.part("base"))


def _line_of(due: Due, statement: Statement) -> PaymentLine:
    return PaymentLine(due.reason, statement.correct, due.earned)


def _line_of_game(
    pay: Pay, number: int, amount: int | None, answer: Mapping[str, Any]
) -> PaymentLine:
    rounds = tuple(answer.get("rounds", ()))
    if amount is None or "rate" not in answer:
        return PaymentLine("game", number, amount, rounds=rounds)
    result, rate = answer.get("result", answer["payoff"]), answer["rate"]
    unlimited = cents(pay.game) + cents(Decimal(str(rate)) * Decimal(str(result)))
    bound: Literal["min", "max", ""] = ""
    if unlimited != amount:
        bound = "max" if unlimited > amount else "min"
    return PaymentLine("game", number, amount, result, "", rate, rounds, bound)


def _unit_of(game: str) -> str:
    first, *others = {*get_game(game).rules.payoff_units().values()}
    return "" if others else first
