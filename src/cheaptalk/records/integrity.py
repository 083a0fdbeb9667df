"""The integrity of a store: every row read, every reference followed, every ended match replayed.

A store keeps most facts twice: a match's id is a hash of what defines it, and its outcome, payoffs
and costs follow from the answers in its body. Whatever was changed by hand or by a failing disk
shows where the two differ.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import sqlalchemy as sa

from cheaptalk.records.encoding import text_of
from cheaptalk.records.identity import (
    Configuration,
    imported_match_digest,
    match_digest,
    roster_digest,
    study_digest,
    written_deal_digest,
    written_judge_digest,
    written_player_digest,
)
from cheaptalk.records.judgements import ledger_place
from cheaptalk.records.record import SETTLED, MatchRecord, OtherVersion, ended
from cheaptalk.records.repeated_replies import RepeatedReplies, RepeatedReply
from cheaptalk.records.shapes import DamagedValue
from cheaptalk.records.store import schema
from cheaptalk.records.store.backend import DamagedStore
from cheaptalk.records.store.column_types import Choice, Plain, Shaped
from cheaptalk.records.store.reader import StoreReader, chunks, nowhere_in
from cheaptalk.records.store.views import changed_views
from cheaptalk.rules import CheaptalkError, UnknownName, counted
from cheaptalk.rules.errors import shown

matches, members, calls = schema.matches, schema.members, schema.calls
RowValues: TypeAlias = Mapping[Any, Any]
EMPTY: RowValues = {}
AT_ONCE = 500
"""Rows that are read together."""


class Hurt(NamedTuple):
    """Something that is not as it was written.

    Attributes:
        what: the match, call or row; ``the database`` for its file.
        problem: what is wrong with it.
    """

    what: str
    problem: str


@dataclass
class Integrity:
    """What came of examining a store.

    Attributes:
        rows: how many rows each table has, as far as they can be read.
        replayed: matches that were played again from their record.
        other_rules: ended matches that the installed rules do not replay.
        hurts: what is not as it was written.
        repeated: replies that are recorded for two requests.
        seconds: how long it took.
    """

    rows: Counter[str] = field(default_factory=Counter)
    replayed: int = 0
    other_rules: int = 0
    hurts: list[Hurt] = field(default_factory=list)
    repeated: list[RepeatedReply] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def hurt_matches(self) -> int:
        """How many matches are hurt."""
        return len({hurt.what for hurt in self.hurts if hurt.what.startswith("match ")})


def examine(
    store: StoreReader, progress: Callable[[int, int], None] = lambda done, of: None
) -> Integrity:
    """Read everything in a store, and replay every match that ended.

    What is hurt is no error: it is in what comes back.

    Args:
        progress: told how many matches were looked at, and of how many.
    """
    begun = time.monotonic()
    found = Integrity()
    hurts: dict[Hurt, None] = {}
    try:
        damage = store.backend.damage(whole=True)
        hurts |= {Hurt("the database", damage): None} if damage else {}
    except CheaptalkError as error:
        hurts[Hurt("the database", _reason(error))] = None
    for hurt in _examined(store, found, progress):
        hurts[hurt] = None
    found.hurts = list(hurts)
    found.seconds = time.monotonic() - begun
    return found


def _examined(
    store: StoreReader, found: Integrity, progress: Callable[[int, int], None]
) -> Iterator[Hurt]:
    unreadable = set()
    for table in schema.metadata.sorted_tables:
        for key, hurt in _rows(store, table, found.rows):
            yield hurt
            unreadable |= {key} if table is matches else set()
    for step in (
        _views,
        _shortfalls,
        _references,
        _memberships,
        _purchases,
        _sendings,
        _open_calls,
    ):
        try:
            yield from step(store)
        except CheaptalkError as error:
            yield Hurt("the database", _reason(error))
    numbers = [number for (number,) in _keys(store, matches) if number not in unreadable]
    replies = RepeatedReplies()
    for done, some in enumerate(chunks(numbers, AT_ONCE)):
        yield from _matches(store, some, found, replies)
        progress(min((done + 1) * AT_ONCE, len(numbers)), len(numbers))
    with suppress(CheaptalkError):  # a row that cannot be read is reported above
        found.repeated.extend(replies.of_open_calls(store))


def _reason(error: CheaptalkError) -> str:
    """What is wrong, without what to do about it."""
    return error.what if isinstance(error, DamagedStore) else str(error)


# Rows


def _keys(store: StoreReader, table: sa.Table) -> list[tuple[Any, ...]]:
    """The primary keys of a table; none where they cannot be read."""
    keys = table.primary_key.columns
    try:
        with store.reading() as connection:
            return [tuple(row) for row in connection.execute(sa.select(*keys).order_by(*keys))]
    except CheaptalkError:  # the database itself is hurt, which is said elsewhere
        return []


def _rows(store: StoreReader, table: sa.Table, rows: Counter[str]) -> Iterator[tuple[Any, Hurt]]:
    """What is wrong with the rows of a table, each by itself, with the first part of its key."""
    for some in chunks(_keys(store, table), AT_ONCE):
        rows[table.name] += len(some)
        for key, row in _read(store, table, some):
            if not isinstance(row, CheaptalkError):
                for problem in _problems(table, row):
                    yield key[0], Hurt(_name(table, key, row), problem)
            else:
                what = _match_name(store, key[0]) if table is matches else _name(table, key)
                yield key[0], Hurt(what, _reason(row))


def _read(
    store: StoreReader, table: sa.Table, keys: list[tuple[Any, ...]]
) -> Iterator[tuple[tuple[Any, ...], RowValues | CheaptalkError]]:
    """Rows as they are stored, by their keys, or why one cannot be read."""
    own = list(table.primary_key.columns)
    query = sa.select(*map(_as_stored, table.c)).where(sa.tuple_(*own).in_(keys))
    try:
        with store.reading() as connection:
            found = connection.execute(query).mappings().all()
    except CheaptalkError as error:
        if len(keys) == 1:
            yield keys[0], error
            return
        for key in keys:
            yield from _read(store, table, [key])
    else:
        for row in found:
            yield tuple(row[one.name] for one in own), row


def _as_stored(column: sa.Column[Any]) -> sa.ColumnElement[Any]:
    """A column whose values are not looked at while they are read."""
    if isinstance(column.type, Shaped):
        return sa.cast(column, sa.Text).label(column.name)
    plain = column.type.impl_instance if isinstance(column.type, Choice | Plain) else None
    if isinstance(column.type, sa.Boolean):
        plain = sa.Integer()
    return column if plain is None else sa.type_coerce(column, plain).label(column.name)


NUMBERS: dict[type[Any], tuple[type, ...]] = {
    sa.Integer: (int,), sa.Float: (int, float), sa.Boolean: (int,),
}  # fmt: skip
"""What stands in columns of numbers."""


def _problems(table: sa.Table, row: RowValues) -> list[str]:
    """What is wrong with the values of a row, by themselves or together."""
    values, problems = dict(row), []
    for column in table.c:
        value, kind = row[column.name], column.type
        numbers = NUMBERS.get(type(kind))
        if value is None and not isinstance(kind, Shaped):
            if not column.nullable:
                problems.append(f"{column.name} is missing")
        elif numbers and not isinstance(value, numbers):
            problems.append(f"{column.name} is no number")
        elif isinstance(kind, Shaped | Choice | Plain):
            try:
                values[column.name] = kind.read(value)
            except DamagedValue as error:
                problems.append(f"{column.name}: {error}")
    if table is calls and not problems and not _asks(values["call"]):
        problems.append("call: it asks nobody anything")
    digest_of = DIGESTS.get(table.name)
    if digest_of and not problems and values["digest"] not in (None, digest_of(values)):
        problems.append("its digest is that of something else")
    return problems


DIGESTS: dict[str, Callable[[RowValues], str]] = {
    "studies": lambda row: study_digest(row["name"], row["spec"]),
    "rosters": lambda row: roster_digest(row["study_id"], row["player_id"], row["label"]),
    "players": lambda row: written_player_digest(row["spec"]),
    "judges": lambda row: written_judge_digest(row["spec"]),
    "configurations": lambda row: (
        Configuration(row["game"], row["version"], row["parameters"]).digest
    ),
}
"""What the digest of a row is to be, by table."""


def _asks(call: Mapping[str, Any]) -> bool:
    """Whether a call is one to a model or to a person."""
    return bool(call.get("messages") if "model" in call else call.get("question"))


def _match_name(store: StoreReader, number: int) -> str:
    """What people know a match by of which no more may be readable."""
    with store.reading() as connection:
        id_ = connection.scalar(sa.select(matches.c.id).where(matches.c.number == number))
    return f"match {id_}"


def _name(table: sa.Table, key: tuple[Any, ...], known: RowValues = EMPTY) -> str:
    """What people know a row by."""
    if table is matches and known.get("id"):
        return f"match {known['id']}"
    if table is calls and known.get("match_id"):
        return f"{ledger_place(known['match_id'])}, call {key[0]}"
    if table is schema.studies and known.get("name"):
        return f"study {known['name']}"
    return f"row {'/'.join(map(str, key))} of {table.name}"


# What rows say of each other


def _views(store: StoreReader) -> Iterator[Hurt]:
    """Views that are not as they were made."""
    with store.reading() as connection:
        for name in changed_views(connection):
            yield Hurt(f"view {name}", "it is missing, or not as it was made")


def _shortfalls(store: StoreReader) -> Iterator[Hurt]:
    """Studies that lack matches, as in a copy of a store's main file without its log."""
    for study, problem in store.shortfalls():
        yield Hurt(f"study {study}", problem)


