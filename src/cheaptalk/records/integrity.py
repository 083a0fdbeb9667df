"""Integrity checks of a store: read every row, follow every reference, replay ended matches.

A store contains most facts twice: a match's id is a hash of its definition, and its outcome,
payoffs and costs follow from the recorded answers. The checks compare both copies to detect manual
changes and disk errors.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import sqlalchemy as sa

from cheaptalk.models import ModelCall
from cheaptalk.models.http.reply_ids import request_digest
from cheaptalk.printing.printout import Printed
from cheaptalk.records import identity
from cheaptalk.records.encoding import text_of
from cheaptalk.records.judgements import ledger_place
from cheaptalk.records.ledger.ledger import KEY, CallKey
from cheaptalk.records.record import ENDED_COLUMNS, SETTLED, MatchRecord, VersionMismatch, match_end
from cheaptalk.records.store import schema
from cheaptalk.records.store.backend import DamagedStore
from cheaptalk.records.store.column_types import Plain, Shaped
from cheaptalk.records.store.lookup import StoreLike, reads
from cheaptalk.records.store.migration import changed_views
from cheaptalk.records.store.reader import StoreReader, chunks, nowhere_in
from cheaptalk.records.store.store import Store
from cheaptalk.records.validation import DamagedValue
from cheaptalk.rules import CheaptalkError, UnknownName, counted
from cheaptalk.rules.errors import shown

matches, members, calls = schema.matches, schema.members, schema.calls
purchases = schema.purchases
RowValues: TypeAlias = Mapping[Any, Any]
EMPTY: RowValues = {}
AT_ONCE = 500
"""Number of rows per read."""


class RepeatedReply(NamedTuple):
    """A response, with the server's id, that is recorded for two calls."""

    call: CallKey
    other: CallKey
    id: str

    def __str__(self) -> str:
        return (
            f"the response to {_place(self.call)} is also recorded for {_place(self.other)} of "
            f"match {self.other.match_id} (id {shown(self.id)}): the server or a gateway mixed up "
            "two requests, so do not rely on either match"
        )


class RepeatedReplies:
    """A detector of responses that are recorded for two requests."""

    def __init__(self) -> None:
        self._first: dict[tuple[str, str], tuple[bytes, CallKey]] = {}

    def of_match(self, record: MatchRecord) -> Iterator[RepeatedReply]:
        """Yield the responses of an ended match that are also recorded for another request."""
        for answer in record.answers:
            for attempt, entry in enumerate(answer.calls):
                key = CallKey(record.id, answer.request, answer.actor, attempt)
                yield from self._of_call(key, entry["call"], entry["reply"])
        for line in record.chat:
            for index, entry in enumerate(line.calls):
                key = CallKey(record.id, *line.place(index))
                yield from self._of_call(key, entry["call"], entry["reply"])

    def of_open_calls(self, store: StoreReader) -> Iterator[RepeatedReply]:
        """Yield the responses in the ledger that are also recorded for another request."""
        query = sa.select(*KEY, calls.c.call, calls.c.reply).where(calls.c.state == "answered")
        for row in store.rows(query.order_by(calls.c.id)):
            yield from self._of_call(CallKey(*row[:4]), row.call, row.reply)

    def _of_call(
        self, key: CallKey, call: Mapping[str, Any], reply: Mapping[str, Any]
    ) -> Iterator[RepeatedReply]:
        reply_id = reply.get("id")
        if reply_id is None or reply.get("cached"):
            return
        request = request_digest(ModelCall.model_validate(call))
        first, other = self._first.setdefault((call["model"], reply_id), (request, key))
        if first != request:
            yield RepeatedReply(key, other, reply_id)


def _place(call: CallKey) -> str:
    return f"{call.actor} in request {call.request}"


class Damage(NamedTuple):
    """A damaged item of a store, with a description of the problem.

    Attributes:
        what: the match, call or row; ``the database`` for the database file.
        problem: a description of the damage.
    """

    what: str
    problem: str


