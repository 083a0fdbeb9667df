"""The table of seats: a row for each player in a match, with columns derived from the matches'."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import methodcaller
from typing import Any

from cheaptalk.players import Kind
from cheaptalk.records.descriptions import line_up
from cheaptalk.records.exclusions import Stand
from cheaptalk.records.exports.columns import (
    INTEGER,
    JSON,
    NUMBER,
    PYTHON_TYPES,
    TEXT,
    Column,
    paragraph,
    settled,
    table_columns,
)
from cheaptalk.records.exports.tables import Factors, MatchRow, factor_names, parameter_columns
from cheaptalk.records.moves import COUNTS
from cheaptalk.records.record import MatchRecord
from cheaptalk.rules import GameSpec, Metric, Result, get_game


@dataclass
class SeatRow:
    """A row of the exported table of seats."""

    match: MatchRow
    seat: str

    @property
    def record(self) -> MatchRecord:
        return self.match.record

    @property
    def stand(self) -> Stand:
        return self.match.stand

    @property
    def game(self) -> str:
        return self.match.game

    @property
    def pairing(self) -> str:
        return self.match.pairing

    @property
    def role(self) -> str:
        return self.match.record.roles[self.seat]

    @property
    def player(self) -> str:
        return self.match.record.label(self.seat)

    @property
    def opponent(self) -> str:
        record = self.match.record
        return line_up([record.label(seat) for seat in record.seats if seat != self.seat])

    @property
    def share(self) -> float | None:
        """The seat's share of all payoffs; None if their units differ or a payoff is negative."""
        payoffs = self.match.record.payoffs or {}
        total = sum(payoffs.values())
        if not total or min(payoffs.values()) < 0 or not has_one_unit(get_game(self.game)):
            return None
        return payoffs[self.seat] / total

    def moves_made(self, index: int) -> int | None:
        return self.match.move_count(self.seat, index)

    def of_seat(self, attribute: str) -> Any:
        """Return the value of a method of the match's row that has the seat as argument."""
        return getattr(self.match, attribute)(self.seat)

    def computed(self, functions: Mapping[str, Callable[[Result], float | None]]) -> float | None:
        """Return a metric, which can have a function for each seat."""
        function = functions.get(self.seat)
        return None if function is None else self.match.metric_value(function)


def has_one_unit(game_spec: GameSpec) -> bool:
    """Return whether the payoffs of all roles have the same unit."""
    return len({*game_spec.rules.payoff_units().values()}) <= 1


def metrics_by_seat(
    metrics: Iterable[Metric], seats: Sequence[str]
) -> dict[str, dict[str, Metric]]:
    """Return metrics by seat and by column in the table of seats.

    A metric whose name ends with a seat, such as ``self_gain_alice``, has the rest of the name as
    its column. All other metrics are equal for all seats of a match.
    """
    columns: dict[str, dict[str, Metric]] = {}
    for metric in metrics:
        own = [seat for seat in seats if metric.name.endswith(f"_{seat}")]
        name = metric.name.removesuffix(f"_{own[0]}") if own else metric.name
        columns.setdefault(name, {}).update(dict.fromkeys(own or seats, metric))
    return columns


def seat_columns(
    game_specs: Sequence[GameSpec],
    seats: Mapping[str, Sequence[str]],
    factors: Factors,
    players: Iterable[Mapping[str, Any]],
) -> list[Column]:
    """Return the columns of the table of seats.

    Args:
        seats: the seats of each game.
        players: the settings of the study's players.
    """
    answers = [
        Column(
            f"answers_{kind}",
            INTEGER,
            ">= 0",
            f"The number of requests that ended as {kind}; see kind in the table of answers.",
            partial(_answers, kind.value),
        )
        for kind in Kind
    ]
    moves = [
        Column(
            name,
            INTEGER,
            ">= 0",
            meaning.format("the seat"),
            methodcaller("moves_made", index),
        )
        for index, (name, meaning) in enumerate(COUNTS.items())
    ]
    metrics = [
        column
        for game_spec in game_specs
        for column in _metric_columns(game_spec, seats[game_spec.name])
    ]
    parameters = [
        column
        for game_spec in game_specs
        for column in parameter_columns(
            game_spec, seats[game_spec.name], lambda row: row.record.parameters
        )
    ]
    levels = [
        Column(
            f"factor_{name}",
            TEXT,
            "",
            f"The level of the factor {name}.",
            partial(_level, factors, name),
        )
        for name in factor_names(factors)
    ]
    return settled(
        [
            *table_columns("seats"),
            *answers,
            *moves,
            *metrics,
            *parameters,
            *levels,
            *setting_columns(players, lambda row: row.of_seat("settings")),
        ]
    )


def _answers(kind: str, row: SeatRow) -> int | None:
    return row.match.count(row.seat, kind)


def _level(factors: Factors, name: str, row: SeatRow) -> str | None:
    return factors.get(row.player, {}).get(name)


def _metric_columns(game_spec: GameSpec, seats: Sequence[str]) -> Iterator[Column]:
    for name, by_seat in metrics_by_seat(game_spec.metrics.values(), seats).items():
        units = " | ".join(dict.fromkeys(metric.unit for metric in by_seat.values()))
        meanings = dict.fromkeys(inspect.getdoc(metric.of) or "" for metric in by_seat.values())
        functions = {seat: metric.of for seat, metric in by_seat.items()}
        published = {seat: metric.published for seat, metric in by_seat.items() if metric.published}
        for suffix, of_seat in (("", functions), ("_published", published)):
            if of_seat:
                meaning = " / ".join(map(paragraph, meanings))

                def read(row: SeatRow, functions: Mapping[str, Any] = of_seat) -> float | None:
                    return row.computed(functions)

                yield Column(name + suffix, NUMBER, units, meaning, read, "metric", game_spec.name)


def setting_columns(
    players: Iterable[Mapping[str, Any]], data: Callable[[Any], Mapping[str, Any] | None]
) -> list[Column]:
    """Return a column for each setting of players, with the type of its values.

    Names of nested settings are joined by ``_``. The model is a column of its own, and texts of
    template files have none. ``data`` returns the settings of a row's player.
    """
    values: dict[tuple[str, ...], list[Any]] = {}
    for settings in players:
        for path, value in _settings(settings):
            values.setdefault(path, []).append(value)
    return [
        Column(
            "_".join(("settings", *(key for key in path if key != "settings"))),
            _type_of(of_setting),
            "",
            f"The player's setting {'.'.join(path)}.",
            partial(_setting, data, path),
            "settings",
        )
        for path, of_setting in values.items()
        if path[0] not in ("model", "templates")
    ]


def _settings(
    settings: Mapping[str, Any], path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the path and the value of each setting that is not null."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _settings(value, (*path, key))
        elif value is not None:
            yield (*path, key), value


def _type_of(values: Sequence[Any]) -> str:
    types = {PYTHON_TYPES.get(type(value), JSON) for value in values}
    if types == {INTEGER, NUMBER}:
        return NUMBER
    return types.pop() if len(types) == 1 else JSON


def _setting(data: Callable[[Any], Mapping[str, Any] | None], path: Sequence[str], row: Any) -> Any:
    value: Any = data(row)
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
