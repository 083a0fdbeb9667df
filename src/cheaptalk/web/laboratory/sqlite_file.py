"""The SQLite file of a laboratory: its tables, schema version and transactions."""

import sqlite3
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import sqlalchemy as sa

from cheaptalk.rules import CheaptalkError

VERSION = 1
"""Schema version; files of later versions are rejected."""


metadata = sa.MetaData()

accounts: sa.Table = sa.Table(
    "accounts",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(collation="NOCASE"), nullable=False, unique=True),
    sa.Column("password", sa.String, nullable=False, comment="hash"),
    sa.Column("one_time", sa.Boolean, nullable=False, comment="whether to change it at login"),
    sa.Column("role", sa.String, nullable=False, comment="owner, researcher or viewer"),
    sa.Column("made", sa.Float, nullable=False, comment="seconds since 1970"),
    sa.Column("disabled", sa.Float, comment="time since when, or null"),
)

logins: sa.Table = sa.Table(
    "logins",
    metadata,
    sa.Column("token_digest", sa.String, primary_key=True),
    sa.Column("account_id", sa.ForeignKey("accounts.id"), nullable=False, index=True),
    sa.Column("made", sa.Float, nullable=False),
    sa.Column("seen", sa.Float, nullable=False, comment="time of the last use, to the minute"),
    sa.Column("expires", sa.Float, nullable=False, comment="latest end of the session"),
)

drafts: sa.Table = sa.Table(
    "drafts",
    metadata,
    sa.Column("name", sa.String(collation="NOCASE"), primary_key=True),
    sa.Column("text", sa.Text, nullable=False, comment="the study file"),
    sa.Column("version", sa.Integer, nullable=False, comment="number of changes plus 1"),
    sa.Column("made_by", sa.String, nullable=False, comment="name of an account"),
    sa.Column("changed_by", sa.String, nullable=False),
    sa.Column("made", sa.Float, nullable=False),
    sa.Column("changed", sa.Float, nullable=False, index=True),
)

audit: sa.Table = sa.Table(
    "audit",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("account", sa.String, nullable=False, comment="account name, or empty"),
    sa.Column("study", sa.String(collation="NOCASE"), nullable=False, index=True),
    sa.Column("deed", sa.String, nullable=False),
    sa.Column("details", sa.JSON, nullable=False),
    sqlite_autoincrement=True,
)


SETTINGS = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON")
LOCK_TIMEOUT = 10
"""Seconds to wait for another writer."""


class SqliteFile:
    """An SQLite database file, created if it doesn't exist.

    Deleted and overwritten data are removed from the disk by :meth:`clean`.

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
        self._writes = self.engine.execution_options(writes=True)
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
        with self.writing() as connection:
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
            metadata.create_all(connection)
            connection.exec_driver_sql(f"PRAGMA user_version = {VERSION}")

    def reading(self) -> AbstractContextManager[sa.Connection]:
        return self.engine.begin()

    def writing(self) -> AbstractContextManager[sa.Connection]:
        return self._writes.begin()

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
