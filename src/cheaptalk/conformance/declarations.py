"""Checks of declarations: seats, texts, bounds, metrics and series are as declared."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from math import isfinite, isnan

import cheaptalk as ct
from cheaptalk.conformance.matches import (
    Broken,
    configuration_check,
    in_bounds,
    no_error,
    outcome_of,
    played,
)
from cheaptalk.rules import Assessment
from cheaptalk.rules.bounds import beyond, within
from cheaptalk.styles import block_name, style_in

MATCHES = 5
"""Number of matches whose payoffs are checked; several, because payoffs are often 0."""


@configuration_check
def check_seats(game_spec: ct.GameSpec, game: ct.Game, seed: str) -> None:
    """Actors have unique names, and each has a declared seat, role and briefing.

    Each actor observes an event before its first request.
    """
    names = Counter(actor.name for actor in game.actors)
    duplicates = [name for name, count in names.items() if count > 1]
    if duplicates:
        raise Broken(f"two actors are named {', '.join(duplicates)}")
    for actor in game.actors:
        if actor.seat not in game.seats:
            raise Broken(f'the seat "{actor.seat}" of actor "{actor.name}" is not declared')
    for seat in set(game.seats) - {actor.seat for actor in game.actors}:
        raise Broken(f'the seat "{seat}" has no actor')
    for seat, role in game.seats.items():
        if role not in game.roles:
            raise Broken(f'the role "{role}" of seat "{seat}" is not declared')
    for role in set(game.roles) - set(game.seats.values()):
        raise Broken(f'the role "{role}" has no seat')
    table = played(game_spec, game, seed)
    for name, heard in table.heard.items():
        if heard and heard[0].action is not None:
            raise Broken(f'"{name}" gets a request before its first event')


@configuration_check
def check_words(game_spec: ct.GameSpec, game: ct.Game, seed: str) -> None:
    """Every event and action is declared and has a text in every style.

    All events of a match are plain, immutable values, and every style renders them.
    """
    kinds: list[type[ct.Event] | type[ct.Action]] = [*game.events, *game.actions]
    blocks = Counter(block_name(kind) for kind in kinds)
    for kind in kinds:
        if blocks[block_name(kind)] > 1:
            raise Broken(f"two events or actions share the block {block_name(kind)}; rename one")
        for name in game_spec.written_styles:
            if not style_in(game_spec, name).says(kind):
                raise Broken(f'{kind.__name__} has no text in style "{name}"')
    for actor, heard in played(game_spec, game, seed).heard.items():
        for moment in heard:
            _check_moment(game_spec, game, actor, moment)


def _check_moment(
    game_spec: ct.GameSpec, game: ct.Game, actor: str, moment: ct.rules.Moment
) -> None:
    """Check that an observation's types are declared and that every style renders them."""
    event, action = moment
    for value, kinds in ((event, game.events), (action, game.actions)):
        if value is not None and type(value) not in kinds:
            kind = type(value).__name__
            raise Broken(f'"{actor}" observes or takes {kind}, which is not declared')
    with no_error(f"hashing {event}, which must be immutable,"):
        hash(event)
    for name in game_spec.written_styles:
        style = style_in(game_spec, name)
        with no_error(f'rendering {event} for "{actor}" in style "{name}"'):
            texts = [style.tell(event, game, actor)]
            texts += [style.how(type(action), game, actor)] if action is not None else []
        if not all(texts):
            raise Broken(f'style "{name}" renders {event} as an empty text')


@configuration_check
def check_payoffs(game_spec: ct.GameSpec, game: ct.Game, seed: str) -> None:
    """Bounds are finite, and every seat's payoff in random matches lies within them."""
    bounds = game.declared_bounds("payoff_bounds")
    for role in game.roles:
        if role not in bounds:
            raise Broken(f'payoff_bounds() has no bounds for the role "{role}"')
        low, high = bounds[role]
        if not -math.inf < low <= high < math.inf:
            raise Broken(f'the payoff bounds of "{role}", {low} to {high}, are invalid')
    for number in range(MATCHES):
        in_bounds(played(game_spec, game, f"{seed}/{number}" if number else seed))


@configuration_check
def check_metrics(game_spec: ct.GameSpec, game: ct.Game, seed: str) -> None:
    """Every metric has a description and computes a number, or None, from a finished match.

    The number is finite and within the metric's bounds.
    """
    measured(game_spec, played(game_spec, game, seed))


