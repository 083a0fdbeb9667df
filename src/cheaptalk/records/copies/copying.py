"""Copying of a store into a new store, possibly in another kind of database."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import sqlalchemy as sa

from cheaptalk.records.store import schema
from cheaptalk.records.store.backend import StoreError, StoreLocked
from cheaptalk.records.store.column_types import Shaped
from cheaptalk.records.store.lookup import StoreLike
from cheaptalk.records.store.reader import StoreReader
from cheaptalk.records.store.store import Store, expect_what_is_stored

AT_ONCE = 1_000
"""Number of rows per read and write."""
EVERY = sa.true()
TABLES: list[sa.Table] = schema.metadata.sorted_tables
"""Tables, each after the tables that it references."""


def copy_store(
    source: StoreLike,
    target: StoreLike,
    progress: Callable[[int, int], None] = lambda _count, _total: None,
) -> dict[str, int]:
    """Copy a store's contents to a new store, completely or not at all.

    The copy is a snapshot: data that a run commits to the source during copying is not included.
    Row numbers and ids are kept, so a study can resume in the copy. Files beside a store file
    (cache, participants' identities) are not copied.

    Args:
        source: the store to copy.
        target: the empty store to fill; created if missing.
        progress: called with the number of copied rows and the total.

    Returns:
        The number of rows of each table.

    Raises:
        StoreError: the target is not empty or is being written to, or the source is damaged.
    """
    with Store.opened(source) as source, Store.opened(target, create=True) as target:
        if source.backend.address == target.backend.address:
            raise StoreError(f"cannot copy {source.name} to itself; name a new store")
        running = source.backend.held()
        with filling(target) as writing, source.reading() as reading:
            counts = {table.name: count(reading, table) for table in TABLES}
            copied, total = 0, sum(counts.values())
            for table in TABLES:
                for rows in pages(reading, table):
                    writing.execute(sa.insert(table), rows)
                    copied += len(rows)
                    progress(copied, total)
            if running:  # matches that its run has yet to add are not missing from the copy
                expect_what_is_stored(writing)
        return counts


@contextmanager
def at_rest(store: StoreReader) -> Iterator[None]:
    """Prevent writes to a store; raise StoreLocked if another process is writing to it."""
    with ExitStack() as stack:
        try:
            stack.enter_context(store.backend.holding(0))
        except StoreLocked:
            raise
        except StoreError:
            pass  # read-only
        yield


@contextmanager
def filling(store: Store) -> Iterator[sa.Connection]:
    """Yield a transaction that fills an empty store; raise StoreError if it is not empty."""
    with store.writing():
        with store.reading() as connection:
            if any(count(connection, table) for table in TABLES):
                raise StoreError(f"{store.name} is not empty; name a new store for the copy")
        with store.transaction() as writing:
            yield writing
            store.backend.renumber(writing)


def count(connection: sa.Connection, table: sa.Table, where: sa.ColumnElement[bool] = EVERY) -> int:
    """Count the rows of a table that satisfy a condition."""
    return connection.scalar(sa.select(sa.func.count()).select_from(table).where(where)) or 0


def pages(
    connection: sa.Connection, table: sa.Table, where: sa.ColumnElement[bool] = EVERY
) -> Iterator[list[dict[str, Any]]]:
    """Yield lists of the rows that satisfy a condition, ordered by primary key."""
    json_columns = [
        column for column in table.c if isinstance(column.type, Shaped) and column.nullable
    ]
    nulls = [column.is_(sa.null()).label(f"no {column.name}") for column in json_columns]
    query = sa.select(table, *nulls).where(where).order_by(*table.primary_key.columns)
    with connection.execute(query.execution_options(yield_per=AT_ONCE)) as result:
        for rows in result.mappings().partitions():
            yield [_values(row, table) for row in rows]


def _values(row: Mapping[Any, Any], table: sa.Table) -> dict[str, Any]:
    return {
        column.name: sa.null() if row.get(f"no {column.name}") else row[column.name]
        for column in table.c
    }
