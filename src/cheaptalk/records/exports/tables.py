"""Exported tables of matches and answers, with the columns of each game."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import methodcaller

from cheaptalk.players import Kind
from cheaptalk.records.exports.columns import (
    INTEGER,
    JSON,
    NUMBER,
    TEXT,
    Column,
    columns_of,
    paragraph,
    settled,
)
from cheaptalk.records.exports.rows import ANSWER, MATCH
from cheaptalk.rules import GameSpec

GROUPS = ("parameter", "instance", "player", "outcome", "payoff", "metric", "answers")
"""Kinds of game-specific columns in the table of matches, in order."""

PLAYER = (
    ("player", TEXT, "label", "The label of the player in seat {}."),
    ("kind", TEXT, "seat_kind", "The kind of the player in seat {}, as in rosters."),
    ("model", TEXT, "model", "The model string of the player in seat {}; empty without a model."),
    ("settings", JSON, "settings", "All settings of the player in seat {}."),
)
"""Columns about a seat's player: name, type, method that reads the value, and meaning."""


def match_columns(
    game_specs: Sequence[GameSpec], seats: Mapping[str, Sequence[str]] | None = None
) -> list[Column]:
    """Return the columns of the table of matches for the given games.

    Args:
        seats: all seats of a study's games; by default those of each game's default configuration.
    """
    seats_by_game = {
        game_spec.name: list(game_spec.rules().seats) for game_spec in game_specs
    } | dict(seats or {})
    columns = [
        column
        for game_spec in game_specs
        for column in _of_match(game_spec, seats_by_game[game_spec.name])
    ]
    return settled([*MATCH, *sorted(columns, key=lambda column: GROUPS.index(column.group))])


def answer_columns(game_specs: Sequence[GameSpec]) -> list[Column]:
    """Return the columns of the table of answers for the given games."""
    return settled(
        [*ANSWER, *(column for game_spec in game_specs for column in _actions(game_spec))]
    )


def _roles(game_spec: GameSpec, seats: Sequence[str]) -> Sequence[str]:
    """Return the game's roles if they are identical to the seats, otherwise an empty sequence."""
    return game_spec.rules.roles if list(seats) == list(game_spec.rules.roles) else ()


def _of_match(game_spec: GameSpec, seats: Sequence[str]) -> Iterator[Column]:
    """Yield the columns that a game adds to the table of matches: data, seats and metrics."""
    rules = game_spec.rules
    for group, prefix, model, data in (
        ("parameter", "", rules, lambda row: row.record.parameters),
        ("instance", "instance_", rules.instance_type, lambda row: row.record.body.get("instance")),
        ("outcome", "outcome_", rules.outcome_type, lambda row: row.record.outcome),
    ):
        roles = _roles(game_spec, seats)
        yield from columns_of(model, roles, data, group=group, game=game_spec.name, prefix=prefix)
    meaning = paragraph(inspect.getdoc(rules.payoffs) or "")
    units = rules.payoff_units()
    shared = next(iter(units.values())) if len({*units.values()}) == 1 else ""
    game_column = partial(Column, game=game_spec.name)
    for seat in seats:
        for name, type_, key, of_seat in PLAYER:
            read = methodcaller(key, seat)
            yield game_column(f"{name}_{seat}", type_, "", of_seat.format(seat), read, "player")
        payoff = methodcaller("payoff", seat)
        yield game_column(
            f"payoff_{seat}",
            NUMBER,
            units.get(seat, shared),
            f"The total payoff of {seat}. {meaning}",
            payoff,
            "payoff",
        )
        for kind in Kind:
            description = (
                f"The number of requests to {seat} that ended as {kind}; see kind in the table of "
                "answers."
            )
            count = methodcaller("count", seat, kind.value)
            name = f"answers_{seat}_{kind}"
            yield game_column(name, INTEGER, ">= 0", description, count, "answers")
    for metric in game_spec.metrics.values():
        unit = metric.published_unit or metric.unit
        for name, compute, column_unit in (
            ("", metric.of, metric.unit), ("_published", metric.published, unit),
        ):  # fmt: skip
            if compute is not None:
                description = paragraph(inspect.getdoc(compute) or "")
                value = methodcaller("metric_value", compute)
                full_name = metric.name + name
                yield game_column(full_name, NUMBER, column_unit, description, value, "metric")


def _actions(game_spec: GameSpec) -> list[Column]:
    """Return one column per field of a game's actions, with a single column for shared fields."""
    columns: dict[str, Column] = {}
    roles = _roles(game_spec, list(game_spec.rules().seats))
    for action in game_spec.rules.actions:
        for column in columns_of(
            action, roles, lambda row: row.answer.action, group="action", game=game_spec.name
        ):
            existing = columns.get(column.name)
            columns[column.name] = column if existing is None else _both(existing, column)
    return list(columns.values())


def _both(first: Column, second: Column) -> Column:
    ranges = dict.fromkeys([*first.range.split(" | "), *second.range.split(" | ")])
    meanings = dict.fromkeys([*first.meaning.split(" / "), second.meaning])
    return replace(first, range=" | ".join(ranges), meaning=" / ".join(meanings))
