"""Checks of strategies: strategies play legally and depend only on their observations."""

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice, pairwise, product
from typing import Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo

import cheaptalk as ct
from cheaptalk.conformance.declarations import measured
from cheaptalk.conformance.matches import (
    Broken,
    State,
    configuration_check,
    finished,
    in_bounds,
    new_table,
    no_error,
    played,
    questions,
    same,
    spec_check,
    variants,
)
from cheaptalk.rules.bounds import Bounds, Path, numbers


@configuration_check
def check_strategies(game_spec: ct.GameSpec, game: ct.Game, seed: str) -> None:
    """Every strategy plays its roles legally to the end, and payoffs stay within their bounds.

    Each strategy plays all seats of its roles, then only the first of these seats; all other seats
    play at random. In the default configuration, metrics must stay within their bounds, too.
    """
    for strategy, seats in seatings(game_spec, game):
        if not strategy.meaning:
            raise Broken(f'strategy "{strategy.name}" has no docstring')
        if not set(strategy.roles) <= set(game.roles):
            raise Broken(f'strategy "{strategy.name}" is for roles that are not declared')
        with no_error(f'playing strategy "{strategy.name}" as {", ".join(seats)}'):
            match = played(game_spec, game, seed, dict.fromkeys(seats, strategy))
            in_bounds(match)
            if game == game_spec.rules():
                measured(game_spec, match)


@configuration_check
def check_memory(game_spec: ct.GameSpec, game: ct.Game, seed: str) -> None:
    """A strategy replays a match identically after it has played other matches.

    The check detects strategies that keep state between matches or use their own random generator.
    """
    for strategy, seats in seatings(game_spec, game, single=False):
        players = dict.fromkeys(seats, strategy)
        first, _, second = (
            State.of(played(game_spec, game, match_seed, players))
            for match_seed in (seed, f"{seed}+", seed)
        )
        same(first, second, f'playing strategy "{strategy.name}" again after another match')


def seatings(
    game_spec: ct.GameSpec, game: ct.Game, *, single: bool = True
) -> Iterator[tuple[ct.rules.Strategy, tuple[str, ...]]]:
    """Yield each strategy with all seats that it can fill and, if ``single``, with the first."""
    for strategy in game_spec.strategies.values():
        seats = tuple(seat for seat, role in game.seats.items() if role in strategy.roles)
        for filled in dict.fromkeys((seats, seats[:1])) if single else (seats,):
            yield strategy, filled


@configuration_check
def check_same_seed(game_spec: ct.GameSpec, game: ct.Game, seed: str) -> None:
    """The same seed leads to the same instance and the same requests."""
    first, second = played(game_spec, game, seed), played(game_spec, game, seed)
    if first.instance != second.instance:
        raise Broken(f"one seed draws the instance {first.instance!r} and then {second.instance!r}")
    same(State.of(first), State.of(second), "playing one seed twice")


@configuration_check
def check_replay(game_spec: ct.GameSpec, game: ct.Game, seed: str) -> None:
    """Replaying the first answers of a match, read from JSON, leads to the next request.

    This holds after any number of answers, also between answers to simultaneous requests.
    """
    match = played(game_spec, game, seed)
    answers = [
        (given.request, given.actor, json.loads(given.action.model_dump_json()))
        for given in match.given
        if given.action is not None
    ]
    original = ct.Table(game, match.instance, seed)
    for count in range(len(answers) + 1):
        with no_error(f"replaying {count} answers"):
            replayed = ct.replay(game, match.instance, seed, answers[:count])
        same(State.of(original), State.of(replayed), f"replaying {count} answers")
        if count < len(answers):
            original.answer(match.given[count].actor, match.given[count].action)


FAR = 1_000
"""The value to test if a parameter has no maximum."""
ANSWERS = 1_000
"""Maximum answers in a match, because the maximum of a parameter may allow many rounds."""


@spec_check
def check_parameters(game_spec: ct.GameSpec, seeds: Sequence[str]) -> None:
    """Matches of up to 1,000 answers run at the minimum and maximum of every numeric parameter.

    The check also plays with the adjacent numbers, and one match with the defaults to its end.
    Configurations that the game refuses are skipped. For a parameter without a range, the numbers
    are -1, 0, 1 and 1,000; declare a range if the rules do not support these numbers.
    """
    played(game_spec, game_spec.rules(), seeds[0])
    for label, game in edge_settings(game_spec.rules()).items():
        with no_error(f"{label} is a legal setting, and playing it"):
            table = played_some(game_spec, game, seeds[0])
            game.payoff_bounds()
            if table.over:
                in_bounds(table)


def edge_settings(game: ct.Game) -> dict[str, ct.Game]:
    """Return valid configurations, by label, that set one numeric parameter to an extreme value."""
    games = {}
    for name, field in type(game).model_fields.items():
        for value in edges(field):
            with suppress(ValidationError):
                games[f"{name}: {value:,.15g}"] = game.model_validate(dict(game) | {name: value})
    return games


def played_some(game_spec: ct.GameSpec, game: ct.Game, seed: str) -> ct.Table:
    """Return a match with this seed after at most 1,000 answers of random play."""
    table = new_table(game, seed)
    for _ in islice(questions(game_spec, table), ANSWERS):
        pass
    return table


