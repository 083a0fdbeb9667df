"""Laws of declaration: what a game says of itself is true."""

import math
from collections import Counter

from cheaptalk.conformance.matches import (
    Broken,
    in_bounds,
    law,
    no_error,
    outcome_of,
    played,
)
from cheaptalk.rules import (
    Action,
    Event,
    Game,
    GameBox,
    Moment,
    Point,
    Result,
    Series,
    Table,
    Value,
)
from cheaptalk.rules.bounds import beyond, within
from cheaptalk.styles import block_name, style_in

MATCHES = 5
"""Matches that payoffs are looked at in, as few may pay anything."""


@law
def check_seats(box: GameBox, game: Game, seed: str) -> None:
    """Seats have names of their own, places with declared roles, and none else is told anything.

    Each is told what it knows of the game, its briefing, before it is asked.
    """
    names = Counter(seat.name for seat in game.seats)
    twice = [name for name, count in names.items() if count > 1]
    if twice:
        raise Broken(f"two seats are called {', '.join(twice)}")
    for seat in game.seats:
        if seat.place not in game.places:
            raise Broken(f'the place "{seat.place}" of seat "{seat.name}" is not declared')
    for place in set(game.places) - {seat.place for seat in game.seats}:
        raise Broken(f'the place "{place}" has no seat')
    for place, role in game.places.items():
        if role not in game.roles:
            raise Broken(f'the role "{role}" of place "{place}" is not declared')
    for role in set(game.roles) - set(game.places.values()):
        raise Broken(f'the role "{role}" has no place')
    table = played(box, game, seed)
    for name, heard in table.heard.items():
        if heard and heard[0].action is not None:
            raise Broken(f'"{name}" is asked before it is told anything')


@law
def check_words(box: GameBox, game: Game, seed: str) -> None:
    """Every event and action is declared and has words of its own in every style.

    All that happen in a match are plain values that nobody can change, and can be put into words.
    """
    kinds: list[type[Event] | type[Action]] = [*game.events, *game.actions]
    blocks = Counter(block_name(kind) for kind in kinds)
    for kind in kinds:
        if blocks[block_name(kind)] > 1:
            raise Broken(f"two events or actions have the block {block_name(kind)}")
        for name in box.styles:
            if not style_in(box, name).says(kind):
                raise Broken(f'{kind.__name__} has no words in style "{name}"')
    for seat, heard in played(box, game, seed).heard.items():
        for moment in heard:
            _check_moment(box, game, seat, moment)


def _check_moment(box: GameBox, game: Game, seat: str, moment: Moment) -> None:
    """Demand that what a seat lived through is declared, plain and told in every style."""
    event, action = moment
    for value, kinds in ((event, game.events), (action, game.actions)):
        if value is not None and type(value) not in kinds:
            raise Broken(f'"{seat}" meets {type(value).__name__}, which is not declared')
    with no_error(f"hashing {event}, as values that nobody can change allow,"):
        hash(event)
    for name in box.styles:
        style = style_in(box, name)
        with no_error(f'putting {event} into words for "{seat}" in style "{name}"'):
            texts = [style.tell(event, game, seat)]
            texts += [style.how(type(action), game, seat)] if action is not None else []
        if not all(texts):
            raise Broken(f'style "{name}" has nothing to say of {event}')


@law
def check_payoffs(box: GameBox, game: Game, seed: str) -> None:
    """Bounds are finite, and outcomes of random matches pay every place within them."""
    bounds = game.declared_bounds("payoff_bounds")
    for role in game.roles:
        if role not in bounds:
            raise Broken(f'payoff_bounds() has none for the role "{role}"')
        low, high = bounds[role]
        if not -math.inf < low <= high < math.inf:
            raise Broken(f'the bounds of the payoff of "{role}", {low} to {high}, are none')
    for number in range(MATCHES):
        in_bounds(played(box, game, f"{seed}/{number}" if number else seed))


@law
def check_measures(box: GameBox, game: Game, seed: str) -> None:
    """Every measure says what it is and reads a number, or None, off a finished match.

    The number is finite and within the measure's bounds.
    """
    measured(box, played(box, game, seed))


def measured(box: GameBox, match: Table) -> None:
    """Demand that every measure of a match is what measures are to be."""
    result = Result(match.game, match.deal, outcome_of(match), lambda: match.given)
    for measure in box.measures.values():
        if not measure.meaning:
            raise Broken(f'measure "{measure.name}" does not say what it is')
        for as_published in (False, True):
            with no_error(f'measure "{measure.name}"'):
                value = measure.variant(as_published)(result)
                finite = value is None or math.isfinite(value)
            if not finite:
                raise Broken(f'measure "{measure.name}" of {match.outcome!r} is {value}')
            bounds = measure.bounds_in(match.game)
            if value is not None and not within(value, bounds):
                what = beyond(value, bounds)
                raise Broken(f'measure "{measure.name}" of {match.outcome!r} is {what}')


@law
def check_json(box: GameBox, game: Game, seed: str) -> None:
    """Parameters, deal and outcome come back from JSON as they were."""
    match = played(box, game, seed)
    values: tuple[Value, ...] = (game, match.deal, outcome_of(match))
    for value in values:
        with no_error(f"reading {value!r} back from JSON"):
            read = type(value).model_validate_json(value.model_dump_json())
        if read != value:
            raise Broken(f"{value!r} comes back from JSON as {read!r}")


@law
def check_series(box: GameBox, game: Game, seed: str) -> None:
    """Every series says what it is and reads numbers by round off a finished match.

    Each is finite and within the series' bounds, or None, of a place of the game or of all
    together, and the only one of its round and place. Rounds count from 1, and there are no more
    than questions were asked.
    """
    match = played(box, game, seed)
    result = Result(game, match.deal, outcome_of(match), lambda: match.given)
    for series in box.series.values():
        if not series.meaning:
            raise Broken(f'series "{series.name}" does not say what it is')
        for as_published in (False, True):
            with no_error(f'series "{series.name}"'):
                points = list(series.variant(as_published)(result))
            _check_points(game, match.requests, series, points)


def _check_points(game: Game, requests: int, series: Series, points: list[Point]) -> None:
    """Demand that the points of a series can stand in a table of rounds and places."""
    what = f'series "{series.name}"'
    bounds = series.bounds_in(game)
    for number, place, value in points:
        if not 1 <= number <= requests:
            raise Broken(f"{what} has a round {number} in a match of {requests} questions")
        if place is not None and place not in game.places:
            raise Broken(f'{what} has a place "{place}", which is not declared')
        if value is not None and not math.isfinite(value):
            raise Broken(f"{what} is {value} in round {number}")
        if value is not None and not within(value, bounds):
            raise Broken(f"{what} in round {number} is {beyond(value, bounds)}")
    for (number, place), count in Counter(point[:2] for point in points).items():
        if count > 1:
            raise Broken(f"{what} has {count} numbers for {place} in round {number}")
