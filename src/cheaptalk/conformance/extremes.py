"""The law of extremes: rules cope with every answer that they take, however large or small."""

from collections.abc import Iterator
from itertools import pairwise, product
from typing import Any

from pydantic import ValidationError

from cheaptalk.conformance.matches import (
    finished,
    in_bounds,
    law,
    no_error,
    played,
)
from cheaptalk.rules import Action, Game, GameBox, Given, Table
from cheaptalk.rules.bounds import Path, numbers

EXTREMES = (0, 5e-324, 1e-9, -1, 10**9, 10**15, -(10**15), 1e308)
"""Numbers that few players think of; where a whole number is wanted, those that are whole."""

LUCKS = ("", "another", "a third")
"""How others play on after such an answer: by their own random streams, and by others."""


@law
def check_extremes(box: GameBox, game: Game, seed: str) -> None:
    """Numbers that are huge, tiny, 0 or negative are refused, or played on with in bounds.

    At the first and last question of each kind every number of the answer is changed, alone and
    against the next one, so that their sum stays.
    """
    match = played(box, game, seed)
    asked: dict[tuple[str, type[object]], list[int]] = {}
    for at, given in enumerate(match.given):
        asked.setdefault((given.seat, type(given.action)), []).append(at)
    for at in sorted({one for places in asked.values() for one in (places[0], places[-1])}):
        _check_answer(box, match, match.given[at], match.given[:at])


def _check_answer(box: GameBox, match: Table, given: Given, before: list[Given]) -> None:
    """Demand that matches in which one answer is extreme end as any other."""
    assert given.action is not None
    for action, luck in product(extreme(given.action), LUCKS):
        table = Table(match.game, match.deal, match.chance.seed)
        for earlier in before:
            table.answer(earlier.seat, earlier.action)
        with no_error(f'judging {action!r} of "{given.seat}"'):
            refused = table.pending[given.seat].refuse(action) is not None
        if not refused:
            what = (
                f'"{given.seat}" may answer {action!r} in request {given.request}, and playing on'
            )
            with no_error(what):
                table.answer(given.seat, action)
                in_bounds(finished(box, table, luck=luck))


def extreme(action: Action) -> Iterator[Action]:
    """The action with extreme numbers in place of its own, as far as its type takes them."""
    fields = action.model_dump()
    found = list(numbers(fields))
    changes = [{path: value} for path, _ in found for value in EXTREMES]
    for (path, one), (other, another) in pairwise(found):
        total = one + another
        changes += [{path: value, other: total - value} for value in (-1, total + 1)]
    for change in changes:
        try:
            made = type(action).model_validate(_with(fields, (), change))
        except (ValidationError, OverflowError):
            continue
        if made != action:
            yield made


def _with(value: Any, path: Path, change: dict[Path, Any]) -> Any:
    """Fields with other numbers at some places."""
    if path in change:
        return change[path]
    if isinstance(value, dict):
        return {key: _with(part, (*path, key), change) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_with(part, (*path, at), change) for at, part in enumerate(value)]
    return value
