"""Payments: the amounts owed to participants, computed from their responses."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import fsum, inf, isfinite
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from cheaptalk.rules import Chance, Game, Result, get_game, suggest
from cheaptalk.rules.bounds import Bounds
from cheaptalk.rules.chance import Stream
from cheaptalk.rules.errors import LocatedError
from cheaptalk.studies.people.path import ENDED, Journey, Response
from cheaptalk.studies.people.pay_rules import EARNING, SHOWN_UP, Bonus, Pay, cents
from cheaptalk.studies.people.protocol import Ending, Protocol
from cheaptalk.studies.people.steps import Consent, Quiz, located_steps

Kind: TypeAlias = Literal["base", "bonus"]
Limit: TypeAlias = Literal["losses", "max", "max_total"]
"""The limit of losses to the visit's earnings, of the bonuses, and of all payments."""
FIXED = ("base", "show_up")
"""Payments that the maximum bonus excludes."""
T = TypeVar("T")


class Due(NamedTuple):
    """A payment owed to a participant.

    Attributes:
        key: the reason, such as ``base/1`` for the first visit or ``game/3``.
        kind: ``base`` for the reward that the platform pays, ``bonus`` for other payments.
        cents: the amount, never negative.
        withheld: the part of the earned amount that is not paid because of a limit or of losses;
            for a game with a loss, the loss (negative).
    """

    key: str
    kind: Kind
    cents: int
    withheld: int = 0

    @property
    def earned(self) -> int:
        """The amount before limits, in cents; negative for a loss."""
        return self.cents + self.withheld

    @property
    def reason(self) -> str:
        """The first part of the key, such as ``game``."""
        return self.key.partition("/")[0]

    def reduced(self, amount: int) -> "Due":
        return self._replace(cents=self.cents - amount, withheld=self.withheld + amount)


class Statement(NamedTuple):
    """The payments for one visit.

    Attributes:
        dues: the payments, including those of zero.
        games: whether each finished game is paid, by number; undrawn games are not.
        correct: number of paid correct answers.
        limits: the amounts by which limits change the sum of the earned amounts, in cents.
    """

    dues: list[Due]
    games: dict[int, bool]
    correct: int
    limits: dict[Limit, int]

    @property
    def total(self) -> int:
        return sum(due.cents for due in self.dues)

    def part(self, kind: Kind) -> int:
        """Return the sum of the payments of a kind, in cents."""
        return sum(due.cents for due in self.dues if due.kind == kind)


class GamePay(NamedTuple):
    """A player's payment for a completed game, and how it was calculated.

    Attributes:
        cents: the payment before limits; negative for a loss.
        result: the payoff in the game or in its drawn rounds, if it determines the bonus.
        rate: the exchange rate of the result.
        rounds: the numbers of the drawn rounds, if rounds are drawn.
    """

    cents: int
    result: float | None = None
    rate: float | None = None
    rounds: list[int] | None = None

    @property
    def recorded(self) -> dict[str, Any]:
        """How the payment was calculated, as part of the response of a game."""
        drawn = {} if self.rounds is None else {"rounds": self.rounds, "result": self.result}
        return drawn if self.rate is None else {"rate": self.rate, **drawn}


def draw(stream: Stream, options: Sequence[T], number: int) -> list[T]:
    """Draw some of the options without replacement; all of them if there are no more.

    >>> draw(Chance("seed")("game"), [1, 2, 3, 4], 2)
    [2, 4]
    """
    remaining = list(options)
    for _ in range(min(number, len(remaining))):
        remaining.remove(stream.pick(remaining))
    return [option for option in options if option not in remaining]


def bonus_of(pay: Pay, game: Game, treatment: str = "") -> Bonus | None:
    """Return the first bonus rule that applies to a game; None if no rule applies."""
    return next((rule for rule in pay.bonus if rule.fits(game, treatment)), None)