@dataclass(repr=False)
class Integrity(Printed):
    """The result of the integrity checks.

    Attributes:
        rows: the number of rows of each table, as far as they can be read.
        replayed: the number of matches that were replayed.
        other_rules: the number of ended matches that the installed rules can't replay.
        damages: the damaged items.
        repeated: responses that are recorded for two requests.
        seconds: the duration of the checks.
    """

    rows: Counter[str] = field(default_factory=Counter)
    replayed: int = 0
    other_rules: int = 0
    damages: list[Damage] = field(default_factory=list)
    repeated: list[RepeatedReply] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def hurt_matches(self) -> int:
        """Number of damaged matches."""
        return len({damage.what for damage in self.damages if damage.what.startswith("match ")})


@reads
def examine(
    store: StoreLike, progress: Callable[[int, int], None] = lambda count, total: None
) -> Integrity:
    """Read all data in a store and replay every ended match.

    Damage raises no error: it is part of the result.

    Args:
        progress: called with the number of examined matches and the total.
    """
    assert isinstance(store, Store)
    started = time.monotonic()
    integrity = Integrity()
    damages: dict[Damage, None] = {}
    try:
        problem = store.backend.damage(full=True)
        damages |= {Damage("the database", problem): None} if problem else {}
    except CheaptalkError as error:
        damages[Damage("the database", _reason(error))] = None
    for damage in _examined(store, integrity, progress):
        damages[damage] = None
    integrity.damages = list(damages)
    integrity.seconds = time.monotonic() - started
    return integrity


def _examined(
    store: StoreReader, integrity: Integrity, progress: Callable[[int, int], None]
) -> Iterator[Damage]:
    unreadable = set()
    for table in schema.metadata.sorted_tables:
        for key, damage in _rows(store, table, integrity.rows):
            yield damage
            unreadable |= {key} if table is matches else set()
    checks = _views, _shortfalls, _references, _memberships, _purchases, _sendings, _open_calls
    for step in checks:
        try:
            yield from step(store)
        except CheaptalkError as error:
            yield Damage("the database", _reason(error))
    numbers = [number for (number,) in _keys(store, matches) if number not in unreadable]
    replies = RepeatedReplies()
    for batch, chunk in enumerate(chunks(numbers, AT_ONCE)):
        yield from _matches(store, chunk, integrity, replies)
        progress(min((batch + 1) * AT_ONCE, len(numbers)), len(numbers))
    with suppress(CheaptalkError):  # unreadable rows are reported above
        integrity.repeated.extend(replies.of_open_calls(store))


def _reason(error: CheaptalkError) -> str:
    return error.what if isinstance(error, DamagedStore) else str(error)


# Rows


def _keys(store: StoreReader, table: sa.Table) -> list[tuple[Any, ...]]:
    """Return the primary keys of a table's rows; an empty list if they can't be read."""
    keys = table.primary_key.columns
    try:
        return [tuple(row) for row in store.rows(sa.select(*keys).order_by(*keys))]
    except CheaptalkError:  # damage of the database itself is reported elsewhere
        return []


def _rows(store: StoreReader, table: sa.Table, rows: Counter[str]) -> Iterator[tuple[Any, Damage]]:
    """Yield the problems of a table's rows, each with the first value of the row's primary key."""
    for chunk in chunks(_keys(store, table), AT_ONCE):
        rows[table.name] += len(chunk)
        for key, row in _read(store, table, chunk):
            if not isinstance(row, CheaptalkError):
                for problem in _problems(table, row):
                    yield key[0], Damage(_name(table, key, row), problem)
            else:
                name = _match_name(store, key[0]) if table is matches else _name(table, key)
                yield key[0], Damage(name, _reason(row))