def _references(store: StoreReader) -> Iterator[Hurt]:
    """Rows that name others which are not there."""
    with store.reading() as connection:
        for table in schema.metadata.sorted_tables:
            for foreign in table.foreign_keys:
                own, there = foreign.parent, foreign.column
                lost = nowhere_in(own, sa.select(there))
                query = sa.select(*table.primary_key.columns).where(lost)
                for key in connection.execute(query):
                    problem = f"{own.name} names a row of {there.table.name} that is not there"
                    own_name = table is matches and _match_name(store, key[0])
                    yield Hurt(own_name or _name(table, tuple(key)), problem)


def _memberships(store: StoreReader) -> Iterator[Hurt]:
    """Matches that no study has, and calls and judgements of matches that are not in the store."""
    ids = sa.select(matches.c.id)
    with store.reading() as connection:
        lost = nowhere_in(matches.c.number, sa.select(members.c.match_number))
        of_none = sa.select(matches.c.id).where(lost)
        for id_ in connection.scalars(of_none):
            yield Hurt(f"match {id_}", "no study has it")
        for table, name in ((calls, "calls"), (schema.judgements, "judgements")):
            other = sa.select(table.c.match_id).except_(ids)
            for id_ in connection.scalars(other):
                if ":" not in id_:  # a judge's calls, which stand under its name
                    yield Hurt(f"match {id_}", f"there are {name} of it, and no match")


