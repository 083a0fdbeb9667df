"""Read operations of a store: studies, statuses, matches, calls."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import wraps
from itertools import islice
from pathlib import Path
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import sqlalchemy as sa

from cheaptalk.records.descriptions import Forfeit, cause, ended_text
from cheaptalk.records.identity import Configuration
from cheaptalk.records.record import SETTLED, MatchRecord, Status
from cheaptalk.records.store import schema
from cheaptalk.records.store.backend import Backend, StoreError
from cheaptalk.records.validation import DamagedValue
from cheaptalk.rules import suggest
from cheaptalk.rules.display import brief

AT_ONCE = 10_000
"""Number of matches per lookup by id."""
T = TypeVar("T")
S = TypeVar("S", bound="StoreReader")
P = ParamSpec("P")
NUMBERS = [column for column in schema.matches.c if isinstance(column.type, sa.Integer | sa.Float)]
"""Numeric columns of the table of matches, which are not validated by their type."""
COLUMNS = [
    *NUMBERS,
    *(column for column in schema.matches.c if column not in (*NUMBERS, schema.matches.c.body)),
    schema.matches.c.body,
]
"""All columns of the table of matches; the body is last."""
NAMES = [column.name for column in COLUMNS]
SAME = [
    field.name
    for field in fields(MatchRecord)
    if field.name in {*NAMES} - {"status", "kinds", "seats"}
]
"""Columns of the table of matches that records contain unchanged."""
NUMERIC = {int, float, type(None)}
STATUS = {status.value: status for status in Status}
NEEDED: dict[Status, tuple[str, ...]] = {
    Status.FINISHED: ("kinds", "outcome", "payoffs"),
    **{status: ("kinds",) for status in SETTLED if status is not Status.FINISHED},
}
"""Required columns by status."""


def patient(read: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Decorate a function that reads a store to retry it while the server is unavailable."""

    @wraps(read)
    def patiently(store: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return store.backend.patiently(lambda: read(store, *args, **kwargs))

    return patiently


def chunks(items: Iterable[T], size: int = AT_ONCE) -> Iterator[list[T]]:
    """Split items into lists of a given size; the last list may be shorter.

    >>> list(chunks("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    waiting = iter(items)
    return iter(lambda: list(islice(waiting, size)), [])


class StudySummary(NamedTuple):
    """A study in the store, with its matches counted by status.

    Attributes:
        package: the version of cheaptalk that last registered the study.
        counts: matches by status, without superseded matches.
        halted: why the last run stopped early; None if it did not.
        set_aside: the number of superseded matches.
        planned: the number of planned matches; None if imported or never run.
    """

    name: str
    spec: dict[str, Any]
    package: str
    created: float
    counts: dict[str, int]
    halted: str | None = None
    set_aside: int = 0
    planned: int | None = None

    def __repr__(self) -> str:
        counts = (f"{count:,} {status}" for status, count in self.counts.items())
        return brief(self, f"{self.name}, {', '.join(counts)}")

    @property
    def done(self) -> int:
        """Number of finished and forfeited matches."""
        return sum(self.counts.get(status, 0) for status in SETTLED)

    @property
    def how_far(self) -> str:
        """The number of ended matches and their outcomes, as text."""
        counts = Counter(self.counts)
        forfeited, failed = counts[Status.FORFEITED], counts[Status.FAILED]
        return ended_text(self.done, self.planned, forfeited=forfeited, failed=failed)


SHORTFALL = (
    "the study contains {stored:,} of {expected:,} matches that its last run should add, and this "
    "run did not end: either this is a copy made during the run or without the store's -wal file "
    "(copy the store again with: cheaptalk store copy), or the run was killed (resume it)"
)


class StoreReader:
    """The read operations of a store. Any number of processes may read while one writes."""

    backend: Backend

    @property
    def name(self) -> str:
        """The displayed name: a path, or a URL without its password."""
        return self.backend.name

    @property
    def title(self) -> str:
        """The displayed name; for a file, its name without the folder."""
        return self.name if "://" in self.name else Path(self.name).name

    @property
    def path(self) -> Path:
        """The store's file; raises StoreError if the store is not a file."""
        path = getattr(self.backend, "path", None)
        if not isinstance(path, Path):
            raise StoreError(f"{self.name} is not a file")
        return path

    @property
    def engine(self) -> sa.Engine:
        return self.backend.engine

    def held(self) -> bool:
        """Return whether a live process is writing to the store."""
        return self.backend.held()

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Yield a connection for reading; database errors become :class:`StoreError`."""
        with self.backend.explaining(), self.backend.engine.connect() as connection:
            yield connection

    def rows(self, query: sa.Executable) -> Sequence[Any]:
        """Return all rows of a query."""
        with self.reading() as connection:
            return connection.execute(query).all()

    def scalars(self, query: sa.Executable) -> Sequence[Any]:
        """Return the first column of all rows of a query."""
        with self.reading() as connection:
            return connection.scalars(query).all()

    def scalar(self, query: sa.Executable) -> Any:
        """Return the first value of a query's first row; None if there is no row."""
        with self.reading() as connection:
            return connection.scalar(query)

    def empty(self) -> bool:
        return self.scalar(sa.select(schema.matches.c.number).limit(1)) is None

    def statuses(self, ids: Iterable[str]) -> dict[str, Status]:
        """Return the statuses of the given matches, omitting matches that are not in the store."""
        query = sa.select(schema.matches.c.id, schema.matches.c.status)
        return {id_: Status(status) for id_, status in self._among(ids, query)}

    def kinds(self, ids: Iterable[str]) -> dict[str, dict[str, dict[str, int]]]:
        """Count answers by seat and kind for each given match that is finished or forfeited."""
        matches = schema.matches
        query = sa.select(matches.c.id, matches.c.kinds).where(matches.c.status.in_(SETTLED))
        return {id_: kinds or {} for id_, kinds in self._among(ids, query)}

    def configurations(self, study: str) -> set[str]:
        matches, table = schema.matches, schema.configurations
        ids = sa.select(matches.c.configuration_id).where(matches.c.number.in_(members_of(study)))
        return set(self.scalars(sa.select(table.c.digest).where(table.c.id.in_(ids))))

    def count_members(self, study: str, ids: Iterable[str] | None = None) -> int:
        """Count a study's matches, optionally only those with the given ids."""
        is_member = schema.matches.c.number.in_(members_of(study))
        if ids is not None:
            query = sa.select(schema.matches.c.id).where(is_member)
            return sum(1 for _ in self._among(ids, query))
        return self.scalar(sa.select(sa.func.count()).where(is_member)) or 0

    def with_people(self, study: str) -> frozenset[str]:
        """Return the ids of a study's matches in which a person has a seat."""
        query = sa.select(schema.matches.c.id).where(schema.matches.c.number.in_(members_of(study)))
        with self.reading() as connection:
            return frozenset(connection.scalars(query.where(seats_people(connection, study))))

    def _among(self, ids: Iterable[str], query: sa.Select[Any]) -> Iterator[Any]:
        with self.reading() as connection:
            for chunk in chunks(ids):
                yield from connection.execute(query.where(schema.matches.c.id.in_(chunk)))

    def studies(self, *, counted: bool = True) -> list[StudySummary]:
        """Return all studies in the order of creation.

        Args:
            counted: count matches by status, which reads all of them.
        """
        with self.reading() as connection:
            rows = connection.execute(sa.select(schema.studies).order_by(schema.studies.c.id)).all()
            counts, superseded = _counts(connection) if counted else ({}, Counter[int]())
        return [
            StudySummary(
                row.name,
                row.spec,
                row.package,
                row.created,
                +counts.get(row.id, Counter[str]()),
                row.halted,
                superseded[row.id],
                row.planned,
            )
            for row in rows
        ]

    def study(self, name: str, *, counted: bool = True) -> StudySummary:
        """Return the summary of a study, given its name.

        Raises:
            StoreError: there is no study with this name.
        """
        summaries = {summary.name: summary for summary in self.studies(counted=counted)}
        if name not in summaries:
            raise StoreError(f"no study {suggest(name, list(summaries))} in {self.name}")
        return summaries[name]

    def records(
        self,
        study: str | None = None,
        *,
        bodies: bool = False,
        where: Any = None,
        past: bool = False,
        part: range | None = None,
        games: Collection[str] | None = None,
        order: Any = None,
    ) -> Iterator[MatchRecord]:
        """Yield the matches of a study or of the whole store, in storage order, read in pages.

        Args:
            bodies: also read seeds, instances and answers.
            where: a further condition on the matches table.
            past: include superseded matches.
            part: restrict to match numbers in this range; this requires a study.
            games: restrict to games with these names.
            order: a column to sort by, before the order of storing.
        """
        matches, configurations = schema.matches, schema.configurations
        query = (
            sa.select(*(COLUMNS if bodies else COLUMNS[:-1]))
            .outerjoin(configurations, configurations.c.id == matches.c.configuration_id)
            .order_by(*([] if order is None else [order]), matches.c.number)
        )
        if study is not None:
            query = query.where(matches.c.number.in_(members_of(study, part, past=past)))
        if games is not None:
            query = query.where(configurations.c.game.in_(games))
        if where is not None:
            query = query.where(where)
        with self.reading() as connection:
            people = people_of(connection, study)
            known: dict[int, Configuration] = {}
            with connection.execute(query.execution_options(yield_per=1000)) as result:
                for rows in result.partitions():
                    load_configurations(known, {row.configuration_id for row in rows}, connection)
                    for row in rows:
                        yield _record(row, people, known, bodies=bodies)

    def find(self, prefix: str) -> MatchRecord:
        """Return the match whose id begins with a prefix.

        Raises:
            StoreError: no match or several matches have this prefix.
        """
        where = schema.matches.c.id.startswith(prefix, autoescape=True)
        records = list(islice(self.records(bodies=True, where=where), 2))
        if len(records) == 2:
            raise StoreError(f'several match ids begin with "{prefix}"; give more characters')
        if not records:
            raise StoreError(f'no match id begins with "{prefix}" in {self.name}')
        return records[0]

    def study_id(self, name: str) -> int:
        """Return the database id of a study; 0 if the study does not exist."""
        return self.scalar(sa.select(study_number(name))) or 0

    def problems(self, study: str) -> dict[str, int]:
        """Return why matches of a study failed or were forfeited, with counts.

        Reasons of failed calls are grouped across requests. A forfeit names only the responsible
        player, its seat and the kind of answer.
        """
        table = schema.matches
        query = (
            sa.select(table.c.reason, sa.func.count())
            .where(table.c.number.in_(members_of(study)), table.c.reason.is_not(None))
            .where(schema.UNFINISHED, table.c.status != Status.FORFEITED.value)
            .group_by(table.c.reason)
        )
        ended = (
            sa.select(table.c.number)
            .where(table.c.number.in_(members_of(study)), table.c.status == Status.FINISHED.value)
            .limit(1)
        )
        reached = self.scalar(ended) is not None
        causes = Counter[str]()
        for reason, count in self.rows(query):
            causes[cause(reason, reached=reached)] += count
        for record in self._forfeited(study):
            forfeits = [f"{record.game}, {forfeit}" for forfeit in record.forfeits]
            causes.update(forfeits or [record.reason or record.status.value])
        return dict(causes.most_common())

    def forfeits(self, study: str) -> dict[tuple[str, Forfeit], int]:
        """Return the forfeits in a study with their games and counts, most frequent first."""
        counts = Counter(
            (record.game, forfeit)
            for record in self._forfeited(study)
            for forfeit in record.forfeits
        )
        return dict(counts.most_common())

    def _forfeited(self, study: str) -> Iterator[MatchRecord]:
        forfeited = schema.matches.c.status == Status.FORFEITED.value
        return self.records(study, where=sa.and_(schema.UNFINISHED, forfeited))

    def check(self) -> str | None:
        """Return a description of the damage to the database; None if it is intact."""
        damage = self.backend.damage()
        return damage and f"{self.name} is damaged ({damage}); restore a copy of it"

    def shortfalls(self) -> list[tuple[str, str]]:
        """Return studies with fewer matches than expected, each with the reason.

        The result is empty while a run is writing to the store.
        """
        studies, members = schema.studies.c, schema.members.c
        stored = sa.select(sa.func.count()).where(members.study_id == studies.id)
        count = stored.scalar_subquery()
        query = sa.select(studies.name, count, studies.expected).where(studies.expected > count)
        rows = self.rows(query)
        if not rows or self.backend.held():
            return []
        return [
            (name, SHORTFALL.format(stored=stored, expected=expected))
            for name, stored, expected in rows
        ]

    def open_calls(self, match_id: str) -> list[dict[str, Any]]:
        """Return the calls of a match that are in the ledger but not in the match's record."""
        return self._calls(schema.calls.c.match_id == match_id)

    def unresolved(self) -> list[dict[str, Any]]:
        """Return all calls whose outcome is unknown."""
        return self._calls(self.lost())

    def lost(self) -> sa.ColumnElement[bool]:
        """Return the SQL condition for calls with an unknown outcome.

        Calls in flight when a run was killed remain ``sent`` until a later run marks them as
        ``unresolved``. Calls of a live run are also ``sent``, so ``sent`` calls are lost only while
        no process is writing.
        """
        marked = schema.calls.c.state == "unresolved"
        waiting = self.scalar(sa.select(schema.calls.c.id).where(in_flight()).limit(1))
        return marked if waiting is None or self.held() else marked | in_flight()

    def with_open_calls(self) -> set[str]:
        """Return the ids of matches that have calls in the ledger."""
        return set(self.scalars(sa.select(schema.calls.c.match_id).distinct()))

    def _calls(self, where: Any) -> list[dict[str, Any]]:
        calls, studies = schema.calls, schema.studies
        columns = [column for column in calls.c if column.name != "study_id"]
        query = (
            sa.select(*columns, studies.c.name.label("bought_by"))
            .join(studies, studies.c.id == calls.c.study_id, isouter=True)
            .where(where)
            .order_by(calls.c.id)
        )
        return [dict(row._mapping) for row in self.rows(query)]


def in_flight() -> sa.ColumnElement[bool]:
    """Return the SQL condition for calls in flight, except those in an open provider batch."""
    calls, batches = schema.calls, schema.batches
    uncollected = sa.select(batches.c.id).where(batches.c.state != "collected")
    return sa.and_(
        calls.c.state == "sent", calls.c.batch.not_in(uncollected) | calls.c.batch.is_(None)
    )


def study_number(study: str) -> sa.ScalarSelect[Any]:
    """Return a subquery for the database id of a study."""
    return sa.select(schema.studies.c.id).where(schema.studies.c.name == study).scalar_subquery()


def members_of(study: str, part: range | None = None, *, past: bool = False) -> Any:
    """Return a query for a study's match numbers, optionally including superseded matches.

    ``part`` restricts them to a range, without reading the study's other numbers.
    """
    members = schema.members
    query = sa.select(members.c.match_number).where(members.c.study_id == study_number(study))
    if part is not None:
        query = query.where(members.c.match_number.between(part.start, part.stop - 1))
    return query if past else query.where(members.c.current)


def nowhere_in(column: sa.ColumnElement[Any], query: sa.Select[Any]) -> sa.ColumnElement[bool]:
    """Return the SQL condition that a value is neither null nor in a query's results.

    PostgreSQL would execute a ``NOT IN`` query for each row.
    """
    return column.in_(sa.select(column).except_(query))


def people_of(connection: sa.Connection, study: str | None) -> dict[int, dict[str, Any]]:
    """Return players by id, labelled as in the given study or, if it is None, in the latest one."""
    players, rosters, studies = schema.players, schema.rosters, schema.studies
    query = (
        sa.select(players.c.id, players.c.spec, rosters.c.label)
        .join(rosters, rosters.c.player_id == players.c.id)
        .join(studies, studies.c.id == rosters.c.study_id)
        .order_by(studies.c.id)
    )
    if study is not None:
        query = query.where(studies.c.name == study)
    return {id_: {"label": label, "spec": spec} for id_, spec, label in connection.execute(query)}


def seats_people(connection: sa.Connection, study: str) -> sa.ColumnElement[bool]:
    """Return the SQL condition that a person has a seat in a match of the study."""
    persons = {
        id_ for id_, row in people_of(connection, study).items() if row["spec"].get("person")
    }
    if not persons:
        return sa.false()
    in_study = schema.matches.c.number.in_(members_of(study, past=True))
    seatings = connection.scalars(sa.select(schema.SEATS_TEXT).distinct().where(in_study))
    return schema.SEATS_TEXT.in_(
        [text for text in seatings if persons.intersection(schema.SEATS.read(text).values())]
    )


def seated_player(people: Mapping[int, dict[str, Any]], number: int) -> dict[str, Any]:
    """Return the player with the given id; raise DamagedValue if there is none."""
    if number not in people:
        raise DamagedValue(f"a match refers to player {number}, who is not in the store")
    return people[number]


def specs_of(store: StoreReader, study: str) -> dict[str, list[dict[str, Any]]]:
    """Return the settings of a study's players by label, one entry for each game."""
    specs: dict[str, list[dict[str, Any]]] = {}
    with store.reading() as connection:
        for player in people_of(connection, study).values():
            specs.setdefault(player["label"], []).append(player["spec"])
    return specs


def load_configurations(
    by_id: dict[int, Configuration], ids: Collection[int], connection: sa.Connection
) -> None:
    """Load the configurations with the given ids into ``by_id``, except those already loaded."""
    table = schema.configurations.c
    query = sa.select(table.id, table.game, table.version, table.parameters)
    for chunk in chunks(set(ids).difference(by_id)):
        for id_, *values in connection.execute(query.where(table.id.in_(chunk))):
            by_id[id_] = Configuration(*values)


def _record(
    row: Any,
    people: Mapping[int, dict[str, Any]],
    configurations: Mapping[int, Configuration],
    *,
    bodies: bool,
) -> MatchRecord:
    """Convert a database row to a match record; raise DamagedValue if required data is missing."""
    values: dict[str, Any] = dict(zip(NAMES, row, strict=False))
    status = STATUS[values["status"]]
    required = [*NEEDED.get(status, ()), *(["body"] if bodies and status in SETTLED else [])]
    if values["configuration_id"] not in configurations:
        raise DamagedValue(f"match {values['id']} has no game")
    for name in required:
        if values[name] is None:
            raise DamagedValue(f"match {values['id']} has no {name}")
    if not NUMERIC.issuperset(map(type, row[: len(NUMBERS)])):
        invalid = next(c.name for c in NUMBERS if type(values[c.name]) not in NUMERIC)
        raise DamagedValue(f"{invalid} of match {values['id']} is not a number")
    return MatchRecord(
        configuration=configurations[values.pop("configuration_id")],
        instance_key=values.pop("instance"),
        seats={seat: seated_player(people, player) for seat, player in values.pop("seats").items()},
        status=status,
        kinds=values.pop("kinds") or {},
        packed=values.pop("body", None),
        unread=not bodies,
        **{name: values[name] for name in SAME},
    )


def _counts(connection: sa.Connection) -> tuple[dict[int, Counter[str]], Counter[int]]:
    """Count each study's current matches by status, and its superseded matches."""
    members, matches = schema.members, schema.matches
    key = members.c.study_id, members.c.current
    query = sa.select(*key, sa.func.count()).group_by(*key)
    unfinished = (
        sa.select(*key, matches.c.status, sa.func.count())
        .join(matches, matches.c.number == members.c.match_number)
        .where(schema.UNFINISHED)
        .group_by(*key, matches.c.status)
    )
    counts: dict[int, Counter[str]] = {}
    superseded: Counter[int] = Counter()
    for study, current, count in connection.execute(query):
        if current:
            counts[study] = Counter({Status.FINISHED.value: count})
        else:
            superseded[study] = count
    for study, current, status, count in connection.execute(unfinished):
        if current:
            counts[study] += Counter({status: count})
            counts[study][Status.FINISHED.value] -= count
    return counts, superseded
