"""Reading a store: studies, statuses, matches, calls."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from itertools import islice
from pathlib import Path
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import sqlalchemy as sa

from cheaptalk.records.endings import cause, ended_text
from cheaptalk.records.forfeits import Forfeit
from cheaptalk.records.identity import Configuration
from cheaptalk.records.record import SETTLED, MatchRecord, Status
from cheaptalk.records.shapes import DamagedValue
from cheaptalk.records.store import schema
from cheaptalk.records.store.backend import Backend, StoreError
from cheaptalk.rules import suggest
from cheaptalk.rules.display import brief

AT_ONCE = 10_000
"""Matches that are looked up by their ids together."""
T = TypeVar("T")
S = TypeVar("S", bound="StoreReader")
P = ParamSpec("P")
NUMBERS = [one for one in schema.matches.c if isinstance(one.type, sa.Integer | sa.Float)]
"""Columns of numbers in the table of matches, which nothing has looked at when they are read."""
COLUMNS = [
    *NUMBERS,
    *(one for one in schema.matches.c if one not in (*NUMBERS, schema.matches.c.body)),
    schema.matches.c.body,
]
"""All columns of the table of matches, the body last."""
NAMES = [one.name for one in COLUMNS]
NUMERIC = {int, float, type(None)}
STATUS = {status.value: status for status in Status}
NEEDED: dict[Status, tuple[str, ...]] = {
    Status.FINISHED: ("kinds", "outcome", "payoffs"),
    **{status: ("kinds",) for status in SETTLED if status is not Status.FINISHED},
}
"""What matches of a status have."""


def patient(read: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Have a function that reads a store do so once more where its server was away meanwhile."""

    @wraps(read)
    def patiently(store: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return store.backend.patiently(lambda: read(store, *args, **kwargs))

    return patiently


def chunks(items: Iterable[T], size: int = AT_ONCE) -> Iterator[list[T]]:
    """Things in lists of so many, the last one shorter.

    >>> list(chunks("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    waiting = iter(items)
    return iter(lambda: list(islice(waiting, size)), [])


class StudySummary(NamedTuple):
    """A study in the store, with how many of its matches are of each status.

    ``package`` is the version that last registered it; ``halted`` says why its last run stopped
    before its end, if it did; ``set_aside`` are matches of earlier forms of it, not counted;
    ``planned`` are the matches of its plan, None where it was imported or no run has counted them.
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
        return brief(
            self, f"{self.name}, {', '.join(f'{n:,} {one}' for one, n in self.counts.items())}"
        )

    @property
    def done(self) -> int:
        """How many of its matches have ended and are not played again."""
        return sum(self.counts.get(status, 0) for status in SETTLED)

    def how_far(self, planned: int | None) -> str:
        """How many matches have ended, and how."""
        forfeited, failed = (
            self.counts.get(status, 0) for status in (Status.FORFEITED, Status.FAILED)
        )
        return ended_text(self.done, planned, forfeited=forfeited, failed=failed)


SHORTFALL = (
    "it has {stored:,} of the {expected:,} matches that its last run was to leave, and that run "
    "noted no end: either this is a copy made during the run or without the store's -wal file "
    "(copy the store again with: cheaptalk copy), or the run was killed (resume it)"
)


class StoreReader:
    """What can be read of a store. Any number of processes may read while one writes."""

    backend: Backend

    @property
    def name(self) -> str:
        """What people know the store by: a path, or a URL without its password."""
        return self.backend.name

    @property
    def title(self) -> str:
        """Its name, but for the folder of a file."""
        return self.name if "://" in self.name else Path(self.name).name

    @property
    def path(self) -> Path:
        """The store's file.

        Raises:
            StoreError: the store is no file.
        """
        path = getattr(self.backend, "path", None)
        if not isinstance(path, Path):
            raise StoreError(f"{self.name} is no file")
        return path

    @property
    def engine(self) -> sa.Engine:
        """How SQLAlchemy reaches the database."""
        return self.backend.engine

    def held(self) -> bool:
        """Whether somebody writes to the store; who was killed does not any more."""
        return self.backend.held()

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A connection to read from; database errors come as sentences."""
        with self.backend.explaining(), self.backend.engine.connect() as connection:
            yield connection

    def empty(self) -> bool:
        """Whether no match is stored."""
        with self.reading() as connection:
            return connection.execute(sa.select(schema.matches.c.number).limit(1)).first() is None

    def statuses(self, ids: Iterable[str]) -> dict[str, Status]:
        """The status of those of these matches that are in the store."""
        query = sa.select(schema.matches.c.id, schema.matches.c.status)
        return {id_: Status(status) for id_, status in self._among(ids, query)}

    def kinds(self, ids: Iterable[str]) -> dict[str, dict[str, dict[str, int]]]:
        """Answers by place and kind, of those of these matches that ended in play."""
        matches = schema.matches
        query = sa.select(matches.c.id, matches.c.kinds).where(matches.c.status.in_(SETTLED))
        return {id_: kinds or {} for id_, kinds in self._among(ids, query)}

    def configurations(self, study: str) -> set[str]:
        """Digests of the games that a study's matches are of, with parameters and version."""
        matches, known = schema.matches, schema.configurations
        used = sa.select(matches.c.configuration_id).where(matches.c.number.in_(members_of(study)))
        with self.reading() as connection:
            return set(connection.scalars(sa.select(known.c.digest).where(known.c.id.in_(used))))

    def count_members(self, study: str, ids: Iterable[str] | None = None) -> int:
        """How many matches a study has, or has of these."""
        ours = schema.matches.c.number.in_(members_of(study))
        if ids is not None:
            query = sa.select(schema.matches.c.id).where(ours)
            return sum(1 for _ in self._among(ids, query))
        with self.reading() as connection:
            return connection.scalar(sa.select(sa.func.count()).where(ours)) or 0

    def _among(self, ids: Iterable[str], query: sa.Select[Any]) -> Iterator[Any]:
        """The rows of a query on matches that are of these."""
        with self.reading() as connection:
            for some in chunks(ids):
                yield from connection.execute(query.where(schema.matches.c.id.in_(some)))

    def studies(self, *, counted: bool = True) -> list[StudySummary]:
        """All studies in the order they were begun.

        Args:
            counted: with their matches counted by status, which takes a look at all of them.
        """
        with self.reading() as connection:
            rows = connection.execute(sa.select(schema.studies).order_by(schema.studies.c.id)).all()
            counts, aside = _counts(connection) if counted else ({}, Counter[int]())
        return [
            StudySummary(
                r.name,
                r.spec,
                r.package,
                r.created,
                +counts.get(r.id, Counter[str]()),
                r.halted,
                aside[r.id],
                r.planned,
            )
            for r in rows
        ]

    def study(self, name: str, *, counted: bool = True) -> StudySummary:
        """A study by name; see :meth:`studies`.

        Raises:
            StoreError: there is none of that name.
        """
        found = {summary.name: summary for summary in self.studies(counted=counted)}
        if name not in found:
            raise StoreError(f"no study {suggest(name, list(found))} in {self.name}")
        return found[name]

    def records(
        self,
        study: str | None = None,
        *,
        bodies: bool = False,
        where: Any = None,
        past: bool = False,
        games: Collection[str] | None = None,
        order: Any = None,
    ) -> Iterator[MatchRecord]:
        """Matches of a study (or all), in the order of storing, read in pages.

        Args:
            bodies: also read seeds, deals and answers.
            games: only those of games of these names.
            past: also those of earlier forms of the study, which are set aside.
            where: a further condition on the matches table.
            order: what to sort by, before the order of storing.
        """
        matches, configurations = schema.matches, schema.configurations
        query = sa.select(*(COLUMNS if bodies else COLUMNS[:-1])).outerjoin(
            configurations, configurations.c.id == matches.c.configuration_id
        ).order_by(*([] if order is None else [order]), matches.c.number)  # fmt: skip
        if study is not None:
            query = query.where(matches.c.number.in_(members_of(study, past=past)))
        if games is not None:
            query = query.where(configurations.c.game.in_(games))
        if where is not None:
            query = query.where(where)
        with self.reading() as connection:
            people = people_of(connection, study)
            made: dict[int, Configuration] = {}
            with connection.execute(query.execution_options(yield_per=1000)) as found:
                for rows in found.partitions():
                    _make_known(made, {row.configuration_id for row in rows}, connection)
                    for row in rows:
                        yield _record(row, people, made, bodies=bodies)

    def find(self, prefix: str) -> MatchRecord:
        """The one match whose id begins so.

        Raises:
            StoreError: no match does, or several do.
        """
        where = schema.matches.c.id.startswith(prefix, autoescape=True)
        found = list(islice(self.records(bodies=True, where=where), 2))
        if len(found) == 2:
            raise StoreError(f'several matches begin with "{prefix}"; give more of the id')
        if not found:
            raise StoreError(f'no match begins with "{prefix}" in {self.name}')
        return found[0]

    def study_id(self, name: str) -> int:
        """The number of a study, by which rows name it; 0 where there is none."""
        with self.reading() as connection:
            return connection.scalar(sa.select(study_number(name))) or 0

    def problems(self, study: str) -> dict[str, int]:
        """Why matches of a study failed or were forfeited, and how many did for each reason.

        Reasons of calls that failed are grouped, whichever request of the match it was.

        A forfeit names the player, the place and the kind of answer; the others at the table have
        nothing to do with it.
        """
        table = schema.matches
        query = (
            sa.select(table.c.reason, sa.func.count())
            .where(table.c.number.in_(members_of(study)), table.c.reason.is_not(None))
            .where(schema.UNFINISHED, table.c.status != Status.FORFEITED.value)
            .group_by(table.c.reason)
        )
        ended = sa.select(table.c.number).where(
            table.c.number.in_(members_of(study)), table.c.status == Status.FINISHED.value
        ).limit(1)  # fmt: skip
        with self.reading() as connection:
            counted: dict[str, int] = dict(connection.execute(query).all())
            reached = connection.execute(ended).first() is not None
        found = Counter[str]()
        for reason, count in counted.items():
            found[cause(reason, reached=reached)] += count
        for record in self._forfeited(study):
            blame = [f"{record.game}, {one}" for one in record.forfeits]
            found.update(blame or [record.reason or record.status.value])
        return dict(found.most_common())

    def forfeits(self, study: str) -> dict[tuple[str, Forfeit], int]:
        """Who forfeited matches of a study, with the game, and how many; the most first."""
        found = Counter(
            (record.game, one) for record in self._forfeited(study) for one in record.forfeits
        )
        return dict(found.most_common())

    def _forfeited(self, study: str) -> Iterator[MatchRecord]:
        forfeited = schema.matches.c.status == Status.FORFEITED.value
        return self.records(study, where=sa.and_(schema.UNFINISHED, forfeited))

    def check(self) -> str | None:
        """What is wrong with the database, or None if it is sound."""
        damage = self.backend.damage()
        return damage and f"{self.name} is damaged ({damage}); restore a copy of it"

    def shortfalls(self) -> list[tuple[str, str]]:
        """Studies with fewer matches than the store notes that they have, and the reason.

        A store that is being written to has none: its run is about to add them.
        """
        studies, members = schema.studies, schema.members
        stored = sa.select(sa.func.count()).where(members.c.study_id == studies.c.id)
        count = stored.scalar_subquery()
        query = sa.select(studies.c.name, count, studies.c.expected).where(
            studies.c.expected > count
        )
        with self.reading() as connection:
            short = connection.execute(query).all()
        if not short or self.backend.held():
            return []
        return [
            (
                name,
                SHORTFALL.format(stored=stored, expected=expected),
            )
            for name, stored, expected in short
        ]

    def open_calls(self, match_id: str) -> list[dict[str, Any]]:
        """The calls of a match that are no part of its record: live, failed or unresolved ones."""
        return self._calls(schema.calls.c.match_id == match_id)

    def unresolved(self) -> list[dict[str, Any]]:
        """Calls that were sent and whose reply never came to the record; see :meth:`lost`."""
        return self._calls(self.lost())

    def lost(self) -> sa.ColumnElement[bool]:
        """Calls of which nobody knows what came, as a condition on their table.

        Until a run marks them as ``unresolved``, those that were in flight at a kill are ``sent``,
        as are those of a run that is alive; while nobody writes to the store, there is none.
        """
        marked = schema.calls.c.state == "unresolved"
        with self.reading() as connection:
            waiting = connection.execute(sa.select(schema.calls.c.id).where(in_flight()).limit(1))
            if waiting.first() is None:
                return marked
        return marked if self.held() else marked | in_flight()

    def with_open_calls(self) -> set[str]:
        """The matches that the ledger holds calls of."""
        with self.reading() as connection:
            return set(connection.scalars(sa.select(schema.calls.c.match_id).distinct()))

    def _calls(self, where: Any) -> list[dict[str, Any]]:
        calls, studies = schema.calls, schema.studies
        columns = [column for column in calls.c if column.name != "study_id"]
        query = (
            sa.select(*columns, studies.c.name.label("bought_by"))
            .join(studies, studies.c.id == calls.c.study_id, isouter=True)
            .where(where)
            .order_by(calls.c.id)
        )
        with self.reading() as connection:
            return [dict(row) for row in connection.execute(query).mappings()]


def in_flight() -> sa.ColumnElement[bool]:
    """Calls whose reply is waited for, but for those that a provider's batch still holds."""
    calls, batches = schema.calls, schema.batches
    held = sa.select(batches.c.id).where(batches.c.state != "collected")
    return sa.and_(calls.c.state == "sent", calls.c.batch.not_in(held) | calls.c.batch.is_(None))


def study_number(study: str) -> sa.ScalarSelect[Any]:
    """A query for the number of a study, by which rows name it."""
    return sa.select(schema.studies.c.id).where(schema.studies.c.name == study).scalar_subquery()


def members_of(study: str, *, past: bool = False) -> Any:
    """A query for the numbers of a study's matches, of those set aside only if asked for."""
    members = schema.members
    query = sa.select(members.c.match_number).where(members.c.study_id == study_number(study))
    return query if past else query.where(members.c.current)


def nowhere_in(column: sa.ColumnElement[Any], there: sa.Select[Any]) -> sa.ColumnElement[bool]:
    """Rows whose value, if they have one, no row of a query has.

    ``NOT IN`` would have PostgreSQL go through the query for each row, where it finds many.
    """
    return column.in_(sa.select(column).except_(there))


def people_of(connection: sa.Connection, study: str | None) -> dict[int, dict[str, Any]]:
    """Players by id, under the labels of a study (or of the last study that names them)."""
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


def seated_player(people: Mapping[int, dict[str, Any]], number: int) -> dict[str, Any]:
    """The player of this number, of those that :func:`people_of` finds.

    Raises:
        DamagedValue: there is none.
    """
    if number not in people:
        raise DamagedValue(f"a match is seated with player {number}, who is not in the store")
    return people[number]


def specs_of(store: StoreReader, study: str) -> dict[str, list[dict[str, Any]]]:
    """What a study calls its players, with the settings that make each, one for each game."""
    found: dict[str, list[dict[str, Any]]] = {}
    with store.reading() as connection:
        for player in people_of(connection, study).values():
            found.setdefault(player["label"], []).append(player["spec"])
    return found


def _make_known(
    made: dict[int, Configuration], wanted: Collection[int], connection: sa.Connection
) -> None:
    """Read those of the configurations with these numbers that are not known yet."""
    known = schema.configurations
    query = sa.select(known.c.id, known.c.game, known.c.version, known.c.parameters)
    for some in chunks(set(wanted).difference(made)):
        for id_, *of in connection.execute(query.where(known.c.id.in_(some))):
            made[id_] = Configuration(*of)


def _record(
    row: Any,
    people: Mapping[int, dict[str, Any]],
    configurations: Mapping[int, Configuration],
    *,
    bodies: bool,
) -> MatchRecord:
    """A row as a record.

    Raises:
        DamagedValue: it lacks what a match of its status has, or names what is not in the store.
    """
    of: dict[str, Any] = dict(zip(NAMES, row, strict=False))
    status = STATUS[of["status"]]
    needed = [*NEEDED.get(status, ()), *(["body"] if bodies and status in SETTLED else [])]
    if of["configuration_id"] not in configurations:
        raise DamagedValue(f"match {of['id']} has no game")
    for name in needed:
        if of[name] is None:
            raise DamagedValue(f"match {of['id']} has no {name}")
    if not NUMERIC.issuperset(map(type, row[: len(NUMBERS)])):
        strange = next(one.name for one in NUMBERS if type(of[one.name]) not in NUMERIC)
        raise DamagedValue(f"{strange} of match {of['id']} is no number")
    return MatchRecord(
        of["id"], configurations[of["configuration_id"]], of["deal"], of["repeat"],
        {place: seated_player(people, player) for place, player in of["seats"].items()},
        status, of["reason"], of["outcome"], of["payoffs"], of["kinds"] or {},
        of["calls"], of["input_tokens"], of["output_tokens"], of["finished"],
        of.get("body"), of["cached_tokens"], of["reasoning_tokens"], of["dollars"],
        of["unpriced"], of["uncounted"], of["implausible"], of["begun"], unread=not bodies,
    )  # fmt: skip


def _counts(connection: sa.Connection) -> tuple[dict[int, Counter[str]], Counter[int]]:
    """The matches of studies by status, and how many of each are set aside."""
    members, matches = schema.members, schema.matches
    by = members.c.study_id, members.c.current
    every = sa.select(*by, sa.func.count()).group_by(*by)
    unfinished = (
        sa.select(*by, matches.c.status, sa.func.count())
        .join(matches, matches.c.number == members.c.match_number)
        .where(schema.UNFINISHED)
        .group_by(*by, matches.c.status)
    )
    counts: dict[int, Counter[str]] = {}
    aside: Counter[int] = Counter()
    for study, current, count in connection.execute(every):
        if current:
            counts[study] = Counter({Status.FINISHED.value: count})
        else:
            aside[study] = count
    for study, current, status, count in connection.execute(unfinished):
        if current:
            counts[study] += Counter({status: count})
            counts[study][Status.FINISHED.value] -= count
    return counts, aside