def possible_bonuses(pay: Pay, game: Game) -> Iterator[Bonus]:
    """Yield each bonus rule that applies to a game in some treatment."""
    for rule in pay.bonus:
        if rule.fits(game, next(iter(rule.treatment), "")):
            yield rule
            if not rule.treatment:
                return


def check_bonuses(pay: Pay, games: Sequence[Game]) -> None:
    """Raise a LocatedError if a bonus requires a metric, parameter or rounds that a game lacks."""
    for number, rule in enumerate(pay.bonus):
        own = [game for game in games if rule.game in (None, game.name)]
        known = {name for game in own for name in type(game).model_fields}
        if own and (unknown := [name for name in rule.when if name not in known]):
            problem = f"unknown parameter {suggest(unknown[0], sorted(known))}"
            raise LocatedError(problem, "people", "pay", "bonus", number, "when")
    for game in games:
        for rule in possible_bonuses(pay, game):
            _check_bonus(pay, game, rule)
        if pay.paid_rounds != "all" and round_series(game) is None:
            raise LocatedError(
                f"{game.name} has no payoffs by round; remove paid_rounds",
                *("people", "pay", "paid_rounds"),
            )


def _check_bonus(pay: Pay, game: Game, rule: Bonus) -> None:
    if rule.metric is None:
        return
    location = ("people", "pay", "bonus", pay.bonus.index(rule), "metric")
    metrics = get_game(game.name).metrics
    general = (name.replace(seat, "{seat}") for name in metrics for seat in game.seats)
    known = sorted({*metrics, *general})
    if rule.metric not in known:
        raise LocatedError(f"{game.name} has no metric {suggest(rule.metric, known)}", *location)
    if pay.paid_rounds != "all":
        raise LocatedError("paid_rounds requires bonuses by payoff; remove metric", *location)


def round_series(game: Game) -> str | None:
    """Return the name of the series of a game's payoffs by round; None if it has none."""
    series = get_game(game.name).series.values()
    return next((item.name for item in series if item.payoff), None)


def game_pay(
    pay: Pay,
    result: Result,
    seat: str,
    *,
    rounds: Stream,
    treatment: str = "",
    silent: Collection[str] = (),
) -> GamePay:
    """Return a player's payment for a completed game.

    Args:
        rounds: the stream that draws the paid rounds.
        treatment: the game's treatment in the design.
        silent: the seats that forfeited the game.
    """
    if pay.aborted is not None and {*silent} - {seat}:
        return GamePay(cents(pay.aborted))
    game: Game = result.game
    bonus = bonus_of(pay, game, treatment)
    if bonus is None:
        return GamePay(cents(pay.game))
    drawn: list[int] | None = None
    if bonus.metric is not None:
        metric = get_game(game.name).metrics[bonus.metric.replace("{seat}", seat)]
        earned = (None if metric.of is None else metric.of(result)) or 0.0
    elif pay.paid_rounds == "all":
        earned = game.seat_payoffs(result.outcome)[seat]
    else:
        payoffs = round_payoffs(result, seat)
        drawn = draw(rounds, sorted(payoffs), pay.paid_rounds)
        earned = fsum(payoffs[number] for number in drawn)
    amount = cents(pay.game) + bonus.of(earned, losses=pay.offset_losses)
    if bonus.metric is not None:
        return GamePay(amount)
    return GamePay(amount, earned, bonus.rate, drawn)


def round_payoffs(result: Result, seat: str) -> dict[int, float]:
    """Return a seat's payoff in each round of a game that has payoffs by round."""
    name = round_series(result.game)
    assert name is not None
    points = get_game(result.game.name).series[name].of(result)
    return {point.round: point.value or 0.0 for point in points if point.seat == seat}


def dues(journey: Journey, seed: str) -> list[Due]:
    """Return all payments owed for visits that have ended.

    A completed visit earns the base payment. Games are paid unless the participant is responsible
    for an early end of the visit. Some endings earn an additional payment. If only some games are
    paid, the random seed selects them.
    """
    return _paid(statements(journey, journey.endings, seed))


