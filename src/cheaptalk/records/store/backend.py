"""The database that a store is in: where it lies, who writes to it, and what its errors mean.

A kind of database is one module. It registers under the scheme of its URLs, and the rest of the
package knows no other way to it.
"""

import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from json import JSONDecodeError
from operator import itemgetter
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

import sqlalchemy as sa

from cheaptalk.processes import undisturbed
from cheaptalk.records.shapes import DamagedValue
from cheaptalk.records.store.shares import Shares, Undivided
from cheaptalk.rules import CheaptalkError, suggest
from cheaptalk.rules.registry import Registry, is_function

T = TypeVar("T")


class StoreError(CheaptalkError):
    """The store cannot be used; the message names the cause and the cure."""


class NoStore(StoreError):
    """There is no store there, and none is to be made."""


class StoreHeld(StoreError):
    """Another process is writing to the store."""


def held_by(other: str = "") -> str:
    """Why a second writer is refused.

    Args:
        other: who writes, where that is known.
    """
    who = f" ({other})" if other else ""
    return (
        f"another cheaptalk{who} is writing to it; wait for it to end, or stop it (look after a "
        "run with: cheaptalk ctl STUDY)"
    )


class StoreAway(StoreError):
    """The database's server went away, or is not back yet."""


class DamagedStore(StoreError):
    """Something in a store is not as it was written.

    Attributes:
        what: what is wrong.
    """

    def __init__(self, place: str, what: str, look: str = "cheaptalk doctor --deep") -> None:
        """Say so.

        Args:
            place: where it is.
            look: the command that finds all that is wrong.
        """
        cure = f"see what else is hurt with: {look}; restore a copy of the store"
        super().__init__(f"{place} is damaged ({what}); {cure}")
        self.what = what


class Mailbox(Protocol):
    """Where a run gives account of itself, and where orders to it lie."""

    place: str
    """Where the account is, for people."""

    def write_account(self, text: str) -> None:
        """Replace the account as a whole: who reads sees the old one or the new one."""

    def read_account(self) -> str | None:
        """The latest account; None where no run has given one."""

    def post(self, order: str, text: str) -> None:
        """Leave an order."""

    def take(self) -> Iterator[tuple[str, str]]:
        """The orders that came, oldest first; each is removed once it is read."""

    def withdraw(self, order: str) -> None:
        """Take an order back, if nobody has read it."""

    def clear(self) -> None:
        """Remove what belongs to no run any more."""