def _purchases(store: StoreReader) -> Iterator[Hurt]:
    """Matches that studies have not bought as they are recorded."""
    bought = schema.purchases
    query = (
        sa.select(matches.c.id, matches.c.calls, sa.func.coalesce(sa.func.sum(bought.c.calls), 0))
        .join(bought, bought.c.match_number == matches.c.number, isouter=True)
        .where(matches.c.status.in_(SETTLED))
        .group_by(matches.c.id, matches.c.calls)
    )
    with store.reading() as connection:
        for id_, there, paid in connection.execute(query):
            if there != paid:
                yield Hurt(f"match {id_}", f"its record has {there} calls, and studies paid {paid}")


def _sendings(store: StoreReader) -> Iterator[Hurt]:
    """Sendings of a call that are missing between others."""
    key = (calls.c.match_id, calls.c.request, calls.c.seat, calls.c.attempt)
    query = (
        sa.select(*key, sa.func.count(), sa.func.max(calls.c["try"]))
        .group_by(*key)
        .having(sa.func.count() != sa.func.max(calls.c["try"]))
    )
    with store.reading() as connection:
        for id_, request, seat, attempt, there, last in connection.execute(query):
            yield Hurt(
                ledger_place(id_),
                f"of {last} sendings of call {attempt + 1} of {seat} in request {request} {there} "
                "are there",
            )


def _open_calls(store: StoreReader) -> Iterator[Hurt]:
    """Open calls of seats that their match does not have, or of studies that are not there."""
    asked = sa.select(calls.c.match_id, calls.c.seat).distinct().order_by(calls.c.match_id)
    strange = sa.select(calls.c.id, calls.c.match_id, calls.c.study_id).where(
        nowhere_in(calls.c.study_id, sa.select(schema.studies.c.id))
    )
    with store.reading() as connection:
        for id_, match_id, study_id in connection.execute(strange):
            place = f"{ledger_place(match_id)}, call {id_}"
            yield Hurt(place, f"study_id names study {study_id}, which is not there")
        seats = connection.execute(asked).all()
    for some in chunks(seats, AT_ONCE):
        wanted = matches.c.id.in_({id_ for id_, _ in some})
        try:
            records = {record.id: record for record in store.records(where=wanted)}
        except CheaptalkError:  # which is told where matches are looked at
            continue
        for id_, seat in some:
            if id_ in records and not _has_seat(records[id_], seat):
                yield Hurt(f"match {id_}", f"there are calls of {shown(seat)}, a seat it has not")


def _has_seat(record: MatchRecord, seat: str) -> bool:
    """Whether a match has a seat; true where the installed rules cannot tell."""
    try:
        return seat in record.at
    except CheaptalkError:
        return True


# Matches


