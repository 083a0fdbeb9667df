"""Stores in PostgreSQL, which several machines can use.

A store occupies one schema of a database. A writing process holds a lease, which expires if it is
not renewed.
"""

import logging
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TypeVar, cast

import sqlalchemy as sa

from cheaptalk.records.encoding import restored, storable, storable_text, stored_data
from cheaptalk.records.store.backend import (
    Backend,
    Shares,
    StoreAway,
    StoreError,
    StoreLocked,
    StoreNotFound,
    held_by,
    store_name,
)
from cheaptalk.records.store.leases import PAUSE, WAIT, Holder, Lease, holders, lease_metadata
from cheaptalk.records.store.schema import metadata, studies, upsert
from cheaptalk.rules.errors import first_line

LOG = logging.getLogger(__name__)
T = TypeVar("T")

EXTRA = "pip install 'cheaptalk[postgres]'"
OLDEST = 13
"""Minimum version of the server."""
LOCK_TIMEOUT = "10s"
"""Maximum time for which a writer waits for another transaction."""
SHARED_LOCK_TIMEOUT = "600s"
"""Lock timeout of runs that share the work; each starts with a transaction over all its matches."""
WRITING = (
    "set transaction isolation level read committed; set local synchronous_commit = on; "
    "set local lock_timeout = '{}'"
)
"""Start of a write transaction, which sees data that others committed while it waited."""
MOMENT = 5.0
"""Seconds to wait for an exclusive lock; most are brief, for example to create the store."""
OUTAGE = 600.0
"""Seconds for which a process that holds the store waits for an unavailable server."""
AWAY = ("08", "57P")
"""Prefixes of SQLSTATE codes that mean that the server is unavailable."""
VERSION = sa.text("select cast(current_setting('server_version_num') as integer) / 10000")
WRITTEN = sa.text("select cast(pg_snapshot_xmax(pg_current_snapshot()) as text)")
UNREACHED = "check that the server runs, and the address and options of the URL"
CURES = {
    "08": UNREACHED,
    "28": "check the user and the password of the URL",
    "3D000": "create the database with createdb, or name another one",
    "3F000": "create the schema of the URL's search_path, or name another one",
    "42501": "grant this user the rights to the schema and its tables",
    "42P01": "this is not a store, or it is damaged; restore a copy",
    "25006": "the server is read-only; name the primary server",
    "53100": "the server's disk is full; recorded data is safe: free some space and resume",
    "53300": "the server has no free connection; raise max_connections, or start fewer runs",
    "55P03": "another program is writing to the store; wait until it ends, or stop it",
    "57014": "the server cancelled a statement; committed data is kept: raise statement_timeout "
    "for this user, and resume",
    "57": "the server was stopped; committed data is kept: start it and resume",
}
"""Remedies by prefix of the SQLSTATE code."""
REFUSALS = {
    "accepting connections": "57P03",
    "starting up": "57P03",
    "shutting down": "57P03",
    "recovery mode": "57P03",
    "resolve host": "08",
    "pg_hba": "28",
    "password": "28",
    "permission": "42501",
    "too many": "53300",
    "connection slots": "53300",
    'database "': "3D000",
    'role "': "28",
}
"""SQLSTATE codes by words in messages of connection errors, which contain no code.

The first match applies, because other messages may also name a database and a role.
"""

mail = sa.Table(
    "mail",
    lease_metadata,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("text", sa.Text, nullable=False),
)


