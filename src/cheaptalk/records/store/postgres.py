"""Stores in PostgreSQL: a database that many machines reach.

A store is what stands in one schema of a database. Whoever writes has a lease, which it loses when
it is not heard of any more.
"""

import logging
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TypeVar, cast

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from cheaptalk.records.store.backend import (
    Backend,
    NoStore,
    StoreAway,
    StoreError,
    StoreHeld,
    held_by,
    store_name,
)
from cheaptalk.records.store.held_text import restored, storable, storable_text, stored_data
from cheaptalk.records.store.leases import PAUSE, WAIT, Holder, Lease, holders, own
from cheaptalk.records.store.schema import metadata, studies
from cheaptalk.records.store.shares import Shares
from cheaptalk.rules.errors import first_line

LOG = logging.getLogger(__name__)
T = TypeVar("T")

EXTRA = "pip install 'cheaptalk[postgres]'"
OLDEST = 13
"""The oldest version of the server."""
PATIENCE = "10s"
"""How long a writer waits for another one's transaction."""
TOGETHER = "600s"
"""The same of those who share the work: who comes looks for millions of matches in one."""
WRITING = (
    "set transaction isolation level read committed; set local synchronous_commit = on; "
    "set local lock_timeout = '{}'"
)
"""A transaction that writes sees what others wrote while it waited, and is kept once it is done."""
MOMENT = 5.0
"""Seconds for which others wait for who is alone: many are so for a moment, to make the store."""
OUTAGE = 600.0
"""Seconds for which a process that holds the store waits for its server."""
AWAY = ("08", "57P")
"""Beginnings of SQLSTATE codes that say that the server is away."""
VERSION = sa.text("select cast(current_setting('server_version_num') as integer) / 10000")
WRITTEN = sa.text("select cast(pg_snapshot_xmax(pg_current_snapshot()) as text)")
UNREACHED = "see that the server runs, and that its address and the options of the URL are right"
CURES = {
    "08": UNREACHED,
    "28": "check the user and the password of the URL",
    "3D000": "make it with createdb, or name another one",
    "3F000": "make the schema of the URL's search_path, or name another one",
    "42501": "this user may not; grant it the rights to the schema and its tables",
    "42P01": "it is no store, or damaged; restore a copy",
    "25006": "the server lets nobody write; name the one that does",
    "53100": "its disk is full; nothing recorded is lost: free some space and resume",
    "53300": "the server has no connection left; raise max_connections, or begin fewer at once",
    "55P03": "another program is writing to it; wait for it to end, or stop it",
    "57014": "the server cancelled a statement, as its statement_timeout does; what was committed "
    "stays: raise statement_timeout for this user, and resume",
    "57": "the server was stopped; what was committed stays: start it and resume",
}
"""Cures by the beginnings of SQLSTATE codes."""
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
"""Those of codes by words of who lets nobody in, since such errors have none; the first one holds:
others may be about a database and a role, too."""

mail = sa.Table(
    "mail",
    own,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("text", sa.Text, nullable=False),
)


