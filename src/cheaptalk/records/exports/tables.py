"""The tables of an export: matches, answers and calls, with the columns of their games."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from cheaptalk.players import Kind
from cheaptalk.records.exports.columns import (
    INTEGER,
    NUMBER,
    TEXT,
    Column,
    columns_of,
    paragraph,
    settled,
)
from cheaptalk.records.exports.rows import ANSWER, MATCH, MatchRow
from cheaptalk.rules import GameBox, Result


def match_columns(
    boxes: Sequence[GameBox], places: Mapping[str, Sequence[str]] | None = None
) -> list[Column]:
    """The columns of the table of matches for these games: a row a match.

    Args:
        places: of a study's games, over all its configurations; others have their default ones.
    """
    seated = {box.name: list(box.rules().places) for box in boxes} | dict(places or {})
    kinds = (_parameters, _deal, _players, _outcome, _payoffs, _measures, _counts)
    return settled(
        [*MATCH, *(column for kind in kinds for box in boxes
                   for column in kind(box, seated[box.name]))]
    )  # fmt: skip


def answer_columns(boxes: Sequence[GameBox]) -> list[Column]:
    """The columns of the table of answers for these games: a row an answer."""
    return settled([*ANSWER, *(column for box in boxes for column in _actions(box))])


def _roles(box: GameBox, places: Sequence[str]) -> Sequence[str]:
    """The roles that a field may have a value for each of; none where roles are no places."""
    return box.rules.roles if list(places) == list(box.rules.roles) else ()


def _parameters(box: GameBox, places: Sequence[str]) -> list[Column]:
    return columns_of(
        box.rules, _roles(box, places), lambda row: row.record.parameters,
        group="parameter", game=box.name,
    )  # fmt: skip


def _deal(box: GameBox, places: Sequence[str]) -> list[Column]:
    return columns_of(
        box.rules.deal_type, _roles(box, places), lambda row: row.body("deal"),
        group="deal", game=box.name, prefix="deal_",
    )  # fmt: skip


def _outcome(box: GameBox, places: Sequence[str]) -> list[Column]:
    return columns_of(
        box.rules.outcome_type, _roles(box, places), lambda row: row.record.outcome,
        group="outcome", game=box.name, prefix="outcome_",
    )  # fmt: skip


def _players(box: GameBox, places: Sequence[str]) -> list[Column]:
    return [
        Column(
            f"player_{place}", TEXT, "", f"What the study calls the player who fills {place}.",
            partial(_label, place), "player", box.name,
        )
        for place in places
    ]  # fmt: skip


def _label(place: str, row: MatchRow) -> str | None:
    return row.record.label(place) if place in row.record.seats else None


def _payoffs(box: GameBox, places: Sequence[str]) -> list[Column]:
    unit = paragraph(inspect.getdoc(box.rules.payoffs) or "")
    return [
        Column(
            f"payoff_{place}", NUMBER, "", f"What {place} got in all. {unit}",
            partial(_payoff, place), "payoff", box.name,
        )
        for place in places
    ]  # fmt: skip


def _payoff(place: str, row: MatchRow) -> float | None:
    return (row.record.payoffs or {}).get(place)


def _measures(box: GameBox, _: Sequence[str]) -> list[Column]:
    """A column for each measure, and one for the published variant where it differs."""
    columns = []
    for measure in box.measures.values():
        for name, of in (("", measure.of), ("_published", measure.published)):
            if of is not None:
                columns.append(
                    Column(
                        measure.name + name, NUMBER, measure.unit,
                        paragraph(inspect.getdoc(of) or ""), partial(_measure, of),
                        "measure", box.name,
                    )
                )  # fmt: skip
    return columns


def _measure(of: Callable[[Result], float | None], row: MatchRow) -> float | None:
    return None if row.result is None else of(row.result)


def _counts(box: GameBox, places: Sequence[str]) -> list[Column]:
    return [
        Column(
            f"answers_{place}_{kind}", INTEGER, ">= 0",
            f"How many questions to {place} ended as {kind}; see kind in the table of answers.",
            partial(_count, place, kind.value), "answers", box.name,
        )
        for place in places
        for kind in Kind
    ]  # fmt: skip


def _count(place: str, kind: str, row: MatchRow) -> int | None:
    if place not in row.record.seats:
        return None
    return row.record.kinds.get(place, {}).get(kind, 0)


def _actions(box: GameBox) -> list[Column]:
    """A column for each field of the game's actions; what several have in common, once."""
    found: dict[str, Column] = {}
    roles = _roles(box, list(box.rules().places))
    for action in box.rules.actions:
        for column in columns_of(
            action, roles, lambda row: row.answer.action, group="action", game=box.name
        ):
            first = found.get(column.name)
            found[column.name] = column if first is None else _both(first, column)
    return list(found.values())


def _both(one: Column, other: Column) -> Column:
    """A column that two actions have in common."""
    ranges = dict.fromkeys([*one.range.split(" | "), *other.range.split(" | ")])
    meanings = dict.fromkeys([*one.meaning.split(" / "), other.meaning])
    return replace(one, range=" | ".join(ranges), meaning=" / ".join(meanings))