class Backend(ABC):
    """One database with a store in it.

    Attributes:
        name: what people know it by: a path, or a URL without its password.
        address: what another process opens it by: a path, or the whole URL.
        own_tables: names of tables that the kind of database has beside those of a store.
        engine: how SQLAlchemy reaches it.
        mailbox: where a run and those who look after it leave word for each other.
    """

    name: str
    address: str
    own_tables: frozenset[str] = frozenset()
    engine: sa.Engine
    mailbox: Mailbox

    @abstractmethod
    def holding(self, wait: float) -> AbstractContextManager[None]:
        """Hold the store for writing, alone; wait so many seconds for another to let it go.

        Raises:
            StoreHeld: another process holds it.
            StoreError: it cannot be written.
        """

    @contextmanager
    def sharing(self, work: str) -> Iterator[Shares]:
        """Hold the store for writing, together with others that do the same work where several can.

        Args:
            work: differs for those that do something else.

        Raises:
            StoreHeld: somebody else holds it.
            StoreError: it cannot be written.
        """
        with self.holding(0):
            yield Undivided()

    def check_free(self) -> None:
        """See that nobody writes to it who shares the work with no other.

        Raises:
            StoreHeld: somebody does.
            StoreError: it cannot be written.
        """
        with self.holding(0):
            pass

    def held(self) -> bool:
        """Whether somebody writes to it; who was killed does not any more."""
        try:
            with self.holding(0):
                return False
        except StoreError:
            return True

    def patiently(self, work: Callable[[], T]) -> T:
        """Do some reading; once more where the database was away and this process holds it."""
        return work()

    def commit(self, work: Callable[[sa.Connection], T]) -> T:
        """Do some writing in a transaction, which is kept once; work may be called again where the
        database went away before it kept what was written, and this process holds it.
        """
        with undisturbed(), self.transaction() as connection:
            return work(connection)

    @contextmanager
    def transaction(self) -> Iterator[sa.Connection]:
        """A connection whose work is committed at the end, or undone by an error.

        Another writer waits from the beginning on, not only from the first write.
        """
        with (
            self.explaining(),
            self.engine.connect() as connection,
            connection.execution_options(writes=True).begin(),
        ):
            yield connection

    @abstractmethod
    def cure(self, error: Exception) -> str | None:
        """What a database error means and what to do, in a sentence; None where it is no such."""

    def away(self, error: Exception) -> bool:
        """Whether a database error says that its server is away."""
        return False

    @abstractmethod
    def prepared(self, connection: sa.Connection) -> bool:
        """Whether the database is set up as a store needs it, tables aside."""

    @abstractmethod
    def prepare(self) -> None:
        """Set the database up as a store needs it, tables aside."""

    def renumber(self, connection: sa.Connection) -> None:  # noqa: B027 - most do it by themselves
        """Number new rows behind those that came with numbers of their own."""

    made = False
    """Whether there was no database before this process opened it."""

    def discard(self) -> None:  # noqa: B027 - a server's databases are made by others
        """Remove a database that was made and never used."""

    def close(self) -> None:
        """Let go of the database."""
        self.engine.dispose()

    def copied(self) -> bool:
        """Read a copy from now on, if the database cannot be written; whether it is so."""
        return False

    @abstractmethod
    def damage(self, *, whole: bool = False) -> str | None:
        """What is wrong with the database itself, or None if it is sound.

        Args:
            whole: look at all of it, which takes longer.
        """

    @abstractmethod
    def wipe(self) -> None:
        """See that nothing that was deleted stays in the database's files.

        Raises:
            StoreError: somebody reads it meanwhile for so long that this cannot be.
        """

    def merge_log(self) -> bool:
        """Move everything that was committed into the store's main file; whether that worked.

        Raises:
            StoreError: the store's files are no longer those that were opened.
        """
        return True

    @abstractmethod
    def stamp(self) -> object:
        """Differs whenever something has been written since."""

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Turn database errors into sentences that name the cause and the cure."""
        try:
            yield
        except (DamagedValue, JSONDecodeError, UnicodeDecodeError) as error:
            look = f"cheaptalk doctor --deep --store {shlex.quote(self.name)}"
            raise DamagedStore(self.name, str(error), look) from error
        except Exception as error:
            said = self.cure(error)
            if said is None:
                raise
            raise (StoreAway if self.away(error) else StoreError)(f"{self.name}: {said}") from error


Opener: TypeAlias = Callable[[str, bool], Backend]
"""Opens the database at a URL; makes one that is not there, or raises NoStore if that is false."""
BACKENDS: Registry[Opener] = Registry("kind of store", "cheaptalk.stores", is_function)
"""Kinds of databases by the scheme of their URLs."""


def store_name(where: Path | str) -> str:
    """A store as people are told of it: its file, or its URL without a password.

    >>> store_name("postgresql+psycopg://me:secret@db.example.org/talk?sslpassword=secret")
    'postgresql+psycopg://me@db.example.org/talk'
    """
    scheme, colon, _ = str(where).partition("://")
    if not colon:
        return str(where)
    try:
        url = sa.make_url(str(where))._replace(password=None)
    except (ValueError, sa.exc.ArgumentError):
        return f"{scheme}://..."
    return url.difference_update_query(["password", "sslpassword"]).render_as_string()


def open_backend(where: Path | str, create: bool) -> Backend:
    """The database at a path or a URL.

    Raises:
        StoreError: it is not there (NoStore), cannot be used, or is of no kind that is registered.
    """
    scheme, colon, _ = str(where).partition("://")
    if not colon:
        scheme, where = "sqlite", f"sqlite:///{where}"
    if scheme not in BACKENDS:
        kind = suggest(scheme, list(BACKENDS))  # the rest of the URL may hold a password
        raise StoreError(f"{scheme}://...: unknown kind of store {kind}")
    return BACKENDS[scheme](str(where), create)


Row: TypeAlias = Callable[[Mapping[str, Any]], Any]


def write_rows(
    connection: sa.Connection, statement: sa.Insert, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Write rows that have the same columns.

    The driver gets them at once: what SQLAlchemy does for each row would take far longer than to
    store it.

    Args:
        statement: inserts a row, and has no values of its own.
    """
    if rows:
        text, row = _driven(statement, connection.dialect, tuple(rows[0]))
        connection.exec_driver_sql(text, [*map(row, rows)])


@lru_cache(maxsize=64)
def _driven(statement: sa.Insert, dialect: sa.Dialect, columns: tuple[str, ...]) -> tuple[str, Row]:
    """A statement as a driver takes it, and what makes its parameters of a row."""
    made = statement.compile(dialect=dialect, column_keys=list(columns))
    assert made.binds.keys() == set(columns), "a value of the statement's own"
    order = made.positiontup or columns
    types = [made.binds[name].type.dialect_impl(dialect) for name in order]
    processors = [(at, one.bind_processor(dialect)) for at, one in enumerate(types)]
    written = [(at, processor) for at, processor in processors if processor is not None]
    chosen = itemgetter(*order)

    def row(values: Mapping[str, Any]) -> Any:
        driven = [*chosen(values)]
        for at, processor in written:
            driven[at] = processor(driven[at])
        return tuple(driven) if made.positional else dict(zip(order, driven, strict=True))

    return str(made), row