def edges(field: FieldInfo) -> tuple[float, ...]:
    """Return a numeric parameter's minimum, maximum and their neighbours; () for other types."""
    bounds = limits(field)
    if bounds is None:
        return ()
    minimum, maximum = bounds
    low = (-1.0, 0.0, 1.0) if minimum == -math.inf else (minimum, minimum + 1)
    high = (float(FAR),) if maximum == math.inf else (maximum - 1, maximum)
    kind: Any = field.annotation
    return tuple(dict.fromkeys(kind(edge) for edge in (*low, *high)))


def limits(field: FieldInfo) -> Bounds | None:
    """Return the declared minimum and maximum of a parameter; None if it is not numeric."""
    if field.annotation not in (int, float):
        return None
    minimum, maximum = -math.inf, math.inf
    for limit in field.metadata:
        minimum = getattr(limit, "ge", getattr(limit, "gt", minimum))
        maximum = getattr(limit, "le", getattr(limit, "lt", maximum))
    return minimum, maximum


MATCHES = 20
"""Maximum matches for each seed and configuration until every event has occurred."""


@spec_check
def check_events(game_spec: ct.GameSpec, seeds: Sequence[str]) -> None:
    """Every declared event and action occurs in at least one match.

    The matches have random play, every strategy or forfeits, in every variant and at the edges of
    numeric parameters. They end when every event and action has occurred.
    """
    missing = {*game_spec.rules.events, *game_spec.rules.actions}
    for match in _matches(game_spec, tuple(seeds)):
        for heard in match.heard.values():
            for event, action in heard:
                missing -= {type(event), type(action)}
        if not missing:
            return
    names = ", ".join(sorted(kind.__name__ for kind in missing))
    raise Broken(
        f"{names} did not occur in any match of random play, strategies or forfeits; remove it "
        "from events and actions, or add a strategy that causes it"
    )


def _matches(game_spec: ct.GameSpec, seeds: tuple[str, ...]) -> Iterator[ct.Table]:
    for number in range(MATCHES):
        for seed in (f"{seed}/{number}" for seed in seeds):
            for game in variants(game_spec).values():
                match = played(game_spec, game, seed)
                yield match
                for strategy, seats in seatings(game_spec, game):
                    yield played(game_spec, game, seed, dict.fromkeys(seats, strategy))
                for count in range(len(match.given)) if number == 0 else ():
                    yield _forfeited(game_spec, match, count)
                for edge in edge_settings(game).values():
                    yield played_some(game_spec, edge, seed)


def _forfeited(game_spec: ct.GameSpec, match: ct.Table, count: int) -> ct.Table:
    """Return a copy of a match in which the actor forfeits instead of giving answer ``count``."""
    table = new_table(match.game, match.chance.seed)
    for given in match.given[:count]:
        table.answer(given.actor, given.action)
    table.forfeit(match.given[count].actor)
    return finished(game_spec, table)


EXTREMES = (0, 5e-324, 1e-9, -1, 10**9, 10**15, -(10**15), 1e308)
"""Extreme numbers to answer with; integer fields accept only the integers among them."""
STREAMS = ("", "another", "a third")
"""Names of the random streams with which the match continues; "" for the match's own streams."""


@configuration_check
def check_extremes(game_spec: ct.GameSpec, game: ct.Game, seed: str) -> None:
    """Extreme numbers (huge, tiny, 0 or negative) are rejected or keep the match within bounds.

    The first and the last answer of each actor and type are changed: every number individually, and
    every pair of adjacent numbers without a change of its sum.
    """
    match = played(game_spec, game, seed)
    kinds = [(given.actor, type(given.action)) for given in match.given]
    first = {kind: index for index, kind in reversed([*enumerate(kinds)])}
    last = {kind: index for index, kind in enumerate(kinds)}
    for index in sorted({*first.values(), *last.values()}):
        _check_answer(game_spec, match, match.given[index], match.given[:index])


def _check_answer(
    game_spec: ct.GameSpec, match: ct.Table, given: ct.rules.Given, previous: list[ct.rules.Given]
) -> None:
    """Check that a match ends within its bounds after an extreme answer that the rules accept."""
    assert given.action is not None
    for action, stream in product(extreme(given.action), STREAMS):
        table = ct.Table(match.game, match.instance, match.chance.seed)
        for earlier in previous:
            table.answer(earlier.actor, earlier.action)
        with no_error(f'judging {action!r} of "{given.actor}"'):
            refused = table.pending[given.actor].refuse(action) is not None
        if not refused:
            description = (
                f'"{given.actor}" may answer {action!r} in request {given.request}, and continuing'
            )
            with no_error(description):
                table.answer(given.actor, action)
                in_bounds(finished(game_spec, table, stream=stream))


def extreme(action: ct.Action) -> Iterator[ct.Action]:
    """Yield copies of an action with extreme numbers, if the action's type accepts them."""
    fields = action.model_dump()
    paths = list(numbers(fields))
    changes = [{path: value} for path, _ in paths for value in EXTREMES]
    for (path, number), (next_path, next_number) in pairwise(paths):
        total = number + next_number
        changes += [{path: value, next_path: total - value} for value in (-1, total + 1)]
    for change in changes:
        try:
            changed = type(action).model_validate(_with(fields, (), change))
        except (ValidationError, OverflowError):
            continue
        if changed != action:
            yield changed


def _with(value: Any, path: Path, change: dict[Path, Any]) -> Any:
    """Return nested data with the numbers replaced at the given paths."""
    if path in change:
        return change[path]
    if isinstance(value, dict):
        return {key: _with(part, (*path, key), change) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_with(part, (*path, index), change) for index, part in enumerate(value)]
    return value