def _matches(
    store: StoreReader, numbers: list[int], found: Integrity, replies: RepeatedReplies
) -> Iterator[Hurt]:
    """What is wrong with some matches; read one by one where they cannot be read together."""
    try:
        records = list(store.records(bodies=True, where=matches.c.number.in_(numbers)))
    except CheaptalkError as error:
        if len(numbers) > 1:
            for number in numbers:
                yield from _matches(store, [number], found, replies)
            return
        yield Hurt(_match_name(store, numbers[0]), _reason(error))
        return
    sent = _sent(store, [record.id for record in records])
    for record in records:
        problems: list[str] = []
        try:
            found.repeated.extend(replies.of_match(record) if record.over else ())
            problems.extend(_of_match(record, sent.get(record.id, {}), found))
        except (OtherVersion, UnknownName):
            found.other_rules += 1
        except CheaptalkError as error:
            problems.append(_reason(error))
        yield from (Hurt(f"match {record.id}", problem) for problem in problems)


CallPlace: TypeAlias = tuple[int, str, int]
"""A request, a seat, and a call's place within the answer."""


def _sent(store: StoreReader, ids: Iterable[str]) -> dict[str, dict[CallPlace, int]]:
    """How many sendings of each call the ledger still holds, by match."""
    key = [calls.c.match_id, calls.c.request, calls.c.seat, calls.c.attempt]
    query = sa.select(*key, sa.func.count()).where(calls.c.match_id.in_(list(ids))).group_by(*key)
    with store.reading() as connection:
        rows = connection.execute(query.order_by(calls.c.match_id)).all()
    return {
        id_: {(row[1], row[2], row[3]): row[4] for row in some}
        for id_, some in groupby(rows, key=itemgetter(0))
    }


def _of_match(
    record: MatchRecord, sent: Mapping[CallPlace, int], found: Integrity
) -> Iterator[str]:
    """What is wrong with a match that was read.

    Raises:
        OtherVersion, UnknownName: the installed rules do not replay it.
        CheaptalkError: its record cannot be read, or does not replay.
    """
    if not record.over:
        if record.outcome or record.payoffs or "answers" in record.body:
            yield f"it is {record.status.value}, and its row says how it ended"
        return
    yield from _of_identity(record)
    for answer in record.answers:
        for attempt, call in enumerate(answer.calls):
            there = sent.get((answer.request, answer.seat, attempt), 0)
            if there != call["sending"] - 1:
                yield (
                    f"a call of {answer.seat} in request {answer.request} was sent "
                    f"{counted(call['sending'], 'time')}, and {there} of those before the last "
                    "are there"
                )
    table = record.replay()
    found.replayed += 1
    if not table.over:
        yield "its answers end before the match does"
        return
    again = ended(table, record.body["seed"], record.answers)
    for one in fields(again):
        if one.name in ("begun", "finished", "body"):
            continue
        kept, played = getattr(record, one.name), getattr(again, one.name)
        if text_of(kept) != text_of(played) and kept is not None:
            yield f"{one.name} is {text_of(kept)}, and its answers give {text_of(played)}"


def _of_identity(record: MatchRecord) -> Iterator[str]:
    """What is wrong with what a match and its deal are called."""
    if record.id not in _identities(record):
        yield "its id is not that of its game, deal, seed and players"
    if not record.body.get("source") and record.deal_key not in _deal_keys(record):
        yield f"its deal is called {shown(record.deal_key)}, which is not the one in its record"


def _identities(record: MatchRecord) -> set[str]:
    """The ids that what is recorded of a match may give."""
    body = record.body
    configuration = record.configuration.digest
    players = [written_player_digest(player["spec"]) for player in record.seats.values()]
    deal = text_of(body["deal"])
    source = body.get("source")
    if source:
        answers = [answer.as_json() for answer in record.answers]
        return {
            imported_match_digest(
                source["system"], record.deal_key, configuration, deal, answers, players
            )
        }
    return {
        match_digest(configuration, _deal_seed(record), dealt, record.repeat, players)
        for dealt in ("", deal)
    }


def _deal_seed(record: MatchRecord) -> str:
    """The seed that the deal of a match was drawn with."""
    seed: str = record.body["seed"]
    return seed.removesuffix(f"/{record.repeat}") if record.repeat else seed


def _deal_keys(record: MatchRecord) -> set[str]:
    """What the deal of a match may be called: by its number, or by what it is if it was taken
    over.
    """
    before, colon, _ = record.deal_key.rpartition(":")
    taken_over = f"{before}{colon}{written_deal_digest(record.body['deal'])}"
    return {_deal_seed(record).rpartition("/")[2], taken_over}
