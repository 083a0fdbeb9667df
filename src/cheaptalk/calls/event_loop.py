"""The event loop of a run, which handles Ctrl-C without losing replies."""

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from functools import wraps
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

from cheaptalk.calls.batches import Batches, Batching
from cheaptalk.calls.budget import BudgetTracker, Halted
from cheaptalk.calls.cache import CallCache
from cheaptalk.calls.dispatcher import Dispatcher, Models
from cheaptalk.gc_tuning import LIVE, collecting
from cheaptalk.models.flow_control import PATIENCE, RateLimiters, unknown_capacity
from cheaptalk.models.prices import Prices
from cheaptalk.models.remote_agents import RemoteAgents
from cheaptalk.models.structured_output import RouteSupport
from cheaptalk.records import Store
from cheaptalk.records.ledger.batches import open_batches, refusals
from cheaptalk.records.ledger.ledger import Ledger

INTERRUPTED = "interrupted"
"""Halt reason of a run that was interrupted from the keyboard."""
CALLED_OFF = "called off"
"""Halt reason of a run that its caller cancelled."""

HEARTBEAT = 0.2
"""Interval in seconds at which an awaited run wakes its event loop: ipykernel cancels tasks from a
signal handler, which an idle event loop would not notice."""

P = ParamSpec("P")
T = TypeVar("T")


def awaitable(work: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Return a coroutine function that calls a blocking function in a separate thread.

    If the awaiting task is cancelled, the function's argument ``stop`` is set, and the task ends
    once all calls in flight are recorded.
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

    awaited.__name__ = awaited.__qualname__ = f"{work.__name__}_async"  # as in help()
    return awaited


def drive(main: Coroutine[Any, Any, None], dispatcher: Callable[[], Dispatcher | None]) -> None:
    """Run a coroutine, in a separate thread if an event loop is already running, as in notebooks.

    Ctrl-C halts the current dispatcher. Of several errors, the first is raised.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        _run_in_new_loop(main)
        return
    with ThreadPoolExecutor(1) as pool:
        try:
            pool.submit(_run_in_new_loop, main).result()
        except KeyboardInterrupt:
            if (opened := dispatcher()) is not None:
                opened.halt(INTERRUPTED)
            raise


def _run_in_new_loop(main: Coroutine[Any, Any, None]) -> None:
    try:
        with collecting(LIVE):
            asyncio.run(main)
    except ExceptionGroup as group:
        raise first_error(group) from group


@asynccontextmanager
async def open_dispatcher(
    store: Store,
    budget_tracker: BudgetTracker,
    study_id: int | None = None,
    *,
    models: Models | None = None,
    remote_agents: RemoteAgents | None = None,
    concurrency: int,
    patience: float = PATIENCE,
    cache: CallCache | None = None,
    signals: bool = True,
) -> AsyncIterator[Dispatcher]:
    """Open a dispatcher for a store that is locked for writing, and close it when the context ends.

    The calls are paid by the study, if any. The default client calls models over HTTP.
    """
    async with AsyncExitStack() as stack:
        ledger = stack.enter_context(Ledger(store, study_id))
        if models is None:
            clients = import_module("cheaptalk.models.clients")  # slow import, rarely needed
            models = client = clients.AllModels(RouteSupport(refusals(store)), remote_agents)
            stack.push_async_callback(client.close)
        if remote_agents is not None:
            remote_agents.begin()
        capacity = getattr(models, "capacity", unknown_capacity)
        limiters = RateLimiters(concurrency=concurrency, patience=patience, capacity=capacity)
        dispatcher = Dispatcher(store, ledger, models, budget_tracker, limiters, concurrency)
        dispatcher.begun, dispatcher.cache = store.with_open_calls(), cache
        dispatcher.remote_agents = remote_agents
        if signals:
            stack.enter_context(interruptible(dispatcher))
        yield dispatcher


@contextmanager
def interruptible(dispatcher: Dispatcher) -> Iterator[None]:
    """Halt a dispatcher on the first Ctrl-C, and stop immediately on the second."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    assert task is not None

    def interrupt() -> None:
        if dispatcher.halted:
            task.cancel()
        dispatcher.halt(INTERRUPTED)

    try:
        loop.add_signal_handler(signal.SIGINT, interrupt)
    except NotImplementedError:  # on Windows, Ctrl-C stops immediately
        yield
        return
    try:
        yield
    except asyncio.CancelledError:
        if dispatcher.halted != INTERRUPTED:
            raise
        raise KeyboardInterrupt from None
    finally:
        loop.remove_signal_handler(signal.SIGINT)


@asynccontextmanager
async def in_batches(
    dispatcher: Dispatcher,
    batching: Batching,
    prices: Prices,
    tell: Callable[[str], None],
    matches: Iterable[str],
) -> AsyncIterator[None]:
    """Collect the batches of earlier runs, then send a dispatcher's calls in batches.

    The dispatcher halts if an earlier batch has not ended and ``batching`` excludes waiting.
    """
    clients = import_module("cheaptalk.models.clients")  # slow import, rarely needed
    routes = RouteSupport(refusals(dispatcher.store))
    ledger, pace, connect = dispatcher.ledger, dispatcher.pace, clients.open_batches
    dispatcher.batches = Batches(ledger, pace, batching, connect, prices, routes, tell)
    try:
        try:
            await dispatcher.batches.recover(open_batches(dispatcher.store, matches))
        except Halted as halt:
            dispatcher.halt(str(halt))
        yield
    finally:
        await dispatcher.batches.close()


def first_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first exception in a group that is not itself a group."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
