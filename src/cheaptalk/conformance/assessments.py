"""The check of assessments: the numbers and requests that a game gives to profiles are valid."""

import json
from collections.abc import Iterable, Iterator
from math import isfinite, isnan

from cheaptalk.conformance.matches import (
    Broken,
    configuration_check,
    no_error,
    outcome_of,
    played,
)
from cheaptalk.rules import Assessment, Game, GameSpec, Result
from cheaptalk.rules.bounds import beyond, within


@configuration_check
def check_assessment(game_spec: GameSpec, game: Game, seed: str) -> None:
    """The assessment returns finite numbers, and refers only to requests of the match.

    No seat can attain more than the upper bound of its payoff.
    """
    match = played(game_spec, game, seed)
    result = Result(game, match.instance, outcome_of(match), lambda: match.given)
    assessment = game_spec.assessment
    with no_error("the assessment of statements"):
        made = [(request, actor) for request, actor, _ in assessment.statements(result)]
        meanings = assessment.meanings(result)
        json.dumps([*meanings.values()], allow_nan=False)
    _expect_requests("statements", made, result)
    _expect_requests("meanings", meanings, result)
    for seat, role in game.seats.items():
        with no_error(f'the assessment of seat "{seat}"'):
            attainable = assessment.attainable(game, match.instance, seat)
            numbers = [*_numbers(assessment, result, seat)]
            missed = [request for request, _ in assessment.missed(result, seat)]
        limits = (-float("inf"), game.declared_bounds("payoff_bounds")[role][1])
        if attainable is not None and (isnan(attainable) or not within(attainable, limits)):
            raise Broken(f'the attainable payoff of "{seat}" is {beyond(attainable, limits)}')
        for name, number in numbers:
            if not isfinite(number):
                raise Broken(f'{name}() returns {number} for "{seat}"; return finite numbers')
        own = {actor.name for actor in game.actors if actor.seat == seat}
        answered = {request for request, actor, _ in result.given() if actor in own}
        for request in missed:
            if request not in answered:
                raise Broken(f'missed() yields request {request}, which "{seat}" does not answer')


def _numbers(assessment: Assessment, result: Result, seat: str) -> Iterator[tuple[str, float]]:
    """Yield all numbers of a seat's assessment, with the names of their methods."""
    for demand in assessment.demands(result, seat):
        yield from (("demands", payoff) for payoff in demand)
    yield from (("missed", missed.payoff) for missed in assessment.missed(result, seat))
    yield from (("mistakes", count) for count in assessment.mistakes(result, seat) or ())
    yield from (("conduct", count or 0) for count in assessment.conduct(result, seat))
    private = assessment.private_numbers(result.game, result.instance, seat)
    yield from (("private_numbers", number) for number in private)


def _expect_requests(method: str, keys: Iterable[tuple[int, str]], result: Result) -> None:
    answered = {(request, actor) for request, actor, _ in result.given()}
    for request, actor in keys:
        if (request, actor) not in answered:
            raise Broken(
                f'{method}() names request {request} of "{actor}", which the match does not have'
            )