def _read(
    store: StoreReader, table: sa.Table, keys: list[tuple[Any, ...]]
) -> Iterator[tuple[tuple[Any, ...], RowValues | CheaptalkError]]:
    """Yield each primary key with its unvalidated row, or with the error from reading the row."""
    key_columns = list(table.primary_key.columns)
    query = sa.select(*map(_as_stored, table.c)).where(sa.tuple_(*key_columns).in_(keys))
    try:
        rows = store.rows(query)
    except CheaptalkError as error:
        if len(keys) == 1:
            yield keys[0], error
            return
        for key in keys:
            yield from _read(store, table, [key])
    else:
        for row in rows:
            values = row._mapping
            yield tuple(values[column.name] for column in key_columns), values


def _as_stored(column: sa.Column[Any]) -> sa.ColumnElement[Any]:
    """Return a query column that reads stored values without validation."""
    if isinstance(column.type, Shaped):
        return sa.cast(column, sa.Text).label(column.name)
    plain = column.type.impl_instance if isinstance(column.type, Plain) else None
    if isinstance(column.type, sa.Boolean):
        plain = sa.Integer()
    return column if plain is None else sa.type_coerce(column, plain).label(column.name)


NUMBERS: dict[type[Any], tuple[type, ...]] = {
    sa.Integer: (int,),
    sa.Float: (int, float),
    sa.Boolean: (int,),
}
"""Python types of the values in numeric columns."""


def _problems(table: sa.Table, row: RowValues) -> list[str]:
    """Return a description of each problem with the values of a row."""
    values, problems = dict(row), []
    for column in table.c:
        value, kind = row[column.name], column.type
        numbers = NUMBERS.get(type(kind))
        if value is None and not isinstance(kind, Shaped):
            if not column.nullable:
                problems.append(f"{column.name} is missing")
        elif numbers and not isinstance(value, numbers):
            problems.append(f"{column.name} is not a number")
        elif isinstance(kind, Shaped | Plain):
            try:
                values[column.name] = kind.read(value)
            except DamagedValue as error:
                problems.append(f"{column.name}: {error}")
    if table is calls and not problems and not _asks(values["call"]):
        problems.append("call: contains no messages or question")
    digest_of = DIGESTS.get(table.name)
    if digest_of and not problems and values["digest"] not in (None, digest_of(values)):
        problems.append("the digest does not match the contents")
    return problems


DIGESTS: dict[str, Callable[[RowValues], str]] = {
    "studies": lambda row: identity.study_digest(row["name"], row["spec"]),
    "rosters": lambda row: identity.roster_digest(row["study_id"], row["player_id"], row["label"]),
    "players": lambda row: identity.written_player_digest(row["spec"]),
    "judges": lambda row: identity.written_judge_digest(row["spec"]),
    "configurations": lambda row: (
        identity.Configuration(row["game"], row["version"], row["parameters"]).digest
    ),
}
"""Functions that compute the expected digest of a row, by table."""


def _asks(call: Mapping[str, Any]) -> bool:
    return bool(call.get("messages") if "model" in call else call.get("question"))


def _match_name(store: StoreReader, number: int) -> str:
    return f"match {store.scalar(sa.select(matches.c.id).where(matches.c.number == number))}"


def _name(table: sa.Table, key: tuple[Any, ...], row: RowValues = EMPTY) -> str:
    if table is matches and row.get("id"):
        return f"match {row['id']}"
    if table is calls and row.get("match_id"):
        return f"{ledger_place(row['match_id'])}, call {key[0]}"
    if table is schema.studies and row.get("name"):
        return f"study {row['name']}"
    return f"row {'/'.join(map(str, key))} of {table.name}"


# Relations between rows


def _views(store: StoreReader) -> Iterator[Damage]:
    with store.reading() as connection:
        for name in changed_views(connection):
            yield Damage(f"view {name}", "the view is missing or was changed")


def _shortfalls(store: StoreReader) -> Iterator[Damage]:
    """Yield studies that lack matches, for example in a copy without the write-ahead log."""
    for study, problem in store.shortfalls():
        yield Damage(f"study {study}", problem)


