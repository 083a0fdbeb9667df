"""The law of settings: a game can be played with the least and the greatest of its parameters."""

import math
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from cheaptalk.conformance.matches import (
    box_law,
    in_bounds,
    new_table,
    no_error,
    played,
    questions,
)
from cheaptalk.rules import Game, GameBox, Table
from cheaptalk.rules.bounds import Bounds

FAR = 1_000
"""What is tried where a parameter has no greatest number."""
ANSWERS = 1_000
"""Answers after which a match is left: rounds may be many, and one match of many takes long."""


@box_law
def check_parameters(box: GameBox, seeds: Sequence[str]) -> None:
    """Up to 1,000 answers can be given with every number parameter at its least and greatest.

    So it is with the numbers next to these; with the defaults matches are played to their end.
    Settings that the game itself refuses are left out. Where a parameter has no range, -1, 0, 1
    and 1,000 are tried: a game that cannot be played so says which numbers it can.
    """
    played(box, box.rules(), seeds[0])
    for label, game in edge_settings(box.rules()).items():
        with no_error(f"{label} is a legal setting, and playing it"):
            table = played_some(box, game, seeds[0])
            game.payoff_bounds()
            if table.over:
                in_bounds(table)


def edge_settings(game: Game) -> dict[str, Game]:
    """A game with one number parameter at an edge, labelled; without those that it refuses."""
    found = {}
    for name, field in type(game).model_fields.items():
        for value in edges(field):
            with suppress(ValidationError):
                found[f"{name}: {value:,.15g}"] = game.model_validate(dict(game) | {name: value})
    return found


def played_some(box: GameBox, game: Game, seed: str) -> Table:
    """A match by this seed, played at random to its end if that is near."""
    table = new_table(game, seed)
    for _ in islice(questions(box, table), ANSWERS):
        pass
    return table


def edges(field: FieldInfo) -> tuple[float, ...]:
    """The least, the next and the greatest number that a parameter can be; none if it is none."""
    bounds = limits(field)
    if bounds is None:
        return ()
    least, greatest = bounds
    low = (-1.0, 0.0, 1.0) if least == -math.inf else (least, least + 1)
    high = (float(FAR),) if greatest == math.inf else (greatest - 1, greatest)
    kind: Any = field.annotation
    return tuple(dict.fromkeys(kind(one) for one in (*low, *high)))


def limits(field: FieldInfo) -> Bounds | None:
    """The least and the greatest number that a parameter is declared to be; None if it is none."""
    if field.annotation not in (int, float):
        return None
    least, greatest = -math.inf, math.inf
    for limit in field.metadata:
        least = getattr(limit, "ge", getattr(limit, "gt", least))
        greatest = getattr(limit, "le", getattr(limit, "lt", greatest))
    return least, greatest
