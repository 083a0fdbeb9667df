"""The tables of an export: matches, answers and calls, with the columns of their games."""

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
from cheaptalk.rules import GameBox

GROUPS = ("parameter", "deal", "player", "outcome", "payoff", "measure", "answers")
"""Kinds of columns that games have of their own in the table of matches, in order."""

PLAYER = (
    ("player", TEXT, "label", "What the study calls the player who fills {}."),
    ("kind", TEXT, "seat_kind", "Which kind of player fills {}, as rosters write it."),
    ("model", TEXT, "model", "The model string of the player who fills {}; empty if it is none."),
    ("settings", JSON, "settings", "All settings that make the player who fills {}."),
)
"""What is told of a place's player: the column's name and type, how it is read, and its meaning."""


def match_columns(
    boxes: Sequence[GameBox], places: Mapping[str, Sequence[str]] | None = None
) -> list[Column]:
    """The columns of the table of matches for these games: a row a match.

    Args:
        places: of a study's games, over all its configurations; others have their default ones.
    """
    seated = {box.name: list(box.rules().places) for box in boxes} | dict(places or {})
    found = [column for box in boxes for column in _of_match(box, seated[box.name])]
    return settled([*MATCH, *sorted(found, key=lambda column: GROUPS.index(column.group))])


def answer_columns(boxes: Sequence[GameBox]) -> list[Column]:
    """The columns of the table of answers for these games: a row an answer."""
    return settled([*ANSWER, *(column for box in boxes for column in _actions(box))])


def _roles(box: GameBox, places: Sequence[str]) -> Sequence[str]:
    """The roles that a field may have a value for each of; none where roles are no places."""
    return box.rules.roles if list(places) == list(box.rules.roles) else ()


def _of_match(box: GameBox, places: Sequence[str]) -> Iterator[Column]:
    """A game's columns in the table of matches: of its data, its places and its measures."""
    rules = box.rules
    for group, prefix, model, data in (
        ("parameter", "", rules, lambda row: row.record.parameters),
        ("deal", "deal_", rules.deal_type, lambda row: row.record.body.get("deal")),
        ("outcome", "outcome_", rules.outcome_type, lambda row: row.record.outcome),
    ):
        roles = _roles(box, places)
        yield from columns_of(model, roles, data, group=group, game=box.name, prefix=prefix)
    meaning = paragraph(inspect.getdoc(rules.payoffs) or "")
    units = rules.payoff_units()
    shared = next(iter(units.values())) if len({*units.values()}) == 1 else ""
    own = partial(Column, game=box.name)
    for place in places:
        for name, type_, key, said in PLAYER:
            tell = methodcaller(key, place)
            yield own(f"{name}_{place}", type_, "", said.format(place), tell, "player")
        payoff = methodcaller("payoff", place)
        yield own(
            f"payoff_{place}",
            NUMBER,
            units.get(place, shared),
            f"What {place} got in all. {meaning}",
            payoff,
            "payoff",
        )
        for kind in Kind:
            said = (
                f"How many questions to {place} ended as {kind}; see kind in the table of answers."
            )
            count = methodcaller("count", place, kind.value)
            yield own(f"answers_{place}_{kind}", INTEGER, ">= 0", said, count, "answers")
    for measure in box.measures.values():
        unit = measure.published_unit or measure.unit
        for name, of, counted_in in (
            ("", measure.of, measure.unit), ("_published", measure.published, unit),
        ):  # fmt: skip
            if of is not None:
                said, value = paragraph(inspect.getdoc(of) or ""), methodcaller("measured", of)
                yield own(measure.name + name, NUMBER, counted_in, said, value, "measure")


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