def measured(game_spec: ct.GameSpec, match: ct.Table) -> None:
    """Check that every metric has a description and a valid value for a match."""
    result = ct.Result(match.game, match.instance, outcome_of(match), lambda: match.given)
    for metric in game_spec.metrics.values():
        if not metric.meaning:
            raise Broken(f'metric "{metric.name}" has no docstring')
        for as_published in (False, True):
            with no_error(f'metric "{metric.name}"'):
                value = metric.variant(as_published)(result)
                finite = value is None or math.isfinite(value)
            bounds = metric.bounds_in(match.game)
            if value is not None and not (finite and within(value, bounds)):
                problem = beyond(value, bounds) if finite else value
                raise Broken(f'metric "{metric.name}" of {match.outcome!r} is {problem}')


@configuration_check
def check_json(game_spec: ct.GameSpec, game: ct.Game, seed: str) -> None:
    """Parameters, instance and outcome are unchanged after a round trip through JSON."""
    match = played(game_spec, game, seed)
    values: tuple[ct.rules.Value, ...] = (game, match.instance, outcome_of(match))
    for value in values:
        with no_error(f"reading {value!r} back from JSON"):
            read = type(value).model_validate_json(value.model_dump_json())
        if read != value:
            raise Broken(f"{value!r} is read back from JSON as {read!r}")


@configuration_check
def check_series(game_spec: ct.GameSpec, game: ct.Game, seed: str) -> None:
    """Every series has a description and computes numbers by round from a finished match.

    Each number is None, or finite and within the series' bounds. It belongs to one seat or to all
    seats, and no other number has the same round and seat. Rounds are numbered from 1 and do not
    exceed the number of requests. Payoffs by round add up to the seats' payoffs.
    """
    match = played(game_spec, game, seed)
    result = ct.Result(game, match.instance, outcome_of(match), lambda: match.given)
    for series in game_spec.series.values():
        if not series.meaning:
            raise Broken(f'series "{series.name}" has no docstring')
        for as_published in (False, True):
            with no_error(f'series "{series.name}"'):
                points = list(series.variant(as_published)(result))
            _check_points(game, match.requests, series, points)
            if series.payoff:
                _check_sums(game, result, series, points)


def _check_points(
    game: ct.Game, requests: int, series: ct.rules.Series, points: list[ct.rules.Point]
) -> None:
    label = f'series "{series.name}"'
    bounds = series.bounds_in(game)
    for number, seat, value in points:
        if not 1 <= number <= requests:
            raise Broken(f"{label} has a round {number} in a match of {requests} requests")
        if seat is not None and seat not in game.seats:
            raise Broken(f'{label} has a seat "{seat}", which is not declared')
        if value is not None and not math.isfinite(value):
            raise Broken(f"{label} is {value} in round {number}")
        if value is not None and not within(value, bounds):
            raise Broken(f"{label} in round {number} is {beyond(value, bounds)}")
    for (number, seat), count in Counter(point[:2] for point in points).items():
        if count > 1:
            raise Broken(f"{label} has {count} numbers for {seat} in round {number}")


def _check_sums(
    game: ct.Game, result: ct.Result, series: ct.rules.Series, points: list[ct.rules.Point]
) -> None:
    for seat, payoff in game.seat_payoffs(result.outcome).items():
        total = math.fsum(point.value or 0.0 for point in points if point.seat == seat)
        if not math.isclose(total, payoff, rel_tol=1e-9, abs_tol=1e-9):
            raise Broken(
                f'series "{series.name}" adds up to {total} for {seat}, whose payoff is {payoff}'
            )


@configuration_check
def check_assessment(game_spec: ct.GameSpec, game: ct.Game, seed: str) -> None:
    """The assessment returns finite numbers, and refers only to requests of the match.

    No seat can attain more than the upper bound of its payoff.
    """
    match = played(game_spec, game, seed)
    result = ct.Result(game, match.instance, outcome_of(match), lambda: match.given)
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


def _numbers(assessment: Assessment, result: ct.Result, seat: str) -> Iterator[tuple[str, float]]:
    """Yield all numbers of a seat's assessment, with the names of their methods."""
    for demand in assessment.demands(result, seat):
        yield from (("demands", payoff) for payoff in demand)
    yield from (("missed", missed.payoff) for missed in assessment.missed(result, seat))
    yield from (("mistakes", count) for count in assessment.mistakes(result, seat) or ())
    yield from (("conduct", count or 0) for count in assessment.conduct(result, seat))
    private = assessment.private_numbers(result.game, result.instance, seat)
    yield from (("private_numbers", number) for number in private)


def _expect_requests(method: str, keys: Iterable[tuple[int, str]], result: ct.Result) -> None:
    answered = {(request, actor) for request, actor, _ in result.given()}
    for request, actor in keys:
        if (request, actor) not in answered:
            raise Broken(
                f'{method}() names request {request} of "{actor}", which the match does not have'
            )
