"""Stores in SQLite: one database file, with a lock and a mailbox for commands to runs beside it."""

import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from getpass import getuser
from pathlib import Path
from stat import S_ISDIR
from tempfile import TemporaryDirectory, gettempdir
from typing import TypeAlias
from urllib.parse import quote
from weakref import finalize, proxy

import sqlalchemy as sa
from filelock import FileLock, Timeout

from cheaptalk.atomic_files import whole_file
from cheaptalk.records.encoding import data_of, text_of
from cheaptalk.records.store.backend import Backend, StoreError, StoreLocked, StoreNotFound, held_by

BUSY = "another program is writing to the store; wait for it to end, or stop it"
LOCK_FOLDERS = 10
"""Number of candidate names for the folder of locks, in case other users own some."""
READER_TIMEOUT = 1_000
"""Milliseconds for which a checkpoint waits for readers."""
AGAIN = "close the programs that read it, and delete again"
SECOND_NAME = (
    "has a hard link, and writing to it under both names would damage it; copy it, and use the copy"
)
DAMAGED = "the file is damaged or not a store; restore a copy, or name another file"
LOCKED_OUT = "the file is not writable; check the permissions of the file and its folder"
CURES = {
    "locked": BUSY,
    "busy": BUSY,
    "full": "recorded data is safe: free some disk space and resume",
    "not a database": DAMAGED,
    "malformed": DAMAGED,
    "decode": DAMAGED,
    "no such": DAMAGED,
    "readonly": LOCKED_OUT,
    "unable to open": LOCKED_OUT,
    "I/O error": "the disk or its connection failed; committed data is kept",
}
"""Remedies by words of SQLite's messages."""


FileId: TypeAlias = tuple[int, int]
"""A file's device and inode."""


def _close(connections: set[sqlite3.Connection]) -> None:
    """Close all connections of an engine, including those of readers that were abandoned."""
    while connections:
        connections.pop().close()


