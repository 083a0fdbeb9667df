"""Bounds of metrics and payoffs, as implied by the parameters of matches."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl
from pydantic import ValidationError

from cheaptalk.frames.reader import parameters_in
from cheaptalk.rules import Game, get_game
from cheaptalk.rules.bounds import SLACK, mean_bounds
from cheaptalk.statistics.limits import Bounds, BoundsColumns
from cheaptalk.text import plain

LEAST, MOST = ".least", ".most"


def with_bounds(
    frame: pl.DataFrame, game: str
) -> tuple[pl.DataFrame, dict[str, Bounds | BoundsColumns]]:
    """Add the bounds of the game's metrics and of each role's payoff to a frame of matches.

    Returns the frame, with columns for bounds that differ between matches, and all bounds by score,
    as for :func:`.mean_intervals`. A role's payoff is named ``payoff_ROLE``. Scores have no bounds
    if the parameters do not fit the installed rules.
    """
    by_configuration = pl.DataFrame(
        [
            {"configuration": key} | _ends(game, parameters)
            for key, parameters in parameters_in(frame).items()
        ],
        infer_schema_length=None,
    )
    names = {name.removesuffix(LEAST) for name in by_configuration.columns if name.endswith(LEAST)}
    bounds: dict[str, Bounds | BoundsColumns] = {
        name: metric.bounds for name, metric in get_game(game).metrics.items()
    }
    varying: list[str] = []
    for name in sorted(names):
        columns = (name + LEAST, name + MOST)
        distinct = by_configuration.select(columns).unique()
        if len(distinct) > 1:
            varying += columns
            bounds[name] = columns
        else:
            bounds[name] = distinct.row(0)
    if not varying:
        return frame, bounds
    ends = by_configuration.select("configuration", *varying)
    joined = frame.select(pl.exclude(varying)).join(
        ends, on="configuration", how="left", maintain_order="left", validate="m:1"
    )
    return joined, bounds


def beyond(frame: pl.DataFrame, values: Mapping[str, Bounds | BoundsColumns]) -> Iterator[str]:
    """Yield a sentence for each score that violates its bounds, with the first match affected."""
    for name, ends in values.items():
        if name not in frame.columns:
            continue
        minimum, maximum = (
            (pl.col(end) if isinstance(end, str) else pl.lit(end, pl.Float64)) for end in ends
        )
        value = pl.col(name).cast(pl.Float64)
        slack = SLACK * pl.max_horizontal(1.0, value.abs())
        violations = frame.filter((value < minimum - slack) | (value > maximum + slack))
        if violations.height:
            row = violations.sort("match_id").select(
                "match_id", value, minimum.alias("a"), maximum.alias("b")
            )
            match, got, low, high = row.row(0)
            yield (
                f"{plain(name)} is {got:g} in match {match}, outside its declared bounds "
                f"{low:g} to {high:g}: its intervals ignore these bounds; correct them in the game"
            )


def with_mean_bounds(
    frame: pl.DataFrame, game: str, role: str, filled: str
) -> tuple[pl.DataFrame, BoundsColumns]:
    """Add each match's bounds on the mean payoff of a role's seats; return the frame and columns.

    These bounds are narrower than those of a single seat: if one of ten players wins, the mean over
    all ten is 0.1. ``filled`` is the column with the number of seats that the mean covers. Bounds
    are null if parameters do not fit the installed rules, and without
    :attr:`.Game.payoffs_reach_bounds`.
    """
    columns = (f"payoff_{role}.mean{LEAST}", f"payoff_{role}.mean{MOST}")
    rules = {key: _rules(game, parameters) for key, parameters in parameters_in(frame).items()}
    selected = frame.drop(columns, strict=False).with_columns(pl.col(filled).cast(pl.Int64))
    sizes = selected.select("configuration", filled).unique().drop_nulls()
    rows = []
    for key, size in sizes.filter(pl.col(filled) > 0).iter_rows():
        known = rules[key]
        if known is not None and known.payoffs_reach_bounds:
            seats = [*known.seats.values()].count(role)
            ends = known.payoff_bounds()[role], known.total_bounds()[role]
            rows.append((key, size, *mean_bounds(*ends, seats, size)))
    kinds = {"configuration": pl.String, filled: pl.Int64, **dict.fromkeys(columns, pl.Float64)}
    computed = pl.DataFrame(rows, kinds, orient="row")
    joined = selected.join(
        computed, on=["configuration", filled], how="left", maintain_order="left", validate="m:1"
    )
    return joined, columns


def _rules(game: str, parameters: Mapping[str, Any]) -> Game | None:
    """Return the rules with these parameters; None if the parameters are invalid."""
    values = {name: value for name, value in parameters.items() if value is not None}
    try:
        return get_game(game).rules.model_validate(values)
    except ValidationError:
        return None


def _ends(game: str, parameters: Mapping[str, Any]) -> dict[str, float]:
    metrics, rules = get_game(game).metrics, _rules(game, parameters)
    if rules is None:
        return {}
    limits: dict[str, Bounds] = {}
    if rules.payoffs_reach_bounds:
        limits = {f"payoff_{role}": ends for role, ends in rules.payoff_bounds().items()}
    limits |= {name: metric.limits(rules) for name, metric in metrics.items() if metric.limits}
    minima = {name + LEAST: minimum for name, (minimum, _) in limits.items()}
    return minima | {name + MOST: maximum for name, (_, maximum) in limits.items()}
