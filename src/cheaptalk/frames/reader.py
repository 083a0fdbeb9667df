"""Metrics, series and parameters of frames, shared by frames of matches and frames of rounds."""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar

import polars as pl

from cheaptalk.records import MatchRecord
from cheaptalk.rules import CheaptalkError, GameSpec, Quantity, WrongValue, get_game, unknown
from cheaptalk.rules.bounds import beyond, within
from cheaptalk.rules.display import brief, html_table
from cheaptalk.text import readable

RowValues = list[Any]
Q = TypeVar("Q", bound=Quantity[Any])
AT_ONCE = 1_000
"""Number of records with bodies per read."""


class MetricError(CheaptalkError):
    """A metric or series failed on a match, violated its bounds, or has a reserved name."""


def failed(kind: str, name: str, record: MatchRecord, error: Exception) -> MetricError:
    """Return the error for a metric or series that failed on a match."""
    return MetricError(
        f"{kind} {name} of {record.game} failed on match {record.id}: "
        f"{type(error).__name__}: {error}"
    )


def check_bounds(
    kind: str, quantity: Quantity[Any], value: float | None, record: MatchRecord
) -> None:
    """Raise MetricError if the value of a metric or series is outside its bounds."""
    bounds = quantity.bounds_in(record.rules)
    if value is not None and not within(value, bounds):
        raise MetricError(
            f"{kind} {quantity.name} of {record.game} is {beyond(value, bounds)}, in match "
            f"{record.id}; fix its bounds or its computation"
        )


def chosen(
    games: Iterable[str],
    kind: str,
    of: Callable[[GameSpec], Mapping[str, Q]],
    only: Collection[str] | None,
) -> dict[str, list[Q]]:
    """Return the selected metrics or series (``kind``) by game; ``only`` is None for all.

    Raises UnknownName if a game is not installed, or if no game has an object with a selected name.
    """
    available = {game: of(get_game(game)) for game in games}
    names = list(dict.fromkeys(name for quantity in available.values() for name in quantity))
    unknown_names = [name for name in only or () if name not in names]
    if unknown_names:
        raise unknown(f"{kind} of {', '.join(available)}:", unknown_names[0], names)
    return {
        game: [quantity for name, quantity in quantities.items() if only is None or name in only]
        for game, quantities in available.items()
    }


def check_free(kind: str, quantities: Iterable[Quantity[Any]], columns: Collection[str]) -> None:
    """Raise MetricError if a metric or series has the name of another column."""
    taken = next((quantity.name for quantity in quantities if quantity.name in columns), None)
    if taken is not None:
        raise MetricError(f'the {kind} name "{taken}" is reserved for a column; rename it')


def places_in(frame: pl.DataFrame) -> list[str]:
    """Return the seats in a frame of matches, in the order of their columns.

    Raises:
        WrongValue: the frame is not one of matches.
    """
    seats = [name.removeprefix("player_") for name in frame.columns if name.startswith("player_")]
    if not seats:
        raise WrongValue("the frame has no columns player_SEAT; pass a frame of ct.read_matches")
    return seats


def parameters_in(frame: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """Return the parameters of each configuration in a frame of matches, in order of appearance."""
    rows = frame.select("configuration", "parameters").unique("configuration", maintain_order=True)
    return {digest: json.loads(parameters) for digest, parameters in rows.iter_rows()}


def varying(configurations: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the names of the parameters that differ between configurations."""
    names = dict.fromkeys(name for parameters in configurations.values() for name in parameters)
    values = {
        name: {json.dumps(parameters[name]) for parameters in configurations.values()}
        for name in names
    }
    return [name for name, texts in values.items() if len(texts) > 1]


def in_order(value: Any) -> tuple[int, float, str]:
    """Return the key that sorts a parameter's values: none, then numbers, then other values."""
    if value is None:
        return -1, 0, ""
    return (0, value, "") if isinstance(value, int | float) else (1, 0, readable(value))


def date_time(seconds: pl.Expr) -> pl.Expr:
    """Return seconds since 1970 as date-times in UTC, rounded as in exported tables."""
    second = seconds.floor()
    fraction = ((seconds - second) * 1e6 + 0.5).floor()
    microseconds = second.cast(pl.Int64) * 1_000_000 + fraction.cast(pl.Int64)
    return pl.from_epoch(microseconds, "us").dt.replace_time_zone("UTC")


class Frames(dict[str, pl.DataFrame]):
    """A mapping of game names to data frames, displayed as a summary of their sizes."""

    def __missing__(self, game: str) -> pl.DataFrame:
        raise unknown("game", game, list(self))

    def __repr__(self) -> str:
        sizes = (f"{name} ({len(frame):,} rows)" for name, frame in self.items())
        return brief(self, ", ".join(sizes))

    def _repr_html_(self) -> str:
        rows = [(name, f"{len(frame):,}", ", ".join(frame.columns)) for name, frame in self.items()]
        return html_table("Frames", ["game", "rows", "columns"], rows)
