"""The least and the most that scores can be, as far as it follows from the matches' parameters."""

from collections.abc import Mapping
from typing import Any

import polars as pl
from pydantic import ValidationError

from cheaptalk.frames.reader import parameters_in
from cheaptalk.rules import Game, game_box
from cheaptalk.statistics.intervals import Bounds, BoundsColumns

LEAST, MOST = ".least", ".most"


def with_bounds(
    frame: pl.DataFrame, game: str
) -> tuple[pl.DataFrame, dict[str, Bounds | BoundsColumns]]:
    """A frame of matches with the bounds of the game's measures and of each role's payoff.

    Returns:
        The frame, with columns for bounds that differ from match to match, and all bounds by score,
        as :func:`.mean_intervals` takes them. Those of a role's payoff are called
        ``payoff.ROLE``; there are none where parameters do not fit the installed rules.
    """
    found = pl.DataFrame(
        [
            {"configuration": key} | _ends(game, parameters)
            for key, parameters in parameters_in(frame).items()
        ],
        infer_schema_length=None,
    )
    names = {name.removesuffix(LEAST) for name in found.columns if name.endswith(LEAST)}
    bounds: dict[str, Bounds | BoundsColumns] = {
        name: one.bounds for name, one in game_box(game).measures.items()
    }
    apart: list[str] = []
    for name in sorted(names):
        columns = (name + LEAST, name + MOST)
        distinct = found.select(columns).unique()
        if len(distinct) > 1:
            apart += columns
            bounds[name] = columns
        else:
            bounds[name] = distinct.row(0)
    rest = frame.select(pl.exclude(apart))
    placed = rest.join(found.select("configuration", *apart), on="configuration", how="left",
                       maintain_order="left")  # fmt: skip
    return placed if apart else frame, bounds


def _ends(game: str, parameters: Mapping[str, Any]) -> dict[str, float]:
    """What each score can be in one configuration, as far as its parameters tell."""
    box = game_box(game)
    given = {name: value for name, value in parameters.items() if value is not None}
    try:
        rules: Game = box.rules.model_validate(given)
    except ValidationError:
        return {}
    limits = {f"payoff.{role}": ends for role, ends in rules.payoff_bounds().items()}
    limits |= {name: one.limits(rules) for name, one in box.measures.items() if one.limits}
    ends = (((name + LEAST, least), (name + MOST, most)) for name, (least, most) in limits.items())
    return dict(pair for pairs in ends for pair in pairs)
