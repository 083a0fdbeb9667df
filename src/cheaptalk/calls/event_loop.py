"""The event loop of a run: opening a desk and running what sits there; Ctrl-C loses nothing."""

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from functools import wraps
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

from cheaptalk.calls.batches import Batches, Batching, Carrier
from cheaptalk.calls.budget import Halted, Purse
from cheaptalk.calls.cache import CallCache
from cheaptalk.calls.desk import Desk, Models
from cheaptalk.garbage import LIVE, collecting
from cheaptalk.models.flow_control import PATIENCE, Lanes, unknown_capacity
from cheaptalk.models.guests import Guests
from cheaptalk.models.prices import Prices
from cheaptalk.models.structured_output import Known
from cheaptalk.records import Store
from cheaptalk.records.ledger.batches import open_batches, refusals
from cheaptalk.records.ledger.ledger import Ledger

INTERRUPTED = "interrupted"
"""Why a run halts that is stopped from the keyboard."""
CALLED_OFF = "called off"
"""Why a run halts whose caller wants it no longer."""

HEARTBEAT = 0.2
"""Seconds after which an awaited run wakes its event loop: ipykernel cancels a task from a signal
handler, which an event loop without timers notices only when something else wakes it."""

P = ParamSpec("P")
T = TypeVar("T")


def awaitable(work: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """A run, to be awaited: it goes on in a thread of its own.

    Where the task that awaits it is cancelled, it is called off, and the task ends when the run
    has: calls in flight have come back by then and are recorded.

    Args:
        work: takes ``stop``, the event by which it is called off.
    """

    @wraps(work)
    async def awaited(*args: P.args, **kwargs: P.kwargs) -> T:
        stop = kwargs.get("stop") or threading.Event()
        assert isinstance(stop, threading.Event)
        kwargs["stop"] = stop
        with ThreadPoolExecutor(1) as pool:
            running = asyncio.wrap_future(pool.submit(work, *args, **kwargs))
            try:
                while not running.done():
                    await asyncio.wait([running], timeout=HEARTBEAT)
                return running.result()
            except asyncio.CancelledError:
                stop.set()
                while not running.done():
                    with suppress(asyncio.CancelledError):
                        await asyncio.wait([running], timeout=HEARTBEAT)
                if error := running.exception():
                    raise error from None
                raise

    return awaited


def drive(main: Coroutine[Any, Any, None], desk: Callable[[], Desk | None]) -> None:
    """Run a coroutine; in a thread of its own where this one has a loop, as notebooks do.

    Args:
        main: what is run; of several errors in it the first is raised.
        desk: the desk it has opened by now, to be halted by Ctrl-C.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        _alone(main)
        return
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(_alone, main)
        try:
            running.result()
        except KeyboardInterrupt:
            opened = desk()
            if opened is not None:
                opened.halt(INTERRUPTED)
            raise


def _alone(main: Coroutine[Any, Any, None]) -> None:
    try:
        with collecting(LIVE):
            asyncio.run(main)
    except ExceptionGroup as group:
        raise _first(group) from group


@asynccontextmanager
async def open_desk(
    store: Store,
    purse: Purse,
    study_id: int | None = None,
    *,
    models: Models | None = None,
    guests: Guests | None = None,
    concurrency: int,
    patience: float = PATIENCE,
    cache: CallCache | None = None,
    signals: bool = True,
) -> AsyncIterator[Desk]:
    """A desk over a store's ledger, closed at the end.

    Args:
        store: held for writing.
        purse: what may be spent.
        study_id: the study that its calls are charged to; None where they are no study's.
        models: makes the calls to models; by default over HTTP.
        guests: has guests asked, where some come.
        concurrency: matches that may be under way at once.
        patience: seconds for which a model's server may be overloaded or away before it is given
            up.
        cache: where replies bought before are, if anywhere.
        signals: whether Ctrl-C halts it.
    """
    async with AsyncExitStack() as stack:
        ledger = stack.enter_context(Ledger(store, study_id))
        if models is None:
            clients = import_module("cheaptalk.models.clients")  # slow, and seldom needed
            models = client = clients.open_models(Known(refusals(store)), guests)
            stack.push_async_callback(client.close)
        if guests is not None:
            guests.begin()
        capacity = getattr(models, "capacity", unknown_capacity)
        lanes = Lanes(concurrency=concurrency, patience=patience, capacity=capacity)
        desk = Desk(
            store, ledger, models, purse, lanes=lanes,
            concurrency=concurrency, begun=store.with_open_calls(), cache=cache, guests=guests,
        )  # fmt: skip
        if signals:
            stack.enter_context(interruptible(desk))
        yield desk


@contextmanager
def interruptible(desk: Desk) -> Iterator[None]:
    """On Ctrl-C let the calls in flight come back and be recorded; on a second one, stop."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    assert task is not None

    def interrupt() -> None:
        if desk.halted:
            task.cancel()
        desk.halt(INTERRUPTED)

    try:
        loop.add_signal_handler(signal.SIGINT, interrupt)
    except NotImplementedError:  # on Windows Ctrl-C stops at once
        yield
        return
    try:
        yield
    except asyncio.CancelledError:
        if desk.halted != INTERRUPTED:
            raise
        raise KeyboardInterrupt from None
    finally:
        loop.remove_signal_handler(signal.SIGINT)


@asynccontextmanager
async def in_batches(
    desk: Desk,
    batching: Batching,
    prices: Prices,
    tell: Callable[[str], None],
    matches: Iterable[str],
) -> AsyncIterator[None]:
    """Have a desk's calls go out in batches, once those of earlier runs are collected.

    The desk halts where some of these have not ended and are not to be waited for.

    Args:
        tell: told how far all batches are.
        matches: the ids of those that are played.
    """
    clients = import_module("cheaptalk.models.clients")  # slow, and seldom needed
    routes = Known(refusals(desk.store))
    carrier = Carrier(desk.ledger, batching, clients.open_batches, prices, routes, tell)
    desk.batches = Batches(desk.ledger, desk.pace, carrier, routes)
    try:
        try:
            await desk.batches.recover(open_batches(desk.store, matches))
        except Halted as halt:
            desk.halt(str(halt))
        yield
    finally:
        await desk.batches.close()


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