def _references(store: StoreReader) -> Iterator[Damage]:
    for table in schema.metadata.sorted_tables:
        for foreign in table.foreign_keys:
            column, target = foreign.parent, foreign.column
            dangling = nowhere_in(column, sa.select(target))
            for key in store.rows(sa.select(*table.primary_key.columns).where(dangling)):
                problem = f"{column.name} references a missing row of {target.table.name}"
                name = table is matches and _match_name(store, key[0])
                yield Damage(name or _name(table, tuple(key)), problem)


def _memberships(store: StoreReader) -> Iterator[Damage]:
    ids = sa.select(matches.c.id)
    without_study = nowhere_in(matches.c.number, sa.select(members.c.match_number))
    for id_ in store.scalars(ids.where(without_study)):
        yield Damage(f"match {id_}", "the match belongs to no study")
    for table, name in ((calls, "calls"), (schema.judgements, "judgements")):
        for id_ in store.scalars(sa.select(table.c.match_id).except_(ids)):
            if ":" not in id_:  # not a judge's calls, which have ids of their own
                yield Damage(f"match {id_}", f"the store has {name}, but not the match")


def _purchases(store: StoreReader) -> Iterator[Damage]:
    query = (
        sa.select(
            matches.c.id, matches.c.calls, sa.func.coalesce(sa.func.sum(purchases.c.calls), 0)
        )
        .join(purchases, purchases.c.match_number == matches.c.number, isouter=True)
        .where(matches.c.status.in_(SETTLED))
        .group_by(matches.c.id, matches.c.calls)
    )
    for id_, recorded, paid in store.rows(query):
        if recorded != paid:
            problem = f"the record has {recorded} calls, but studies paid for {paid}"
            yield Damage(f"match {id_}", problem)


def _sendings(store: StoreReader) -> Iterator[Damage]:
    count, last = sa.func.count(), sa.func.max(calls.c["try"])
    query = sa.select(*KEY, count, last).group_by(*KEY).having(count != last)
    for id_, request, actor, attempt, recorded, made in store.rows(query):
        yield Damage(
            ledger_place(id_),
            f"call {attempt + 1} of {actor} in request {request} had {made} attempts, but only "
            f"{recorded} are recorded",
        )


def _open_calls(store: StoreReader) -> Iterator[Damage]:
    """Yield calls in the ledger whose actor is not in the match, or whose study is missing."""
    actors_query = sa.select(calls.c.match_id, calls.c.actor).distinct().order_by(calls.c.match_id)
    orphans = sa.select(calls.c.id, calls.c.match_id, calls.c.study_id).where(
        nowhere_in(calls.c.study_id, sa.select(schema.studies.c.id))
    )
    for id_, match_id, study_id in store.rows(orphans):
        location = f"{ledger_place(match_id)}, call {id_}"
        yield Damage(location, f"study_id references study {study_id}, which is missing")
    for chunk in chunks(store.rows(actors_query), AT_ONCE):
        condition = matches.c.id.in_({id_ for id_, _ in chunk})
        try:
            records = {record.id: record for record in store.records(where=condition)}
        except CheaptalkError:  # reported with the matches
            continue
        for id_, actor in chunk:
            if id_ in records and not _has_seat(records[id_], actor):
                problem = f"a call is of {shown(actor)}, which is not an actor of the match"
                yield Damage(f"match {id_}", problem)


def _has_seat(record: MatchRecord, actor: str) -> bool:
    """Return whether an actor belongs to a match, or True if the rules can't determine it."""
    try:
        return actor in record.at
    except CheaptalkError:
        return True


# Matches


