"""A copy of a store, in a store of any kind."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import sqlalchemy as sa

from cheaptalk.records.store import schema
from cheaptalk.records.store.backend import StoreError, StoreHeld
from cheaptalk.records.store.column_types import Shaped
from cheaptalk.records.store.reader import StoreReader
from cheaptalk.records.store.store import Store, expect_what_is_stored

AT_ONCE = 1_000
"""Rows that are read and written together."""
EVERY = sa.true()
TABLES = schema.metadata.sorted_tables
"""Tables in an order in which rows stand behind those that they name."""


def copy_store(
    source: Store, target: Store, progress: Callable[[int, int], None] = lambda _done, _of: None
) -> dict[str, int]:
    """Copy everything in a store to a new one, completely or not at all.

    The copy is a snapshot: a run may write to the source meanwhile, and what it commits after the
    beginning is not in the copy. Rows keep their numbers and ids, so that a study goes on in the
    copy as it would have here. What lies beside a file stays there: a cache, and the ids by which
    people came.

    Args:
        progress: told how many rows were copied, and of how many.

    Returns:
        How many rows each table has.

    Raises:
        StoreError: the target holds something or is being written to, or something in the source
            is damaged.
    """
    if source.backend.address == target.backend.address:
        raise StoreError(f"{source.name} cannot be copied to itself; name a new one")
    running = source.backend.held()
    with target.writing(), source.reading() as reading:
        expect_empty(target)
        counts = {table.name: count(reading, table) for table in TABLES}
        done, total = 0, sum(counts.values())
        with target.transaction() as writing:
            for table in TABLES:
                for rows in pages(reading, table):
                    writing.execute(sa.insert(table), rows)
                    done += len(rows)
                    progress(done, total)
            target.backend.renumber(writing)
            if running:  # what its run has yet to add is not missing in the copy
                expect_what_is_stored(writing)
    return counts


@contextmanager
def at_rest(store: StoreReader) -> Iterator[None]:
    """See that nobody writes to a store meanwhile; one that cannot be written is at rest.

    Raises:
        StoreHeld: somebody does.
    """
    with ExitStack() as held:
        try:
            held.enter_context(store.backend.holding(0))
        except StoreHeld:
            raise
        except StoreError:
            pass  # nobody can write to it
        yield


def expect_empty(store: StoreReader) -> None:
    """Refuse a store that holds something.

    Raises:
        StoreError: it does.
    """
    with store.reading() as there:
        if any(count(there, table) for table in TABLES):
            raise StoreError(
                f"{store.name} holds something already, and a copy is a store of its own; "
                "name a new one"
            )


def count(connection: sa.Connection, table: sa.Table, where: sa.ColumnElement[bool] = EVERY) -> int:
    """How many rows of a table fit."""
    return connection.scalar(sa.select(sa.func.count()).select_from(table).where(where)) or 0


def pages(
    connection: sa.Connection, table: sa.Table, where: sa.ColumnElement[bool] = EVERY
) -> Iterator[list[dict[str, Any]]]:
    """The rows of a table that fit, by its key; JSON that was never written is told from null."""
    shaped = [one for one in table.c if isinstance(one.type, Shaped) and one.nullable]
    lacking = [one.is_(sa.null()).label(f"no {one.name}") for one in shaped]
    every = sa.select(table, *lacking).where(where).order_by(*table.primary_key.columns)
    with connection.execute(every.execution_options(yield_per=AT_ONCE)) as found:
        for rows in found.mappings().partitions():
            yield [_values(row, table) for row in rows]


def _values(row: Mapping[Any, Any], table: sa.Table) -> dict[str, Any]:
    return {one.name: sa.null() if row.get(f"no {one.name}") else row[one.name] for one in table.c}
