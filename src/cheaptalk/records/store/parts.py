"""A study's matches in parts, which several processes read at the same time."""

from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

import sqlalchemy as sa

from cheaptalk.garbage import READ, collecting
from cheaptalk.processes import processes
from cheaptalk.records.store import schema
from cheaptalk.records.store.reader import members_of
from cheaptalk.records.store.store import Store
from cheaptalk.rules.registry import Registry

P = ParamSpec("P")
T = TypeVar("T")
Part = range | None
"""The numbers of the matches of a part; None for all."""
LARGEST = 20_000
"""Matches of a part at most: what is made of each is in memory until the part is done."""
WORTH_WORKERS = 5_000
"""Matches below which starting worker processes costs more than it saves."""
PARTS = 8
"""Parts for each worker, so that none waits long for another."""


def over_parts(
    store: Store,
    study: str,
    workers: int,
    work: Callable[Concatenate[Store, str, Part, P], T],
    *args: P.args,
    **kwargs: P.kwargs,
) -> list[T]:
    """What a function makes of each part of a study, in the order of storing.

    This process works as well, from the last part on, and so waits for no other to start. It works
    alone where there are few matches, or where it registered what others do not know.

    Args:
        workers: processes, this one included. More than one needs the caller's script
            to be importable (``if __name__ == "__main__":``).
        work: a function of a module; takes the store, the study, the part, and what is behind.

    Raises:
        CheaptalkError: a process was killed.
    """
    parts = _parts(store, study, workers)
    if len(parts) < 2:
        with collecting(READ):
            return [work(store, study, None, *args, **kwargs)]
    if workers == 1 or any(one.here for one in Registry.known):
        with collecting(READ):
            return [work(store, study, part, *args, **kwargs) for part in parts]
    with collecting(READ), processes(workers - 1, "ask for fewer workers") as pool:
        waiting = {
            part: pool.submit(_work_on, store.backend.address, study, part, work, *args, **kwargs)
            for part in parts
        }
        done = {
            part: work(store, study, part, *args, **kwargs)
            for part in reversed(parts)
            if waiting[part].cancel()  # as it has not begun
        }
        return [done[part] if part in done else waiting[part].result() for part in parts]


def of_part(part: Part) -> sa.ColumnElement[bool] | None:
    """A condition on matches: those of a part; None for all."""
    return None if part is None else schema.matches.c.number.between(part.start, part.stop - 1)


def _parts(store: Store, study: str, workers: int) -> list[range]:
    """Even parts, several for each worker; none where there is nothing to share out."""
    number = schema.matches.c.number
    query = sa.select(sa.func.count(), sa.func.min(number), sa.func.max(number)).where(
        number.in_(members_of(study, past=True))
    )
    with store.reading() as connection:
        count, first, last = connection.execute(query).one()
    if count < WORTH_WORKERS:
        return []
    step = min(LARGEST, -(-(last + 1 - first) // (PARTS * workers)))
    return [range(at, min(at + step, last + 1)) for at in range(first, last + 1, step)]


def _work_on(store: str, study: str, part: range, work: Any, *args: Any, **kwargs: Any) -> Any:
    with collecting(READ), Store.open(store) as opened:
        return work(opened, study, part, *args, **kwargs)