class PostgresBackend(Backend):
    """A store in a database of a PostgreSQL server."""

    own_tables = frozenset(own.tables)

    def __init__(self, url: sa.URL) -> None:
        self.name = store_name(url.render_as_string(hide_password=False))
        self.address = url.render_as_string(hide_password=False)
        self.engine = sa.create_engine(
            url,
            connect_args={"client_encoding": "utf8"},  # whatever the database's, which is looked at
            isolation_level="REPEATABLE READ",  # who reads sees one moment, as in a file
            pool_pre_ping=True,
            json_serializer=storable_text,
            json_deserializer=stored_data,
        )
        sa.event.listen(self.engine, "begin", self._begin)
        self.mailbox = TableMailbox(self)
        self.lease: Lease | None = None

    @classmethod
    def open(cls, url: str, create: bool) -> "PostgresBackend":
        """The store at a URL such as ``postgresql+psycopg://user:password@host/database``.

        Raises:
            StoreError: there is none, or it cannot be reached.
        """
        try:
            parsed = sa.make_url(url).set(drivername="postgresql+psycopg")
        except (ValueError, sa.exc.ArgumentError):
            raise StoreError(
                "postgresql://...: no URL of a database; write "
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
                    raise NoStore(
                        f"there is no store at {backend.name}; name one with --store or "
                        "CHEAPTALK_STORE"
                    )
        except BaseException:
            backend.close()
            raise
        return backend

    def _check_server(self, connection: sa.Connection) -> None:
        version = connection.scalar(VERSION) or 0
        if version < OLDEST:
            raise StoreError(f"{self.name}: PostgreSQL {OLDEST} or newer is needed, not {version}")
        encoding = connection.scalar(sa.text("show server_encoding"))
        if encoding != "UTF8":
            raise StoreError(
                f"{self.name}: its encoding is {encoding}; make a database with: createdb -E UTF8"
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
        while alone := next((one for one in self._holders() if one.work is None), None):
            if time.monotonic() > until:
                raise StoreHeld(f"{self.name}: {held_by(alone.holder)}")
            time.sleep(PAUSE)

    def held(self) -> bool:
        return bool(self._holders())

    def _holders(self) -> list[Holder]:
        """Who writes to it now; to look keeps nobody out."""
        with self.explaining(), self.engine.connect() as connection:
            return holders(connection) if self.prepared(connection) else []

    def _begin(self, connection: sa.Connection) -> None:
        """Begin a transaction; one that writes has waited for others that do."""
        if connection.get_execution_options().get("writes", False):
            shares = self.lease is not None and self.lease.work is not None
            connection.exec_driver_sql(WRITING.format(TOGETHER if shares else PATIENCE))
            connection.execute(WAIT)
            if self.lease is not None:
                self.lease.renew(connection)

    def patiently(self, work: Callable[[], T]) -> T:
        outage: float | None = None
        while True:
            try:
                done = work()
            except StoreAway as away:
                if self.lease is None or time.monotonic() - (outage or math.inf) > OUTAGE:
                    raise
                if outage is None:
                    outage = time.monotonic()
                    LOG.warning("%s; waiting for it", away)
                time.sleep(PAUSE)
            else:
                if outage is not None:
                    LOG.warning("%s is back", self.name)
                return done

    def commit(self, work: Callable[[sa.Connection], T]) -> T:
        number, result = 0, None

        def once() -> T:
            nonlocal number, result
            lease = self.lease
            with self.transaction() as connection:  # an earlier one has ended, kept or not
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
        """The SQLSTATE of an error; by its words where the server let nobody in."""
        state: str = getattr(getattr(error, "orig", None), "sqlstate", None) or ""
        if not state and isinstance(error, sa.exc.OperationalError):
            return next((code for words, code in REFUSALS.items() if words in _said(error)), "08")
        return state

    def prepared(self, connection: sa.Connection) -> bool:
        return set(own.tables) <= set(sa.inspect(connection).get_table_names())

    def prepare(self) -> None:
        with self.engine.connect() as connection:
            if self.prepared(connection):
                return
        latest = self.engine.execution_options(isolation_level="READ COMMITTED")
        with latest.begin() as connection:  # who waited sees what was made meanwhile
            connection.execute(WAIT)
            own.create_all(connection)

    def renumber(self, connection: sa.Connection) -> None:
        for table in metadata.sorted_tables:
            key = table.autoincrement_column
            if key is not None:
                last = sa.select(sa.func.max(key)).scalar_subquery()
                sequence = sa.func.pg_get_serial_sequence(table.name, key.name)
                now = sa.func.setval(sequence, sa.func.coalesce(last, 1), last.is_not(None))
                connection.execute(sa.select(now))

    def damage(self, *, whole: bool = False) -> str | None:
        """None: what is in the server's files is the server's to look after."""
        return None

    def wipe(self) -> None:
        with self.explaining(), self.engine.connect() as connection:
            alone = connection.execution_options(isolation_level="AUTOCOMMIT")
            alone.exec_driver_sql(f"set lock_timeout = '{PATIENCE}'")
            try:
                for table in metadata.sorted_tables:
                    alone.exec_driver_sql(f'vacuum full "{table.name}"')
            finally:
                alone.exec_driver_sql("reset lock_timeout")

    def stamp(self) -> object:
        with self.explaining(), self.engine.connect() as connection:
            return connection.scalar(WRITTEN)


def _said(error: sa.exc.SQLAlchemyError) -> str:
    """What an error says, in a line."""
    cause = getattr(error, "orig", None) or error
    return first_line(cause).rpartition("FATAL:  ")[2]


ACCOUNT, ORDER = "account", "order/"


class TableMailbox:
    """A table: the account is its row ``account``, orders are rows ``order/ID``."""

    def __init__(self, backend: PostgresBackend) -> None:
        self._backend = backend
        self.place = f"{backend.name}, table {mail.name}"

    @contextmanager
    def _open(self) -> Iterator[sa.Connection]:
        engine = self._backend.engine.execution_options(isolation_level="READ COMMITTED")
        with self._backend.explaining(), engine.begin() as connection:
            yield connection  # whoever changes what another just changed waits, and fails not

    def _write(self, name: str, text: str) -> None:
        new = insert(mail).values(name=name, text=storable(text))
        with self._open() as connection:
            connection.execute(new.on_conflict_do_update(
                index_elements=["name"], set_={"text": new.excluded.text}
            ))  # fmt: skip

    def _silent(self) -> bool:
        """Whether another speaks for all who share the work."""
        lease = self._backend.lease
        return lease is not None and lease.work is not None and not lease.leads()

    def write_account(self, text: str) -> None:
        if not self._silent():
            self._write(ACCOUNT, text)

    def read_account(self) -> str | None:
        with self._open() as connection:
            found = connection.scalar(sa.select(mail.c.text).where(mail.c.name == ACCOUNT))
        return None if found is None else str(restored(found))

    def post(self, order: str, text: str) -> None:
        self._write(ORDER + order, text)

    def take(self) -> Iterator[tuple[str, str]]:
        if self._silent():
            return
        orders = mail.c.name.startswith(ORDER)
        with self._open() as connection:
            rows = connection.execute(sa.delete(mail).where(orders).returning(*mail.c)).all()
        for _, name, text in sorted(rows):
            yield name.removeprefix(ORDER), str(restored(text))

    def withdraw(self, order: str) -> None:
        with self._open() as connection:
            connection.execute(sa.delete(mail).where(mail.c.name == ORDER + order))

    def clear(self) -> None:
        if self._silent():
            return
        with self._open() as connection:
            connection.execute(sa.delete(mail))