class SqliteBackend(Backend):
    """A store in a SQLite file."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()  # so that all paths to the file share one lock
        self.name = str(path)
        self.address = str(self.path)
        self.mailbox = FileMailbox(self.path)
        self._held = False
        self._opened: FileId | None = None
        self._watched: dict[Path, FileId] = {}
        self._copy: TemporaryDirectory[str] | None = None
        self.engine = self._engine_at(self.path)

    def _engine_at(self, path: Path) -> sa.Engine:
        engine = sa.create_engine(
            address(path),
            connect_args={"timeout": 10, "check_same_thread": False},
            json_serializer=text_of,
            json_deserializer=data_of,
        )
        sa.event.listen(engine, "connect", _set_up)
        backend = proxy(self)  # no cycle: an unused store is freed and closes its connections
        sa.event.listen(engine, "begin", lambda connection: backend._begin(connection))
        sa.event.listen(engine, "commit", lambda connection: backend._before_commit(connection))
        connections: set[sqlite3.Connection] = set()
        sa.event.listen(engine, "connect", lambda connection, _: connections.add(connection))
        sa.event.listen(engine, "close", lambda connection, _: connections.discard(connection))
        finalize(self, _close, connections)
        return engine

    @classmethod
    def open(cls, url: str, create: bool) -> "SqliteBackend":
        """Open the store at a URL such as ``sqlite:///study.sqlite``."""
        path = Path(url.partition(":///")[2])
        if not create and _is_empty(path):
            raise StoreNotFound(
                f"no store at {path}; name an existing store (in commands, with --store or "
                "CHEAPTALK_STORE)"
            )
        if path.is_dir() or not path.absolute().parent.is_dir():
            raise StoreError(
                f"cannot create a store at {path}: it is a folder, or its folder does not exist; "
                "name a file in an existing folder"
            )
        backend = cls(path)
        backend.made = _is_empty(path)
        return backend

    @contextmanager
    def holding(self, wait: float) -> Iterator[None]:
        if has_second_name(self.path):
            raise StoreError(f"{self.name} {SECOND_NAME}")
        until = time.monotonic() + wait
        with ExitStack() as locks:
            for file in self._lock_files():
                lock = FileLock(file)
                try:
                    locks.enter_context(lock.acquire(timeout=max(0.0, until - time.monotonic())))
                except Timeout:
                    raise StoreLocked(f"{self.path}: {held_by()}") from None
                except OSError as error:
                    raise StoreError(
                        f"{self.path} is not writable: {error.strerror}: {file}"
                    ) from error
            self._watch(Path(f"{self.path}.lock"))
            self._held = True
            try:
                yield
            finally:
                self._held = False
                self._watched.clear()

    def _lock_files(self) -> Iterator[Path]:
        """Yield the paths of two lock files: one beside the store, one in a temporary folder.

        The second is named by the store's inode, in a folder of this user. The store's own file
        can't be locked: closing a descriptor of it would release SQLite's locks.
        """
        yield Path(f"{self.path}.lock")
        store = _identity(self.path)
        if store is not None:
            yield _lock_folder() / f"{store[0]}-{store[1]}.lock"

    def _watch(self, file: Path) -> None:
        """Record a file's identity, if not yet known, to detect a later replacement."""
        if file not in self._watched and (identity := _identity(file)):
            self._watched[file] = identity

    def _check_files(self) -> None:
        """Check that no file of the locked store was removed or replaced."""
        for file, identity in self._watched.items():
            if _identity(file) != identity:
                raise StoreError(
                    f"{file} was removed or replaced while {self.name} was written to, so nothing "
                    "more can be recorded; the store's data is kept: resume"
                )

    def _before_commit(self, connection: sa.Connection) -> None:
        """Before a commit, check that the store's files are still at their paths."""
        if self._held and connection.get_execution_options().get("writes", False):
            log = Path(f"{self.path}-wal")
            self._check_store()
            if connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal":
                self._watch(log)
                if log not in self._watched:
                    raise StoreError(f"{log} was removed while {self.name} was written to; resume")
            self._check_files()

    def _check_store(self) -> None:
        if _identity(self.path) != self._opened:
            raise StoreError(
                f"{self.name} was deleted, renamed or replaced while it was written to, so "
                "nothing more can be recorded; restore the file and resume"
            )

    def discard(self) -> None:
        with suppress(StoreError), self.holding(0):
            if not Path(f"{self.path}-wal").exists():  # the last connection removes the log
                for suffix in ("", ".lock"):
                    Path(f"{self.path}{suffix}").unlink(missing_ok=True)

    def _begin(self, connection: sa.Connection) -> None:
        """Begin a transaction, after checking that the file of a locked store was not replaced."""
        writes = connection.get_execution_options().get("writes", False)
        # The first transaction creates a new store's file.
        self._opened = self._opened or _identity(self.path)
        if writes and self._held:
            self._check_store()
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    def cure(self, error: Exception) -> str | None:
        if not isinstance(error, sa.exc.DatabaseError | sqlite3.DatabaseError):
            return None
        text = str(getattr(error, "orig", None) or error)
        cure = next((cure for words, cure in CURES.items() if words in text), "")
        return f"{text}: {cure}" if cure else text

    def prepared(self, connection: sa.Connection) -> bool:
        journal = connection.scalar(sa.text("PRAGMA journal_mode"))
        return journal == "wal" or not is_writable(self.path)

    def prepare(self) -> None:
        with closing(self.engine.raw_connection()) as raw:
            raw.execute("PRAGMA journal_mode=WAL")  # marks the file; only for a store's file

    def close(self) -> None:
        super().close()
        if self._copy is not None:
            self._copy.cleanup()

    def copied(self) -> bool:
        if self._copy is None and not is_writable(self.path):
            self._copy = TemporaryDirectory(prefix="cheaptalk-")
            path = Path(self._copy.name) / self.path.name
            with (
                closing(self.engine.raw_connection()) as raw,
                closing(sqlite3.connect(path)) as target,
            ):
                raw.driver_connection.backup(target)  # type: ignore[union-attr]
            self.engine.dispose()
            self.engine = self._engine_at(path)
        return self._copy is not None

    def damage(self, *, full: bool = False) -> str | None:
        pragma = "integrity_check" if full else "quick_check"
        with self.explaining(), self.engine.connect() as connection:
            report: str = connection.scalar(sa.text(f"PRAGMA {pragma}(1)")) or ""
        return None if report == "ok" else " ".join(report.split())

    def merge_log(self) -> bool:
        """Checkpoint and truncate the write-ahead log; return False if a reader prevents it."""
        if self._held:
            self._check_store()
            self._check_files()
        with self.explaining(), self.engine.connect() as connection:
            raw = connection.connection.driver_connection
            assert raw is not None
            timeout = raw.execute("PRAGMA busy_timeout").fetchone()[0]
            raw.execute(f"PRAGMA busy_timeout={READER_TIMEOUT}")
            try:
                busy, _, _ = raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                raw.execute(f"PRAGMA busy_timeout={timeout}")
        return not busy

    def wipe(self) -> None:
        if not self.merge_log():
            raise StoreError(
                f"{self.name} is being read, so its log still contains deleted data; {AGAIN}"
            )

    def stamp(self) -> tuple[tuple[int, int], ...]:
        """Return the modification times and sizes of the file and its log, ignoring empty files."""
        files = (self.path, Path(f"{self.path}-wal"))
        details = [file.stat() for file in files if file.exists()]
        return tuple((status.st_mtime_ns, status.st_size) for status in details if status.st_size)


