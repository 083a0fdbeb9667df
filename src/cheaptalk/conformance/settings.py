"""The check of settings: a game can be played at the minimum and maximum of its parameters."""

import math
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from cheaptalk.conformance.matches import (
    in_bounds,
    new_table,
    no_error,
    played,
    questions,
    spec_check,
)
from cheaptalk.rules import Game, GameSpec, Table
from cheaptalk.rules.bounds import Bounds

FAR = 1_000
"""The value to test if a parameter has no maximum."""
ANSWERS = 1_000
"""Maximum answers in a match, because the maximum of a parameter may allow many rounds."""


@spec_check
def check_parameters(game_spec: GameSpec, seeds: Sequence[str]) -> None:
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


def edge_settings(game: Game) -> dict[str, Game]:
    """Return valid configurations, by label, that set one numeric parameter to an extreme value."""
    games = {}
    for name, field in type(game).model_fields.items():
        for value in edges(field):
            with suppress(ValidationError):
                games[f"{name}: {value:,.15g}"] = game.model_validate(dict(game) | {name: value})
    return games


def played_some(game_spec: GameSpec, game: Game, seed: str) -> Table:
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