class PostgresBackend(Backend):
    """A store in a database of a PostgreSQL server."""

    own_tables = frozenset(lease_metadata.tables)

    def __init__(self, url: sa.URL) -> None:
        self.name = store_name(url.render_as_string(hide_password=False))
        self.address = url.render_as_string(hide_password=False)
        self.engine = sa.create_engine(
            url,
            connect_args={"client_encoding": "utf8"},  # whatever the client's environment says
            isolation_level="REPEATABLE READ",  # a reader sees one snapshot, as in SQLite
            pool_pre_ping=True,
            json_serializer=storable_text,
            json_deserializer=stored_data,
        )
        sa.event.listen(self.engine, "begin", self._begin)
        self.mailbox = TableMailbox(self)
        self.lease: Lease | None = None

    @classmethod
    def open(cls, url: str, create: bool) -> "PostgresBackend":
        """Open the store at a URL such as ``postgresql+psycopg://user:password@host/database``."""
        try:
            parsed = sa.make_url(url).set(drivername="postgresql+psycopg")
        except (ValueError, sa.exc.ArgumentError):
            raise StoreError(
                "postgresql://...: not a valid database URL; use "
                "postgresql+psycopg://user:password@host/database"
            ) from None
        try:
            import_module("psycopg")
        except ImportError as error:
            raise StoreError(f"a store in PostgreSQL needs psycopg ({error}): {EXTRA}") from error
        backend = cls(parsed)
        try:
            with backend.explaining(), backend.engine.connect() as connection:
                backend._check_server(connection)
                if not create and not sa.inspect(connection).has_table(studies.name):
                    raise StoreNotFound(
                        f"no store at {backend.name}; name an existing store (in commands, "
                        "with --store or CHEAPTALK_STORE)"
                    )
        except BaseException:
            backend.close()
            raise
        return backend

    def _check_server(self, connection: sa.Connection) -> None:
        version = connection.scalar(VERSION) or 0
        if version < OLDEST:
            raise StoreError(
                f"{self.name}: PostgreSQL {OLDEST} or newer is required, not {version}"
            )
        encoding = connection.scalar(sa.text("show server_encoding"))
        if encoding != "UTF8":
            raise StoreError(
                f"{self.name}: the encoding is {encoding}; create a database with: createdb -E UTF8"
            )

    @contextmanager
    def holding(self, wait: float) -> Iterator[None]:
        with self._leased(None, wait):
            yield

    @contextmanager
    def sharing(self, work: str) -> Iterator[Shares]:
        with self._leased(work, MOMENT) as lease:
            yield lease

    @contextmanager
    def _leased(self, work: str | None, wait: float) -> Iterator[Lease]:
        with self.explaining():
            self.prepare()
            self.lease = lease = Lease(self, work, wait)
        try:
            yield lease
        finally:
            self.lease = None
            lease.end()

    def check_free(self) -> None:
        until = time.monotonic() + MOMENT
        while exclusive := [holder for holder in self._holders() if holder.work is None]:
            if time.monotonic() > until:
                raise StoreLocked(f"{self.name}: {held_by(exclusive[0].holder)}")
            time.sleep(PAUSE)

    def held(self) -> bool:
        return bool(self._holders())

    def _holders(self) -> list[Holder]:
        """Return the processes that hold leases on the store, without waiting for locks."""
        with self.explaining(), self.engine.connect() as connection:
            return holders(connection) if self.prepared(connection) else []

    def _begin(self, connection: sa.Connection) -> None:
        """Begin a transaction; a write transaction waits for other writers."""
        if connection.get_execution_options().get("writes", False):
            shares = self.lease is not None and self.lease.work is not None
            timeout = SHARED_LOCK_TIMEOUT if shares else LOCK_TIMEOUT
            connection.exec_driver_sql(WRITING.format(timeout))
            connection.execute(WAIT)
            if self.lease is not None:
                self.lease.renew(connection)

    def patiently(self, work: Callable[[], T]) -> T:
        outage: float | None = None
        while True:
            try:
                result = work()
            except StoreAway as error:
                if self.lease is None or time.monotonic() - (outage or math.inf) > OUTAGE:
                    raise
                if outage is None:
                    outage = time.monotonic()
                    LOG.warning("%s; waiting for the server", error)
                time.sleep(PAUSE)
            else:
                if outage is not None:
                    LOG.warning("%s is available again", self.name)
                return result

    def commit(self, work: Callable[[sa.Connection], T]) -> T:
        number, result = 0, None

        def once() -> T:
            nonlocal number, result
            lease = self.lease
            with self.transaction() as connection:  # waits for the end of an earlier attempt
                if lease is None or not number or not lease.kept(number, connection):
                    number = 0 if lease is None else lease.mark(connection)
                    result = work(connection)
            if lease is not None:
                lease.forget(number)
            return cast(T, result)

        return self.patiently(once)

    def away(self, error: Exception) -> bool:
        return isinstance(error, sa.exc.DBAPIError) and self._state(error).startswith(AWAY)

    def cure(self, error: Exception) -> str | None:
        if not isinstance(error, sa.exc.SQLAlchemyError):
            return None
        text, state = _said(error), self._state(error)
        cure = next((cure for code, cure in CURES.items() if state.startswith(code)), None)
        return f"{text}: {cure}" if cure else text

    @staticmethod
    def _state(error: sa.exc.SQLAlchemyError) -> str:
        """Return the SQLSTATE of an error; for connection errors, derive it from the message."""
        state: str = getattr(getattr(error, "orig", None), "sqlstate", None) or ""
        if not state and isinstance(error, sa.exc.OperationalError):
            return next((code for words, code in REFUSALS.items() if words in _said(error)), "08")
        return state

    def prepared(self, connection: sa.Connection) -> bool:
        return set(lease_metadata.tables) <= set(sa.inspect(connection).get_table_names())

    def prepare(self) -> None:
        with self.engine.connect() as connection:
            if self.prepared(connection):
                return
        latest = self.engine.execution_options(isolation_level="READ COMMITTED")
        with latest.begin() as connection:  # sees tables that were created while it waited
            connection.execute(WAIT)
            lease_metadata.create_all(connection)

    def renumber(self, connection: sa.Connection) -> None:
        for table in metadata.sorted_tables:
            key = table.autoincrement_column
            if key is not None:
                last = sa.select(sa.func.max(key)).scalar_subquery()
                sequence = sa.func.pg_get_serial_sequence(table.name, key.name)
                reset = sa.func.setval(sequence, sa.func.coalesce(last, 1), last.is_not(None))
                connection.execute(sa.select(reset))

    def damage(self, *, full: bool = False) -> str | None:
        """Return None, because the PostgreSQL server checks its own files."""
        return None

    def wipe(self) -> None:
        with self.explaining(), self.engine.connect() as connection:
            autocommit = connection.execution_options(isolation_level="AUTOCOMMIT")
            autocommit.exec_driver_sql(f"set lock_timeout = '{LOCK_TIMEOUT}'")
            try:
                for table in metadata.sorted_tables:
                    autocommit.exec_driver_sql(f'vacuum full "{table.name}"')
            finally:
                autocommit.exec_driver_sql("reset lock_timeout")

    def stamp(self) -> object:
        with self.explaining(), self.engine.connect() as connection:
            return connection.scalar(WRITTEN)