class FileMailbox:
    """A mailbox in files beside the store: ``STORE.run.json`` and the folder ``STORE.commands``."""

    def __init__(self, store: Path) -> None:
        self.state = Path(f"{store}.run.json")
        self.commands = Path(f"{store}.commands")
        self.location = str(self.state)

    def write_state(self, text: str) -> None:
        _write(self.state, text)

    def read_state(self) -> str | None:
        try:
            return self.state.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def post(self, command: str, text: str) -> None:
        _write(self.commands / f"{command}.json", text)

    def take(self) -> Iterator[tuple[str, str]]:
        self.commands.mkdir(exist_ok=True)
        for path in sorted(self.commands.glob("*.json")):
            try:
                text = path.read_text("utf-8", "replace") if path.is_file() else None
                path.unlink(missing_ok=True)
            except OSError:  # not a command: a folder, or a file of another user
                continue
            if text is not None:
                yield path.stem, text

    def withdraw(self, command: str) -> None:
        (self.commands / f"{command}.json").unlink(missing_ok=True)

    def clear(self) -> None:
        self.state.unlink(missing_ok=True)
        shutil.rmtree(self.commands, ignore_errors=True)


def _write(path: Path, text: str) -> None:
    with whole_file(path) as file:
        file.write(text)


def is_writable(path: Path) -> bool:
    """Return whether a store and its folder, to which SQLite also writes, are writable."""
    folder = os.access(path.absolute().parent, os.W_OK)
    return folder and (not path.exists() or os.access(path, os.W_OK))


def _is_empty(path: Path) -> bool:
    """Return whether the file and its log are missing or empty."""
    files = (path, Path(f"{path}-wal"))
    return not any(file.is_dir() or (file.exists() and file.stat().st_size) for file in files)


def address(path: Path) -> sa.URL:
    """Return the SQLAlchemy URL of a store's file, read-only if the file is not writable."""
    if is_writable(path):
        return sa.URL.create("sqlite", database=str(path))
    log = Path(f"{path}-wal")
    frozen = {} if log.exists() and log.stat().st_size else {"immutable": "1"}
    uri = f"file:{quote(str(path.absolute()))}"
    return sa.URL.create("sqlite", database=uri, query={"mode": "ro", "uri": "true", **frozen})


def _lock_folder() -> Path:
    """Return the user's temporary folder for lock files.

    If another user owns the folder with the first name, the next name is tried.
    """
    user = os.getuid() if hasattr(os, "getuid") else None  # Windows has temporary folders by user
    base = Path(gettempdir()) / f"cheaptalk-locks-{getuser() if user is None else user}"
    for folder in (base, *(base.with_name(f"{base.name}-{n}") for n in range(1, LOCK_FOLDERS))):
        try:
            with suppress(FileExistsError):
                folder.mkdir(mode=0o700)
            details = folder.lstat()
        except OSError as error:
            raise StoreError(f"cannot create the lock folder {folder}: {error.strerror}") from None
        if S_ISDIR(details.st_mode) and user in (None, details.st_uid):
            return folder
    raise StoreError(
        f"cannot create a lock folder: {base} and the {LOCK_FOLDERS - 1} names after it belong to "
        "other users; set TMPDIR to a folder of your own"
    )


def _set_up(connection: sqlite3.Connection, _: object) -> None:
    connection.isolation_level = None  # _begin starts transactions, including those of DDL
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA secure_delete=ON")


def has_second_name(path: Path) -> bool:
    """Return whether a database file has several hard links, each of which has its own log."""
    return path.exists() and path.stat().st_nlink > 1


def _identity(path: Path) -> FileId | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino
