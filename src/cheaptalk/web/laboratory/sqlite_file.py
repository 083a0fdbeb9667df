"""The SQLite file of a laboratory: its schema version and transactions."""

import sqlite3
from contextlib import ExitStack
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, MappedAsDataclass, sessionmaker

from cheaptalk.rules import CheaptalkError

VERSION = 1
"""Schema version; files of later versions are rejected."""


class Record(MappedAsDataclass, DeclarativeBase):
    """A row of a laboratory's database."""


SETTINGS = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON")
LOCK_TIMEOUT = 10
"""Seconds to wait for another writer."""


class SqliteFile:
    """An SQLite database file, created if it doesn't exist.

    ``reading`` and ``writing`` begin transactions. :meth:`clean` removes deleted and overwritten
    data from the disk.

    Raises:
        CheaptalkError: the file cannot be opened, has a newer version, or is another file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.engine = sa.create_engine(
            sa.URL.create("sqlite", database=str(path)),
            connect_args={"timeout": LOCK_TIMEOUT, "check_same_thread": False},
        )
        sa.event.listen(self.engine, "connect", _set_up)
        sa.event.listen(self.engine, "begin", _begin)
        writing = self.engine.execution_options(writes=True)
        self.reading = sessionmaker(self.engine, expire_on_commit=False).begin
        self.writing = sessionmaker(writing, expire_on_commit=False).begin
        with ExitStack() as stack:
            stack.callback(self.close)
            try:
                path.touch(mode=0o600)
                self._open()
            except OSError as error:
                raise CheaptalkError(f"{path} cannot be written: {error.strerror}") from error
            except sa.exc.DatabaseError as error:
                raise CheaptalkError(
                    f"{path} cannot be used ({error.orig}); move it away, or restore a backup"
                ) from error
            stack.pop_all()

    def _open(self) -> None:
        with self.writing() as session:
            connection = session.connection()
            version = connection.scalar(sa.text("PRAGMA user_version")) or 0
            if version > VERSION:
                raise CheaptalkError(
                    f"{self.path} was written by a newer cheaptalk; upgrade cheaptalk, or restore "
                    "a backup"
                )
            if version == 0 and sa.inspect(connection).get_table_names():
                raise CheaptalkError(
                    f"{self.path} is not a laboratory's database; move it away, or use another "
                    "folder"
                )
            Record.metadata.create_all(connection)
            connection.exec_driver_sql(f"PRAGMA user_version = {VERSION}")

    def clean(self) -> None:
        """Truncate SQLite's write-ahead log, so that no deleted data remains on the disk."""
        with self.engine.connect() as connection:
            raw = connection.connection.driver_connection
            assert isinstance(raw, sqlite3.Connection)
            raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        self.engine.dispose()


def _set_up(connection: sqlite3.Connection, _: object) -> None:
    connection.isolation_level = None  # transactions begin where _begin says, DDL included
    for setting in SETTINGS:
        connection.execute(f"PRAGMA {setting}")


def _begin(connection: sa.Connection) -> None:
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
