"""The store: one SQLite file with everything that was planned, asked, answered and played.

Which of the matches in a store a study consists of.

A study that is changed and run again consists of other matches. Those that it no longer plans are
set aside: they stay in the store and its exports, and no report counts them.

Why a study's last run stopped before its end, kept for whoever looks at the store later.
"""

import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa
from filelock import FileLock, Timeout
from sqlalchemy.dialects.sqlite import insert

from cheaptalk import __version__
from cheaptalk.records.encoding import data_of, text_of
from cheaptalk.records.record import Ended, Status
from cheaptalk.records.store import schema
from cheaptalk.records.store.backend import HELD, StoreError, address, clear_errors, is_writable
from cheaptalk.records.store.reader import StoreReader, members_of

NEWEST = schema.REVISION
MIGRATION_WAIT = 10.0
"""Seconds to wait for another process that is making or migrating the store."""


class NewMatch(NamedTuple):
    """A match to be stored: what defines it, and how it ended."""

    id: str
    configuration_id: int
    deal: str
    repeat: int
    seats: dict[str, int]
    ended: Ended


class Store(StoreReader):
    """Reads and writes one store file.

    Everything is committed when a method returns. One process writes at a time (:meth:`writing`);
    any number may read meanwhile.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.engine = sa.create_engine(
            address(path),
            connect_args={"timeout": 10, "check_same_thread": False},
            json_serializer=text_of,
            json_deserializer=data_of,
        )
        sa.event.listen(self.engine, "connect", _pragmas)
        sa.event.listen(self.engine, "begin", _begin)

    @classmethod
    def open(cls, path: Path | str, *, create: bool = False) -> "Store":
        """Open a store, migrating an older one; with ``create``, make it if it is not there.

        Raises:
            StoreError: it is missing, damaged, locked or of a newer version.
        """
        path = Path(path)
        if not path.exists() and not create:
            raise StoreError(
                f"there is no store at {path}; name one with --store or CHEAPTALK_STORE"
            )
        if path.is_dir() or not path.absolute().parent.is_dir():
            raise StoreError(f"{path} is no place for a store file; name one with --store")
        store = cls(path)
        try:
            with clear_errors(path):
                store._migrate()
        except BaseException:
            store.close()
            raise
        return store

    def close(self) -> None:
        self.engine.dispose()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _migrate(self) -> None:
        if self._is_ready():
            return
        migrating = import_module("cheaptalk.records.store.migration")  # slow, and seldom needed
        with self.writing(wait=MIGRATION_WAIT):
            if not self._is_ready():
                with closing(self.engine.raw_connection()) as raw:
                    raw.execute("PRAGMA journal_mode=WAL")  # marks the file, so only our own
                with self.engine.begin() as connection:
                    migrating.upgrade(connection)

    def _is_ready(self) -> bool:
        """Whether the schema is the newest one and there is a write-ahead log."""
        with self.engine.connect() as connection:
            found = _revision(connection, self.path)
            journal = connection.scalar(sa.text("PRAGMA journal_mode"))
        if found is not None and found > NEWEST:
            raise StoreError(
                f"{self.path} was written by a newer cheaptalk (schema {found}; this one knows "
                f"{NEWEST}); upgrade cheaptalk to use it"
            )
        return found == NEWEST and (journal == "wal" or not is_writable(self.path))

    @contextmanager
    def writing(self, wait: float = 0) -> Iterator[None]:
        """Hold the store for writing; a second writer is refused.

        Args:
            wait: seconds to wait for the other one to end.

        Raises:
            StoreError: another process holds it, or its folder cannot be written.
        """
        lock = FileLock(f"{self.path}.lock")
        try:
            lock.acquire(timeout=wait)
        except Timeout:
            raise StoreError(f"{self.path}: {HELD}") from None
        except OSError as error:
            raise StoreError(
                f"{self.path} cannot be written: {error.strerror}: {lock.lock_file}"
            ) from error
        try:
            yield
        finally:
            lock.release()

    @contextmanager
    def transaction(self) -> Iterator[sa.Connection]:
        """A connection whose work is committed at the end, or undone by an error."""
        with clear_errors(self.path), self.engine.begin() as connection:
            yield connection

    # Studies, configurations, players

    def register_study(self, name: str, spec: Mapping[str, Any]) -> int:
        """Note a study; a later form of the same name replaces the earlier one's text."""
        values = {
            "name": name, "spec": dict(spec), "package": __version__, "created": time.time(),
        }  # fmt: skip
        with self.transaction() as connection:
            connection.execute(
                insert(schema.studies)
                .values(values)
                .on_conflict_do_update(
                    ["name"], set_={"spec": values["spec"], "package": __version__}
                )
            )
            found = sa.select(schema.studies.c.id).where(schema.studies.c.name == name)
            return int(connection.execute(found).scalar_one())

    def register_configurations(
        self, configurations: Mapping[str, tuple[str, int, Mapping[str, Any]]]
    ) -> dict[str, int]:
        """Note games as (game, rules version, parameters) by digest; ids by digest."""
        rows = [
            {"digest": key, "game": game, "version": version, "parameters": dict(parameters)}
            for key, (game, version, parameters) in configurations.items()
        ]
        return self._register(schema.configurations, rows)

    def register_players(self, specs: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
        """Note players' settings by digest; ids by digest."""
        rows = [{"digest": key, "spec": dict(spec)} for key, spec in specs.items()]
        return self._register(schema.players, rows)

    def _register(self, table: sa.Table, rows: list[dict[str, Any]]) -> dict[str, int]:
        with self.transaction() as connection:
            if rows:
                connection.execute(insert(table).on_conflict_do_nothing(), rows)
            return dict(connection.execute(sa.select(table.c.digest, table.c.id)).all())

    def register_roster(self, study_id: int, labels: Mapping[int, str]) -> None:
        """Note what a study calls its players."""
        rows = [
            {"study_id": study_id, "player_id": player, "label": label}
            for player, label in labels.items()
        ]
        if not rows:
            return
        with self.transaction() as connection:
            statement = insert(schema.rosters)
            connection.execute(
                statement.on_conflict_do_update(
                    ["study_id", "player_id"], set_={"label": statement.excluded.label}
                ),
                rows,
            )

    # Matches

    def add(self, study_id: int, matches: Sequence[NewMatch]) -> None:
        """Store matches that ended, whole or not at all, and drop their live rows."""
        if not matches:
            return
        with self.transaction() as connection:
            write_matches(connection, study_id, matches)


def write_matches(connection: sa.Connection, study_id: int, matches: Sequence[NewMatch]) -> None:
    """Write matches that ended, in the caller's transaction; a live or failed row is replaced."""
    table, calls = schema.matches, schema.calls
    known = dict(
        connection.execute(
            sa.select(table.c.id, table.c.number).where(table.c.id.in_([m.id for m in matches]))
        ).all()
    )  # fmt: skip
    last = connection.scalar(sa.select(sa.func.coalesce(sa.func.max(table.c.number), 0))) or 0
    rows, numbers = [], []
    for match in matches:
        number = known.get(match.id)
        if number is None:
            number = last = last + 1
        numbers.append({"study_id": study_id, "match_number": number})
        rows.append({"number": number} | _row(match))
    connection.execute(REPLACE, rows)
    connection.execute(JOIN, numbers)
    if known:
        settled = [m.id for m in matches if m.ended.status is not Status.FAILED]
        connection.execute(
            sa.delete(calls).where(calls.c.match_id.in_(settled), calls.c.state == "answered")
        )


NEW = insert(schema.matches)
REPLACE = NEW.on_conflict_do_update(
    ["id"], set_={c.name: c for c in NEW.excluded if c.name not in ("number", "id")}
)
JOIN = insert(schema.members).on_conflict_do_nothing()


def _row(match: NewMatch) -> dict[str, Any]:
    end = match.ended
    return {
        "id": match.id,
        "configuration_id": match.configuration_id,
        "deal": match.deal,
        "repeat": match.repeat,
        "seats": match.seats,
        "status": end.status.value,
        "reason": end.reason,
        "outcome": end.outcome,
        "payoffs": end.payoffs,
        "kinds": end.kinds,
        "calls": end.calls,
        "input_tokens": end.input_tokens,
        "output_tokens": end.output_tokens,
        "cached_tokens": end.cached_tokens,
        "reasoning_tokens": end.reasoning_tokens,
        "dollars": end.dollars,
        "unpriced": end.unpriced,
        "uncounted": end.uncounted,
        "finished": end.finished,
        "body": end.body,
    }


def _pragmas(connection: sqlite3.Connection, _: object) -> None:
    connection.isolation_level = None  # transactions begin where _begin says, DDL included
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")


def _begin(connection: sa.Connection) -> None:
    connection.exec_driver_sql("BEGIN")


def _revision(connection: sa.Connection, path: Path) -> str | None:
    tables = sa.inspect(connection).get_table_names()
    if {"alembic_version", "studies", "matches"} <= set(tables):
        revision: str | None = connection.scalar(sa.text("select version_num from alembic_version"))
        return revision
    if tables:
        raise StoreError(f"{path} is a database, but no store; name another file with --store")
    return None


matches, members = schema.matches, schema.members
NEW_MEMBER = insert(members)
SET_CURRENT = NEW_MEMBER.on_conflict_do_update(set_={"current": NEW_MEMBER.excluded.current})


def adopt(store: Store, study_id: int, ids: Iterable[str], *, only: bool = False) -> int:
    """Count matches that are in the store already as matches of a study.

    Args:
        only: set the study's other matches aside.

    Returns:
        How many were set aside.
    """
    ours = sa.and_(members.c.match_number == matches.c.number, members.c.study_id == study_id)
    query = sa.select(matches.c.id, matches.c.number, members.c.current).outerjoin(members, ours)
    wanted = set(ids)
    with store.transaction() as connection:
        found = connection.execute(query).all()
        current = {number: True for id_, number, now in found if id_ in wanted and not now}
        leaving = [number for id_, number, now in found if only and now and id_ not in wanted]
        rows = [
            {"study_id": study_id, "match_number": number, "current": now}
            for number, now in (current | dict.fromkeys(leaving, False)).items()
        ]
        if rows:
            connection.execute(SET_CURRENT, rows)
    return len(leaving)


def set_aside(store: StoreReader, study: str) -> frozenset[str]:
    """The matches of a study that it no longer plans."""
    query = sa.select(matches.c.id).where(
        matches.c.number.in_(members_of(study, past=True)),
        matches.c.number.not_in(members_of(study)),
    )
    with clear_errors(store.path), store.engine.connect() as connection:
        return frozenset(connection.scalars(query))


studies = schema.studies


def note_plan(store: Store, study_id: int, planned: int) -> None:
    """Note how many matches a study's plan has."""
    with store.transaction() as connection:
        connection.execute(
            sa.update(studies).where(studies.c.id == study_id).values(planned=planned)
        )


def note_halt(store: Store, study_id: int, reason: str | None) -> None:
    """Note why a study's run stopped; None where it did not, or one is just beginning."""
    with store.transaction() as connection:
        connection.execute(sa.update(studies).where(studies.c.id == study_id).values(halted=reason))
