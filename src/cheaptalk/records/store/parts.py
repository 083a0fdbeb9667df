"""Division of a study's matches into parts that several processes read in parallel."""

from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

import sqlalchemy as sa

from cheaptalk.gc_tuning import READ, collecting
from cheaptalk.processes import processes
from cheaptalk.records.store import schema
from cheaptalk.records.store.reader import members_of
from cheaptalk.records.store.store import Store
from cheaptalk.rules import CheaptalkError
from cheaptalk.rules.registry import Registry

P = ParamSpec("P")
T = TypeVar("T")
Part = range | None
"""The match numbers of a part; None for all matches."""
LARGEST = 20_000
"""Maximum matches per part; the results of a part are kept in memory until it is done."""
WORTH_WORKERS = 5_000
"""Minimum number of matches for which worker processes save time."""
PARTS = 8
"""Parts per worker, so that all workers end at about the same time."""


def over_parts(
    store: Store,
    study: str,
    workers: int,
    work: Callable[Concatenate[Store, str, Part, P], T],
    *args: P.args,
    **kwargs: P.kwargs,
) -> list[T]:
    """Apply a module-level function to each part of a study; return the results in storage order.

    This process works too, starting with the last part. It works without others if there are few
    matches, or if it registered components that other processes don't know. With more than one
    worker, the caller's script must be importable (``if __name__ == "__main__":``). If a worker is
    killed, CheaptalkError is raised.
    """
    parts = _parts(store, study, workers)
    if len(parts) < 2:
        with collecting(READ):
            return [work(store, study, None, *args, **kwargs)]
    if workers == 1 or any(registry.here for registry in Registry.known):
        with collecting(READ):
            return [work(store, study, part, *args, **kwargs) for part in parts]
    with collecting(READ), processes(workers - 1, "ask for fewer workers") as pool:
        futures = {
            part: pool.submit(_work_on, store.backend.address, study, part, work, *args, **kwargs)
            for part in parts
        }
        try:
            results = {
                part: work(store, study, part, *args, **kwargs)
                for part in reversed(parts)
                if futures[part].cancel()  # it has not started
            }
        except CheaptalkError:
            for future in futures.values():
                if not future.cancelled():
                    future.result()  # raises the error of an earlier part
            raise
        return [results[part] if part in results else futures[part].result() for part in parts]


def _parts(store: Store, study: str, workers: int) -> list[range]:
    """Divide a study's matches into parts, several per worker; return [] for a small study."""
    number = schema.matches.c.number
    query = sa.select(sa.func.count(), sa.func.min(number), sa.func.max(number)).where(
        number.in_(members_of(study, past=True))
    )
    ((count, first, last),) = store.rows(query)
    if count < WORTH_WORKERS:
        return []
    step = min(LARGEST, -(-(last + 1 - first) // (PARTS * workers)))
    return [range(start, min(start + step, last + 1)) for start in range(first, last + 1, step)]


def _work_on(store: str, study: str, part: range, work: Any, *args: Any, **kwargs: Any) -> Any:
    with collecting(READ), Store.open(store) as opened:
        return work(opened, study, part, *args, **kwargs)
