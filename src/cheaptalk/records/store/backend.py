"""Database backends of a store: connections, locks and error messages.

Each kind of database is one module that registers under its URL scheme.
"""

import shlex
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from json import JSONDecodeError
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

import sqlalchemy as sa

from cheaptalk.processes import undisturbed
from cheaptalk.records.validation import DamagedValue
from cheaptalk.rules import CheaptalkError, suggest
from cheaptalk.rules.registry import Registry, is_function

T = TypeVar("T")


class StoreError(CheaptalkError):
    """Raised when a store cannot be used, with the cause and the remedy."""


class StoreNotFound(StoreError):
    """Raised when no store exists at a location and none may be created."""


class StoreLocked(StoreError):
    """Raised when another process is writing to the store."""


def held_by(holder: str = "") -> str:
    """Return the error message for a store that another process has locked."""
    suffix = f" ({holder})" if holder else ""
    return (
        f"another cheaptalk process{suffix} is writing to the store; wait until it ends, or stop "
        "it (to control a run: cheaptalk control STUDY)"
    )


class StoreAway(StoreError):
    """Raised when the database server is unavailable."""


class DamagedStore(StoreError):
    """Raised when a part of a store is damaged; the command lists all damage."""

    def __init__(
        self, location: str, what: str, command: str = "cheaptalk store doctor --deep"
    ) -> None:
        remedy = f"list all damage with: {command}; then restore a copy of the store"
        super().__init__(f"{location} is damaged ({what}); {remedy}")
        self.what = what


class Mailbox(Protocol):
    """A mailbox for a run's status and for commands from other processes."""

    location: str
    """The location of the status, for messages."""

    def write_state(self, text: str) -> None:
        """Replace the published status atomically."""

    def read_state(self) -> str | None:
        """Return the latest status; None before the first run."""

    def post(self, command: str, text: str) -> None: ...

    def take(self) -> Iterator[tuple[str, str]]:
        """Yield the pending commands, oldest first, removing each after it is read."""

    def withdraw(self, command: str) -> None:
        """Remove a command that has not been read."""

    def clear(self) -> None:
        """Remove the status and all pending commands."""


class Share(NamedTuple):
    """A range of planned matches, which only one run can claim.

    The range of match numbers in the plan ends before ``stop``; ``matches`` of them remain to be
    played.
    """

    kind: str
    start: int
    stop: int
    matches: int


class Shares:
    """The work of a study, which several runs divide among themselves in shares.

    This class gives all work to a single run, for databases that allow only one writer. ``first``
    is whether no other run was active when this run began; ``halted`` is why all runs must stop.
    """

    first = True
    halted: str | None = None

    def __init__(self) -> None:
        self._left: list[Share] = []

    def halt(self, reason: str) -> None:
        """Stop all runs that share the work."""
        self.halted = reason

    def offer(self, kind: str, shares: Callable[[], Iterable[Share]]) -> None:
        """Register shares of work, unless another run has registered shares of the same kind."""
        self._left.append(Share(kind, 0, sys.maxsize, 0))

    def take(self, kind: str, *, alone: bool = False) -> Share | None:
        """Claim an available share, or return None.

        With ``alone``, only the oldest active run may claim shares of this kind.
        """
        share = next((share for share in self._left if share.kind == kind), None)
        if share is not None:
            self._left.remove(share)
        return share

    def done(self, share: Share, connection: sa.Connection) -> None:
        """Mark a share as done, in the transaction that stores its results."""

    def waits(self, kind: str) -> bool:
        """Return whether other runs hold shares that may become available to this run."""
        return False

    def elsewhere(self) -> int:
        """Return the number of matches in shares that other runs have completed."""
        return 0


class Backend(ABC):
    """A database that contains a store.

    Attributes:
        name: the displayed name: a path, or a URL without its password.
        address: the address for other processes: a path, or the complete URL.
        own_tables: the names of tables that this kind of database adds to those of the store.
        mailbox: exchanges status and commands with the processes that control a run.
    """

    name: str
    address: str
    own_tables: frozenset[str] = frozenset()
    engine: sa.Engine
    mailbox: Mailbox

    @abstractmethod
    def holding(self, wait: float) -> AbstractContextManager[None]:
        """Lock the store exclusively for writing, waiting up to ``wait`` seconds.

        Raises StoreLocked while another process is writing, and StoreError if the store is not
        writable.
        """

    @contextmanager
    def sharing(self, work: str) -> Iterator[Shares]:
        """Lock the store for writing by this run and, if supported, other runs of the same work.

        Raises StoreLocked while a run of other work is writing; see also :meth:`holding`.
        """
        with self.holding(0):
            yield Shares()

    def check_free(self) -> None:
        """Check that no other process holds an exclusive lock on the store."""
        with self.holding(0):
            pass

    def held(self) -> bool:
        """Return whether a live process is writing to the store."""
        try:
            with self.holding(0):
                return False
        except StoreError:
            return True

    def patiently(self, work: Callable[[], T]) -> T:
        """Call a read function and, if possible, retry it while the server is unavailable."""
        return work()

    def commit(self, work: Callable[[sa.Connection], T]) -> T:
        """Call a function in a transaction that is committed exactly once.

        ``work`` may be called again if the server went away before the commit while this process
        holds the store.
        """
        with undisturbed(), self.transaction() as connection:
            return work(connection)

    @contextmanager
    def transaction(self) -> Iterator[sa.Connection]:
        """Yield a connection whose transaction is committed, or rolled back after an error.

        Other writers wait from the start of the transaction.
        """
        with (
            self.explaining(),
            self.engine.connect() as connection,
            connection.execution_options(writes=True).begin(),
        ):
            yield connection

    @abstractmethod
    def cure(self, error: Exception) -> str | None:
        """Return the meaning of a known database error and its fix; None for other errors."""

    def away(self, error: Exception) -> bool:
        """Return whether a database error means that the server is unavailable."""
        return False

    @abstractmethod
    def prepared(self, connection: sa.Connection) -> bool:
        """Return whether everything except the store's tables is set up in the database."""

    @abstractmethod
    def prepare(self) -> None: ...

    def renumber(self, connection: sa.Connection) -> None:  # noqa: B027 - most need no action
        """Make automatic row numbers continue after rows inserted with explicit numbers."""

    made = False
    """Whether this process created the database."""

    def discard(self) -> None:  # noqa: B027 - servers keep their databases
        """Remove a database that was created and never used."""

    def close(self) -> None:
        self.engine.dispose()

    def copied(self) -> bool:
        """Switch to a temporary copy if the database is read-only; return whether it was copied."""
        return False

    @abstractmethod
    def damage(self, *, full: bool = False) -> str | None:
        """Return a description of the file's damage; None if intact. ``full`` checks all data."""

    @abstractmethod
    def wipe(self) -> None:
        """Overwrite deleted data in the database's files; raise StoreError if readers block it."""

    def merge_log(self) -> bool:
        """Move all committed data into the main file; return whether no reader prevented it.

        Raises StoreError if the store's files were replaced after they were opened.
        """
        return True

    @abstractmethod
    def stamp(self) -> object:
        """Return a value that changes with every write."""

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Convert database errors to messages with a cause and a remedy."""
        try:
            yield
        except (DamagedValue, JSONDecodeError, UnicodeDecodeError) as error:
            command = f"cheaptalk store doctor --deep --store {shlex.quote(self.name)}"
            raise DamagedStore(self.name, str(error), command) from error
        except Exception as error:
            explanation = self.cure(error)
            if explanation is None:
                raise
            kind = StoreAway if self.away(error) else StoreError
            raise kind(f"{self.name}: {explanation}") from error


Opener: TypeAlias = Callable[[str, bool], Backend]
"""Opens the database at a URL; the flag allows creating a missing database."""
BACKENDS: Registry[Opener] = Registry("kind of store", "cheaptalk.stores", is_function)
"""Openers by URL scheme."""


def store_name(location: Path | str) -> str:
    """Return a store's displayed name: its file, or its URL without the password.

    >>> store_name("postgresql+psycopg://me:secret@db.example.org/talk?sslpassword=secret")
    'postgresql+psycopg://me@db.example.org/talk'
    """
    scheme, colon, _ = str(location).partition("://")
    if not colon:
        return str(location)
    try:
        url = sa.make_url(str(location))._replace(password=None)
    except (ValueError, sa.exc.ArgumentError):
        return f"{scheme}://..."
    return url.difference_update_query(["password", "sslpassword"]).render_as_string()


def open_backend(location: Path | str, create: bool) -> Backend:
    """Open the database at a path or URL.

    Raises StoreNotFound if it is missing and not to be created, and StoreError if it is unusable or
    of an unregistered kind.
    """
    scheme, colon, _ = str(location).partition("://")
    if not colon:
        scheme, location = "sqlite", f"sqlite:///{location}"
    if scheme not in BACKENDS:
        kind = suggest(scheme, list(BACKENDS))  # the rest of the URL may hold a password
        raise StoreError(f"{scheme}://...: unknown kind of store {kind}")
    return BACKENDS[scheme](str(location), create)


Row: TypeAlias = Callable[[Mapping[str, Any]], Any]


def write_rows(
    connection: sa.Connection, statement: sa.Insert, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Insert rows that have the same columns.

    Rows are passed to the driver together, because SQLAlchemy's processing of each row would take
    far longer than storing it.
    """
    if rows:
        text, convert = _driven(statement, connection.dialect, tuple(rows[0]))
        connection.exec_driver_sql(text, [*map(convert, rows)])


@lru_cache(maxsize=64)
def _driven(statement: sa.Insert, dialect: sa.Dialect, columns: tuple[str, ...]) -> tuple[str, Row]:
    """Return a statement's SQL text, and a function that converts a row to its parameters."""
    compiled = statement.compile(dialect=dialect, column_keys=list(columns))
    assert compiled.binds.keys() == set(columns), "a value of the statement's own"
    order = compiled.positiontup or columns
    types = [compiled.binds[name].type.dialect_impl(dialect) for name in order]
    processors = enumerate(column_type.bind_processor(dialect) for column_type in types)
    conversions = [(index, processor) for index, processor in processors if processor is not None]
    select_values = itemgetter(*order)

    def convert(values: Mapping[str, Any]) -> Any:
        parameters = [*select_values(values)]
        for index, processor in conversions:
            parameters[index] = processor(parameters[index])
        if compiled.positional:
            return tuple(parameters)
        return dict(zip(order, parameters, strict=True))

    return str(compiled), convert