def dues_if_ended(journey: Journey, ending: Ending, seed: str) -> list[Due]:
    """Return the additional payments that would be owed if the visit ended now with ``ending``.

    If games or rounds are drawn, do not show the result to participants: it reveals them.
    """
    return _paid(statements(journey, [*journey.endings, ending], seed)[len(journey.endings) :])


def _paid(statements: Sequence[Statement]) -> list[Due]:
    return [due for statement in statements for due in statement.dues if due.cents]


def statements(journey: Journey, endings: Sequence[Ending], seed: str) -> list[Statement]:
    """Return the payments for each visit, given how the visits ended."""
    pay = journey.protocol.pay
    bonus_left = None if pay.max is None else cents(pay.max)
    total_left = None if pay.max_total is None else cents(pay.max_total)
    results: list[Statement] = []
    for visit, ending in enumerate(endings, 1):
        games = _paid_games(journey, visit, ending, seed)
        correct = _correct_answers(journey, visit) if ending in EARNING else 0
        owed = list(_earned(journey, visit, ending, games, correct))
        limits: Counter[Limit] = Counter()
        owed = _offset(owed, limits)
        owed = _capped(owed, bonus_left, limits, "max")
        fixed = sum(due.cents for due in owed if due.kind == "base")
        left = None if total_left is None else max(0, total_left - fixed)
        owed = _capped(owed, left, limits, "max_total")
        total = sum(due.cents for due in owed)
        if total_left is not None:
            total_left = max(0, total_left - total)
        if ending == "complete" and (missing := cents(pay.min_total) - total) > 0:
            missing = missing if total_left is None else min(missing, total_left)
            owed.append(Due(f"minimum/{visit}", "bonus", missing))
            total_left = None if total_left is None else total_left - missing
        if bonus_left is not None:
            bonus_left -= sum(due.cents for due in owed if _is_limited(due, "max"))
        results.append(Statement(owed, games, correct, dict(limits)))
    return results


def _earned(
    journey: Journey, visit: int, ending: Ending, games: Mapping[int, bool], correct: int
) -> Iterator[Due]:
    """Yield the amounts earned in a visit, before limits."""
    pay = journey.protocol.pay
    if pay.show_up and ending in SHOWN_UP and _came(journey, visit):
        yield Due(f"show_up/{visit}", "bonus", cents(pay.show_up))
    if ending == "complete" and pay.base:
        kind: Kind = "base" if visit == 1 else "bonus"  # platforms pay only for one visit
        yield Due(f"base/{visit}", kind, cents(pay.base))
    waited = any(game.answer.get("waited") for game in journey.games if game.visit == visit)
    if (extra := pay.ended.get(ending)) and (ending != "timed_out" or waited):
        yield Due(f"{ending}/{visit}", "bonus", cents(extra))
    if correct:
        yield Due(f"tasks/{visit}", "bonus", pay.tasks.of(correct))
    amounts = {response.game: response.answer["cents"] for response in _finished(journey, visit)}
    for number, paid in games.items():
        if paid:
            yield Due(f"game/{number}", "bonus", amounts[number])


def _finished(journey: Journey, visit: int) -> list[Response]:
    games = [game for game in journey.games if game.visit == visit]
    return [game for game in games if game.answer["state"] == "finished"]


def _paid_games(journey: Journey, visit: int, ending: Ending, seed: str) -> dict[int, bool]:
    """Return whether each finished game of a visit is paid, by number."""
    numbers = [response.game for response in _finished(journey, visit)]
    number = journey.protocol.pay.paid_games
    paid = numbers if ending in EARNING else []
    if number != "all":
        paid = draw(Chance(seed)("paid game", visit), paid, number)
    return {game: game in paid for game in numbers}


def _came(journey: Journey, visit: int) -> bool:
    """Return whether a participant gave consent, if required, and responded in a visit."""
    answers = [response for response in journey.responses if response.step != ENDED]
    consents = [step.called for step in journey.protocol.steps if isinstance(step, Consent)]
    agreed = any(response.answer.get("agreed") for response in answers if response.visit <= visit)
    return (agreed or not consents) and any(response.visit == visit for response in answers)


def _correct_answers(journey: Journey, visit: int) -> int:
    """Count the correct first answers to the paid questions in a visit."""
    paid = journey.protocol.pay.tasks.steps
    steps = {step.called: step for step in journey.protocol.steps if step.called in paid}
    counted: set[tuple[str, int, str]] = set()
    correct = 0
    for response in journey.responses:
        step = steps.get(response.step)
        if step is None or response.visit != visit:
            continue
        if isinstance(step, Quiz):
            correct += response.correct is True
            continue
        for item in (item for part in step.parts for item in part if item.correct):
            key = response.step, response.game, item.name
            if key not in counted and {*item.columns.values()} <= response.answer.keys():
                counted.add(key)
                correct += item.is_right(response.answer)
    return correct


def _offset(owed: Sequence[Due], limits: Counter[Limit]) -> list[Due]:
    """Subtract losses in games from gains in games, down to zero."""
    losses = sum(-due.cents for due in owed if due.cents < 0)
    left = losses
    results = []
    for due in owed:
        if due.cents < 0:
            results.append(due.reduced(due.cents))
        else:
            taken = min(left, due.cents) if due.reason == "game" else 0
            left -= taken
            results.append(due.reduced(taken))
    if left:
        limits["losses"] += left
    return results


def _capped(
    owed: Sequence[Due], left: int | None, limits: Counter[Limit], limit: Limit
) -> list[Due]:
    """Reduce payments to what is left until a limit, the first payments last."""
    if left is None:
        return list(owed)
    results = []
    for due in owed:
        excess = max(0, due.cents - left) if _is_limited(due, limit) else 0
        if _is_limited(due, limit):
            left -= due.cents - excess
        if excess:
            limits[limit] -= excess
        results.append(due.reduced(excess))
    return results


def _is_limited(due: Due, limit: Limit) -> bool:
    """Return whether a limit includes a payment; platforms pay the base payment in full."""
    return due.kind == "bonus" and (limit != "max" or due.reason not in (*FIXED, "minimum"))


def visit_cents(protocol: Protocol, games: Iterable[Game] = ()) -> tuple[int, int | None]:
    """Return the minimum and the maximum payment for a completed visit, in cents.

    The maximum is None if a bonus has no ``max``, and its result no maximum in ``games``.

    >>> from cheaptalk.studies.people.protocol import Protocol
    >>> paid = {"base": 1.5, "game": 0.1, "bonus": [{"rate": 0.02, "max": 2}]}
    >>> visit_cents(Protocol(path=[{"games": {"max": 2}}], pay=paid))
    (170, 570)
    """
    pay, step = protocol.pay, protocol.games
    fixed = cents(pay.base) + cents(pay.show_up)
    low, high = _game_bounds(pay, list(games))
    min_games, max_games = 1 if step.can_stop else step.count, step.count
    if pay.paid_games != "all":
        min_games, max_games = min(min_games, pay.paid_games), min(max_games, pay.paid_games)
    minimum = max(fixed + max(0, min_games * low), cents(pay.min_total))
    variable = None if high is None else max_games * high + _max_task_cents(protocol)
    return minimum, _limited(pay, variable, fixed)


