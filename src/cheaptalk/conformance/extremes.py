"""The check of extremes: rules handle every number that they accept, however large or small."""

from collections.abc import Iterator
from itertools import pairwise, product
from typing import Any

from pydantic import ValidationError

from cheaptalk.conformance.matches import configuration_check, finished, in_bounds, no_error, played
from cheaptalk.rules import Action, Game, GameSpec, Given, Table
from cheaptalk.rules.bounds import Path, numbers

EXTREMES = (0, 5e-324, 1e-9, -1, 10**9, 10**15, -(10**15), 1e308)
"""Extreme numbers to answer with; integer fields accept only the integers among them."""
STREAMS = ("", "another", "a third")
"""Names of the random streams with which the match continues; "" for the match's own streams."""


@configuration_check
def check_extremes(game_spec: GameSpec, game: Game, seed: str) -> None:
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


def _check_answer(game_spec: GameSpec, match: Table, given: Given, previous: list[Given]) -> None:
    """Check that a match ends within its bounds after an extreme answer that the rules accept."""
    assert given.action is not None
    for action, stream in product(extreme(given.action), STREAMS):
        table = Table(match.game, match.instance, match.chance.seed)
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


def extreme(action: Action) -> Iterator[Action]:
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