def _matches(
    store: StoreReader, numbers: list[int], integrity: Integrity, replies: RepeatedReplies
) -> Iterator[Damage]:
    """Yield the damage in matches; if they can't be read together, read them one at a time."""
    try:
        records = list(store.records(bodies=True, where=matches.c.number.in_(numbers)))
    except CheaptalkError as error:
        if len(numbers) > 1:
            for number in numbers:
                yield from _matches(store, [number], integrity, replies)
            return
        yield Damage(_match_name(store, numbers[0]), _reason(error))
        return
    sent = _sent(store, [record.id for record in records])
    for record in records:
        problems: list[str] = []
        try:
            integrity.repeated.extend(replies.of_match(record) if record.over else ())
            problems.extend(_of_match(record, sent.get(record.id, {}), integrity))
        except (VersionMismatch, UnknownName):
            integrity.other_rules += 1
        except CheaptalkError as error:
            problems.append(_reason(error))
        yield from (Damage(f"match {record.id}", problem) for problem in problems)


CallPlace: TypeAlias = tuple[int, str, int]
"""A request, an actor, and a call's index in the answer."""


def _sent(store: StoreReader, ids: Iterable[str]) -> dict[str, dict[CallPlace, int]]:
    """Return the number of attempts of each call in the ledger, by match."""
    query = sa.select(*KEY, sa.func.count()).where(calls.c.match_id.in_(list(ids))).group_by(*KEY)
    sent: dict[str, dict[CallPlace, int]] = {}
    for id_, *place, count in store.rows(query):
        sent.setdefault(id_, {})[tuple(place)] = count
    return sent


def _of_match(
    record: MatchRecord, sent: Mapping[CallPlace, int], integrity: Integrity
) -> Iterator[str]:
    """Yield the problems of a match; raise VersionMismatch if these rules can't replay it."""
    if not record.over:
        if record.outcome or record.payoffs or "answers" in record.body:
            yield f"the status is {record.status.value}, but the row contains a result"
        return
    yield from _of_identity(record)
    for answer in record.answers:
        for attempt, call in enumerate(answer.calls):
            sent_before = sent.get((answer.request, answer.actor, attempt), 0)
            if sent_before != call["sending"] - 1:
                yield (
                    f"a call of {answer.actor} in request {answer.request} had "
                    f"{counted(call['sending'], 'attempt')}, but {sent_before} of those before the "
                    "last are recorded"
                )
    table = record.replay()
    integrity.replayed += 1
    if not table.over:
        yield "the answers end before the match does"
        return
    replayed = match_end(table, record.body["seed"], record.answers, chat=record.chat)
    for name in ENDED_COLUMNS:
        if name in ("begun", "finished", "body"):
            continue
        recorded, computed = getattr(record, name), text_of(getattr(replayed, name))
        if recorded is not None and text_of(recorded) != computed:
            yield f"{name} is {text_of(recorded)}, but the answers result in {computed}"


def _of_identity(record: MatchRecord) -> Iterator[str]:
    if record.id not in _identities(record):
        yield "the id does not match the game, instance, seed and players"
    if not record.body.get("source") and record.instance_key not in _instance_keys(record):
        yield (
            f"the instance key is {shown(record.instance_key)}, which does not match the recorded "
            "instance"
        )


def _identities(record: MatchRecord) -> set[str]:
    """Return the ids that are consistent with a match's record."""
    body = record.body
    configuration = record.configuration.digest
    players = [identity.written_player_digest(player["spec"]) for player in record.seats.values()]
    instance = text_of(body["instance"])
    source = body.get("source")
    if source:
        answers = [answer.as_json() for answer in record.answers]
        game = source["system"], record.instance_key
        return {identity.imported_match_digest(*game, configuration, instance, answers, players)}
    return {
        identity.match_digest(
            configuration, _instance_seed(record), instance_json, record.repeat, players
        )
        for instance_json in ("", instance)
    }


def _instance_seed(record: MatchRecord) -> str:
    seed: str = record.body["seed"]
    return seed.removesuffix(f"/{record.repeat}") if record.repeat else seed


def _instance_keys(record: MatchRecord) -> set[str]:
    """Return the instance keys that are consistent with a match's record."""
    before, colon, _ = record.instance_key.rpartition(":")
    taken_over = f"{before}{colon}{identity.written_instance_digest(record.body['instance'])}"
    return {_instance_seed(record).rpartition("/")[2], taken_over}
