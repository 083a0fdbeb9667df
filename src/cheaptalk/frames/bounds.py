"""The least and the most that scores can be, as far as it follows from the matches' parameters."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl
from pydantic import ValidationError

from cheaptalk.frames.reader import parameters_in
from cheaptalk.rules import Game, game_box
from cheaptalk.rules.bounds import SLACK, mean_bounds
from cheaptalk.statistics.intervals import Bounds, BoundsColumns
from cheaptalk.text import plain

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
                       maintain_order="left", validate="m:1")  # fmt: skip
    return placed if apart else frame, bounds


def beyond(frame: pl.DataFrame, values: Mapping[str, Bounds | BoundsColumns]) -> Iterator[str]:
    """What matches come to beyond what their game says it can be: its bounds are wrong then.

    Args:
        frame: matches, with the columns that bounds are in.
        values: the bounds of each column.

    Yields:
        A sentence a column, with the first such match.
    """
    for name, ends in values.items():
        if name not in frame.columns:
            continue
        least, most = (
            (pl.col(end) if isinstance(end, str) else pl.lit(end, pl.Float64)) for end in ends
        )
        value = pl.col(name).cast(pl.Float64)
        slack = SLACK * pl.max_horizontal(1.0, value.abs())
        broken = frame.filter((value < least - slack) | (value > most + slack))
        if broken.height:
            row = broken.sort("match").select("match", value, least.alias("a"), most.alias("b"))
            match, got, low, high = row.row(0)
            yield (
                f"{plain(name)} is {got:g} in match {match}, and by the game's own bounds it can "
                f"be {low:g} to {high:g}: the bounds are wrong, and no interval keeps to them"
            )


def with_mean_bounds(
    frame: pl.DataFrame, game: str, role: str, filled: str
) -> tuple[pl.DataFrame, BoundsColumns]:
    """A frame with the bounds of mean payoffs over some places of a role, row by row.

    They lie within those of a single place: where one of ten wins, the mean over all ten is 0.1.
    There are none where nobody comes near them; see :attr:`.Game.payoffs_reach_bounds`.

    Args:
        frame: matches.
        game: which.
        role: whose places.
        filled: the column that tells over how many of them the mean is.

    Returns:
        The frame, and the columns that were added; null where parameters do not fit the installed
        rules.
    """
    columns = (f"payoff.{role}.mean{LEAST}", f"payoff.{role}.mean{MOST}")
    rules = {key: _rules(game, parameters) for key, parameters in parameters_in(frame).items()}
    kept = frame.drop(columns, strict=False).with_columns(pl.col(filled).cast(pl.Int64))
    sizes = kept.select("configuration", filled).unique().drop_nulls().filter(pl.col(filled) > 0)
    rows = [
        (key, size, *mean_bounds(
            known.payoff_bounds()[role], known.total_bounds()[role],
            [*known.places.values()].count(role), size,
        ))
        for key, size in sizes.iter_rows()
        if (known := rules[key]) is not None and known.payoffs_reach_bounds
    ]  # fmt: skip
    kinds = {"configuration": pl.String, filled: pl.Int64, **dict.fromkeys(columns, pl.Float64)}
    found = pl.DataFrame(rows, kinds, orient="row")
    joined = kept.join(
        found, on=["configuration", filled], how="left", maintain_order="left", validate="m:1"
    )
    return joined, columns


def _rules(game: str, parameters: Mapping[str, Any]) -> Game | None:
    """The rules with some parameters; None where these do not fit."""
    given = {name: value for name, value in parameters.items() if value is not None}
    try:
        return game_box(game).rules.model_validate(given)
    except ValidationError:
        return None


def _ends(game: str, parameters: Mapping[str, Any]) -> dict[str, float]:
    """What each score can be in one configuration, as far as its parameters tell."""
    box, rules = game_box(game), _rules(game, parameters)
    if rules is None:
        return {}
    limits: dict[str, Bounds] = {}
    if rules.payoffs_reach_bounds:
        limits = {f"payoff.{role}": ends for role, ends in rules.payoff_bounds().items()}
    limits |= {name: one.limits(rules) for name, one in box.measures.items() if one.limits}
    ends = (((name + LEAST, least), (name + MOST, most)) for name, (least, most) in limits.items())
    return dict(pair for pairs in ends for pair in pairs)