def _said(error: sa.exc.SQLAlchemyError) -> str:
    cause = getattr(error, "orig", None) or error
    return first_line(cause).rpartition("FATAL:  ")[2]


STATE, COMMAND = "state", "command/"


class TableMailbox:
    """A mailbox in a database table, with one row for a run's status and one per command."""

    def __init__(self, backend: PostgresBackend) -> None:
        self._backend = backend
        self.location = f"{backend.name}, table {mail.name}"

    @contextmanager
    def _open(self) -> Iterator[sa.Connection]:
        engine = self._backend.engine.execution_options(isolation_level="READ COMMITTED")
        with self._backend.explaining(), engine.begin() as connection:
            yield connection  # concurrent changes of a row wait instead of failing

    def _write(self, name: str, text: str) -> None:
        row = {"name": name, "text": storable(text)}
        with self._open() as connection:
            connection.execute(upsert(mail, ["name"], ["text"]), row)

    def _silent(self) -> bool:
        """Return whether another process publishes the status for all processes of the run."""
        lease = self._backend.lease
        return lease is not None and lease.work is not None and not lease.leads()

    def write_state(self, text: str) -> None:
        if not self._silent():
            self._write(STATE, text)

    def read_state(self) -> str | None:
        with self._open() as connection:
            text = connection.scalar(sa.select(mail.c.text).where(mail.c.name == STATE))
        return None if text is None else str(restored(text))

    def post(self, command: str, text: str) -> None:
        self._write(COMMAND + command, text)

    def take(self) -> Iterator[tuple[str, str]]:
        if self._silent():
            return
        commands = mail.c.name.startswith(COMMAND)
        with self._open() as connection:
            rows = connection.execute(sa.delete(mail).where(commands).returning(*mail.c)).all()
        for _, name, text in sorted(rows):
            yield name.removeprefix(COMMAND), str(restored(text))

    def withdraw(self, command: str) -> None:
        with self._open() as connection:
            connection.execute(sa.delete(mail).where(mail.c.name == COMMAND + command))

    def clear(self) -> None:
        if self._silent():
            return
        with self._open() as connection:
            connection.execute(sa.delete(mail))