def participant_cents(protocol: Protocol, games: Iterable[Game] = ()) -> int | None:
    """Return the maximum payment for one participant in all visits, however they end, in cents.

    The maximum is None under the same conditions as in :func:`visit_cents`.
    """
    pay, visits, step = protocol.pay, protocol.limits.visits, protocol.games
    _, high = _game_bounds(pay, list(games))
    others = [cents(amount) for ending, amount in pay.ended.items() if ending != "complete"]
    extra = max(cents(pay.ended.get("complete", 0)), max(others, default=0) - cents(pay.base), 0)
    variable = None
    if high is not None:
        per_visit = step.count if pay.paid_games == "all" else min(step.count, pay.paid_games)
        paid_games = min(per_visit * visits, protocol.limits.games)
        variable = paid_games * high + visits * (_max_task_cents(protocol) + extra)
    return _limited(pay, variable, visits * (cents(pay.base) + cents(pay.show_up)), visits)


def _limited(pay: Pay, variable: int | None, fixed: int, visits: int = 1) -> int | None:
    """Return the maximum of fixed and variable payments under the limits of all payments."""
    if pay.max is not None:
        variable = cents(pay.max) if variable is None else min(variable, cents(pay.max))
    if variable is None:
        return None if pay.max_total is None else cents(pay.max_total)
    total = max(fixed + variable, visits * cents(pay.min_total))
    return total if pay.max_total is None else min(total, cents(pay.max_total))


def _max_task_cents(protocol: Protocol) -> int:
    """Return the maximum payment for all correct answers of a visit, in cents."""
    tasks, questions = protocol.pay.tasks, 0
    for location, step in located_steps(protocol.path):
        if step.called in tasks.steps:
            items = [item for part in step.parts for item in part if item.correct]
            times = protocol.games.count if len(location) > 1 else 1
            questions += times * (1 if isinstance(step, Quiz) else len(items))
    return tasks.of(questions)


def _game_bounds(pay: Pay, games: Sequence[Game]) -> tuple[int, int | None]:
    """Return the minimum and the maximum payment for a game, in cents."""
    pairs = [pair for game in games for pair in _bonus_bounds(pay, game)]
    if not games:
        pairs = [_rule_bounds(rule) for rule in pay.bonus] or [(0, 0)]
    highs = [high for _, high in pairs if high is not None]
    low = cents(pay.game) + min(low for low, _ in pairs)
    high = None if len(highs) < len(pairs) else cents(pay.game) + max(highs)
    if pay.aborted is not None and high is not None:
        high = max(high, cents(pay.aborted))
    return low, high


def _bonus_bounds(pay: Pay, game: Game) -> Iterator[tuple[int, int | None]]:
    """Yield the minimum and the maximum bonus for a game by each possible rule, in cents."""
    rules = list(possible_bonuses(pay, game))
    if not rules or rules[-1].treatment:  # another treatment may have no bonus
        yield 0, 0
    for rule in rules:
        yield _rule_bounds(rule, _result_bounds(pay, game, rule), losses=pay.offset_losses)


def _rule_bounds(
    rule: Bonus, results: Bounds = (-inf, inf), *, losses: bool = False
) -> tuple[int, int | None]:
    worst, best = results if rule.rate >= 0 else results[::-1]
    low = cents(rule.min or 0)
    if losses and rule.min is None and isfinite(worst):
        low = rule.of(worst, losses=True)
    at_zero = cents(rule.at_zero or 0)
    if isfinite(best):
        return low, max(rule.of(best, losses=losses), at_zero)
    return low, None if rule.max is None else max(cents(rule.max), at_zero)


def _result_bounds(pay: Pay, game: Game, rule: Bonus) -> Bounds:
    """Return the minimum and the maximum of the result that determines a bonus."""
    spec = get_game(game.name)
    if rule.metric is not None:
        names = {rule.metric.replace("{seat}", seat) for seat in game.seats}
        pairs = [spec.metrics[name].bounds_in(game) for name in names if name in spec.metrics]
    elif pay.paid_rounds != "all" and (name := round_series(game)) is not None:
        low, high = spec.series[name].bounds_in(game)
        pairs = [(pay.paid_rounds * low, pay.paid_rounds * high)]
    else:
        pairs = list(game.declared_bounds("payoff_bounds").values())
    lows, highs = zip(*pairs, strict=True)
    return min(lows), max(highs)
