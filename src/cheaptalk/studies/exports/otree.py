"""The data of participants with the names and the order of columns of oTree's wide export.

A study is a session, a participant is a participant, each step with questions is an app with one
round, and each game is an app with a round for each of a participant's games. Columns of oTree
without a counterpart are empty.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from cheaptalk.records.exports.columns import BOOLEAN, INTEGER, NUMBER, TEXT
from cheaptalk.records.store.store import Store
from cheaptalk.studies.exports.people import GameRow, PeopleData, Person
from cheaptalk.studies.exports.wide import (
    NEVER,
    NO_GAME,
    WideColumn,
    WideTable,
    game_columns,
    person_columns,
)

NONE = "oTree's column has no counterpart and is always empty."
GROUP = ("instance", "outcome")
"""Groups of columns that are equal for all members of a group."""
BUILT_IN = ("number", "game", "role", "seat", "payoff", "match_id")
"""Columns of games that have columns of oTree as counterparts."""
Read: TypeAlias = Callable[[Person], Any]


def otree_table(store: Store, study: str, data: PeopleData) -> dict[str, WideTable]:
    """Return the table ``all_apps_wide``, with a row per participant."""
    person = person_columns(data)
    columns = [*_participant(person, data), *_session(data)]
    apps: dict[str, list[WideColumn]] = defaultdict(list)
    for question, column in _answers(person, data):
        apps[question].append(column)
    for step, answers in apps.items():
        columns += [
            replace(column, name=f"{step}.1.player.{column.name}", group="otree")
            for column in answers
        ]
        columns.append(_round(f"{step}.1", 1))
    columns += _games(game_columns(store, study, data), data)
    return {"all_apps_wide": WideTable(list(map(_as_otree, columns)), data.people)}


def _as_otree(column: WideColumn) -> WideColumn:
    """Return a column with truth values as 1 and 0."""
    if column.type != BOOLEAN:
        return column
    read = column.of

    def number(person: Person) -> int | None:
        value = read(person)
        return None if value is None else int(value)

    return replace(column, type=INTEGER, range="0 | 1", of=number)


def _column(
    name: str, type_: str, meaning: str, read: Read, missing: str = NEVER, unit: str = ""
) -> WideColumn:
    return WideColumn(name, type_, "", meaning, read, "otree", unit=unit, missing=missing)


def _empty(name: str) -> WideColumn:
    return _column(name, TEXT, NONE, lambda _: None, NONE)


def _participant(person: Sequence[WideColumn], data: PeopleData) -> Iterator[WideColumn]:
    prefix = "participant."
    yield _column(f"{prefix}id_in_session", INTEGER, "The position in the order of arrival.",
                  lambda row: row.number)  # fmt: skip
    yield _column(f"{prefix}code", TEXT, "The participant's code.",
                  lambda row: row.record.participant)  # fmt: skip
    yield _empty(f"{prefix}label")
    yield _empty(f"{prefix}_is_bot")
    yield _column(f"{prefix}_index_in_pages", INTEGER, "The number of answered pages.",
                  lambda row: len({item.number for item in row.responses}))  # fmt: skip
    yield _empty(f"{prefix}_max_page_index")
    yield _column(f"{prefix}_current_app_name", TEXT, "The current or last step.",
                  lambda row: row.record.step)  # fmt: skip
    yield _column(f"{prefix}_current_page_name", TEXT, "The current or last step.",
                  lambda row: row.record.step)  # fmt: skip
    yield replace(_named(person, "started_at"), name=f"{prefix}time_started_utc")
    yield _column(f"{prefix}visited", INTEGER, "1: only participants who entered have a row.",
                  lambda _: 1)  # fmt: skip
    yield _empty(f"{prefix}mturk_worker_id")
    yield _empty(f"{prefix}mturk_assignment_id")
    yield _column(f"{prefix}payoff", NUMBER, "All bonuses except show-up fees.",
                  lambda row: (row.earned("bonus") - row.show_up_fees) / 100,
                  unit=data.currency)  # fmt: skip
    known = {"participant", "study", "arrival", "cohort", "last_step", "started_at"}
    asked = {column.name for _, column in _answers(person, data)}
    for column in person:
        if column.name not in known | asked:
            yield replace(column, name=prefix + column.name)


def _named(columns: Sequence[WideColumn], name: str) -> WideColumn:
    return next(column for column in columns if column.name == name)


def _session(data: PeopleData) -> Iterator[WideColumn]:
    yield _column("session.code", TEXT, "The study.", lambda row: row.study)
    yield _column("session.label", TEXT, "The participant's cohort.", lambda row: row.record.cohort)
    for name in ("mturk_HITId", "mturk_HITGroupId", "comment"):
        yield _empty(f"session.{name}")
    yield _column("session.is_demo", INTEGER, "0: exports contain no demonstrations.", lambda _: 0)
    yield _column("session.config.participation_fee", NUMBER,
                  "The show-up fee and the payment for completing a visit.",
                  lambda _: participation_fee(data),
                  "The study's protocol can't be read.", data.currency)  # fmt: skip
    yield _column("session.config.real_world_currency_per_point", NUMBER,
                  "The rate of the bonus, if a single rule applies to the payoff.",
                  lambda _: bonus_rate(data), "There is no such rule.", data.currency)  # fmt: skip


def participation_fee(data: PeopleData) -> float | None:
    """Return the show-up fee plus the payment for completing a visit; None if unknown."""
    if not data.protocols:
        return None
    pay = data.protocols[0].pay
    return pay.base + pay.show_up


def bonus_rate(data: PeopleData) -> float | None:
    """Return the bonus per unit of payoff; None unless a single rule applies to the payoff."""
    rules = data.protocols[0].pay.bonus if data.protocols else []
    return rules[0].rate if len(rules) == 1 and rules[0].metric is None else None


def _answers(person: Sequence[WideColumn], data: PeopleData) -> Iterator[tuple[str, WideColumn]]:
    """Yield the step and the column of each question outside the games."""
    columns = (column for column in person if column.group == "answer")
    questions = (question for question in data.questions if not question.in_game)
    for question, column in zip(questions, columns, strict=True):
        yield question.step, column


def _round(app: str, number: int, missing: str = NEVER) -> WideColumn:
    name = f"{app}.subsession.round_number"
    return _column(name, INTEGER, f"Always {number}.", lambda _: number, missing)


def _games(columns: Sequence[WideColumn], data: PeopleData) -> Iterator[WideColumn]:
    """Yield the columns of each game and round: player, group and subsession."""
    games = list(dict.fromkeys(row.of for row in data.games))
    groups = _group_numbers(data)
    for game in games:
        own = [column for column in columns if column.of_game in ("", game)]
        most = max(len(_rounds(person, game)) for person in data.people)
        for index in range(most):
            yield from _of_round(game, index, own, groups)


def _rounds(person: Person, game: str) -> list[GameRow]:
    return [row for row in person.games if row.of == game]


def _group_numbers(data: PeopleData) -> dict[str, int]:
    """Return a number for each match, from 1 for each game, in the order of the participants."""
    numbers: dict[str, int] = {}
    counts: dict[str, int] = defaultdict(int)
    for row in data.games:
        if row.play.match_id is not None and row.play.match_id not in numbers:
            counts[row.of] += 1
            numbers[row.play.match_id] = counts[row.of]
    return numbers


def _of_round(
    game: str, index: int, columns: Sequence[WideColumn], groups: dict[str, int]
) -> Iterator[WideColumn]:
    app = f"{game}.{index + 1}"

    def built_in(name: str, type_: str, meaning: str, read: Callable[[GameRow], Any]) -> WideColumn:
        return _column(f"{app}.{name}", type_, meaning, partial(_in_round, game, index, read),
                       NO_GAME)  # fmt: skip

    def given(column: WideColumn, model: str) -> WideColumn:
        read = partial(_in_round, game, index, column.of)
        missing = NO_GAME if column.missing == NEVER else f"{NO_GAME} {column.missing}"
        return replace(column, name=f"{app}.{model}.{column.name}", of=read, missing=missing)

    yield built_in("player.id_in_group", INTEGER, "The position of the seat in the match, from 1.",
                   _position)  # fmt: skip
    for name in ("role", "payoff"):
        yield given(_named(columns, name), "player")
    for column in columns:
        if column.name not in BUILT_IN and column.group not in (*GROUP, "parameter"):
            yield given(column, "player")
    yield built_in("group.id_in_subsession", INTEGER, "The number of the match in this game.",
                   lambda row: groups.get(row.play.match_id or ""))  # fmt: skip
    yield given(_named(columns, "match_id"), "group")
    for column in columns:
        if column.group in GROUP:
            yield given(column, "group")
    yield built_in("subsession.round_number", INTEGER, f"Always {index + 1}.", lambda _: index + 1)
    for column in columns:
        if column.group == "parameter":
            yield given(column, "subsession")


def _in_round(game: str, index: int, read: Callable[[GameRow], Any], person: Person) -> Any:
    rounds = _rounds(person, game)
    return read(rounds[index]) if index < len(rounds) else None


def _position(row: GameRow) -> int | None:
    if row.seat is None:
        return None
    return list(row.seat.record.seats).index(row.seat.seat) + 1
