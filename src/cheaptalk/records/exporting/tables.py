"""The tables of an export: matches, answers and calls, with the columns of their games."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from cheaptalk.players import Kind
from cheaptalk.records.exporting.columns import (
    INTEGER,
    NUMBER,
    TEXT,
    Column,
    columns_of,
    paragraph,
    settled,
)
from cheaptalk.records.exporting.rows import ANSWER, MATCH, MatchRow
from cheaptalk.rules import GameBox, Result


def match_columns(boxes: Sequence[GameBox]) -> list[Column]:
    """The columns of the table of matches for these games: a row a match."""
    kinds = (_parameters, _deal, _players, _outcome, _payoffs, _measures, _counts)
    return settled([*MATCH, *(column for kind in kinds for box in boxes for column in kind(box))])


def answer_columns(boxes: Sequence[GameBox]) -> list[Column]:
    """The columns of the table of answers for these games: a row an answer."""
    return settled([*ANSWER, *(column for box in boxes for column in _actions(box))])


def _parameters(box: GameBox) -> list[Column]:
    return columns_of(
        box.rules, box.rules.roles, lambda row: row.record.parameters,
        group="parameter", game=box.name,
    )  # fmt: skip


def _deal(box: GameBox) -> list[Column]:
    return columns_of(
        box.rules.deal_type, box.rules.roles, lambda row: row.body("deal"),
        group="deal", game=box.name, prefix="deal_",
    )  # fmt: skip


def _outcome(box: GameBox) -> list[Column]:
    return columns_of(
        box.rules.outcome_type, box.rules.roles, lambda row: row.record.outcome,
        group="outcome", game=box.name, prefix="outcome_",
    )  # fmt: skip


def _players(box: GameBox) -> list[Column]:
    return [
        Column(
            f"player_{role}", TEXT, "", f"What the study calls the player in the role {role}.",
            partial(_label, role), "player", box.name,
        )
        for role in box.rules.roles
    ]  # fmt: skip


def _label(role: str, row: MatchRow) -> str:
    return row.record.label(role)


def _payoffs(box: GameBox) -> list[Column]:
    unit = paragraph(inspect.getdoc(box.rules.payoffs) or "")
    return [
        Column(
            f"payoff_{role}", NUMBER, "", f"What {role} got in all. {unit}",
            partial(_payoff, role), "payoff", box.name,
        )
        for role in box.rules.roles
    ]  # fmt: skip


def _payoff(role: str, row: MatchRow) -> float | None:
    return (row.record.payoffs or {}).get(role)


def _measures(box: GameBox) -> list[Column]:
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


def _counts(box: GameBox) -> list[Column]:
    return [
        Column(
            f"answers_{role}_{kind}", INTEGER, ">= 0",
            f"How many questions to {role} ended as {kind}; see kind in the table of answers.",
            partial(_count, role, kind.value), "answers", box.name,
        )
        for role in box.rules.roles
        for kind in Kind
    ]  # fmt: skip


def _count(role: str, kind: str, row: MatchRow) -> int:
    return row.record.kinds.get(role, {}).get(kind, 0)


def _actions(box: GameBox) -> list[Column]:
    """A column for each field of the game's actions; what several have in common, once."""
    found: dict[str, Column] = {}
    for action in box.rules.actions:
        for column in columns_of(
            action, box.rules.roles, lambda row: row.answer.action, group="action", game=box.name
        ):
            first = found.get(column.name)
            found[column.name] = column if first is None else _both(first, column)
    return list(found.values())


def _both(one: Column, other: Column) -> Column:
    """A column that two actions have in common."""
    ranges = dict.fromkeys([*one.range.split(" | "), *other.range.split(" | ")])
    meanings = dict.fromkeys([*one.meaning.split(" / "), other.meaning])
    return replace(one, range=" | ".join(ranges), meaning=" / ".join(meanings))
