"""Distribute work over several processes, which end with their parent."""

import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future, InvalidStateError, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing import get_context, parent_process
from threading import Thread, current_thread, main_thread
from typing import ParamSpec, Protocol, TypeVar

from cheaptalk.rules import CheaptalkError
from cheaptalk.rules.registry import PluginWarning

P = ParamSpec("P")
T = TypeVar("T")


class Pool(Protocol):
    """Workers that run in parallel."""

    def submit(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Call a module's function in one of the workers."""


class Processes:
    """Parallel processes of this package.

    They ignore stop signals, which their parent handles, and do not know objects that the parent
    registered.
    """

    def __init__(self, pool: ProcessPoolExecutor) -> None:
        self._pool = pool

    def submit(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Call a module's function in one of the processes."""
        with undisturbed():
            future = self._pool.submit(work, *args, **kwargs)
        future.__class__ = _Task
        return future


class _Task(Future[T]):
    """A submitted task, which may be cancelled before the pool loses its processes.

    Before Python 3.12, setting an exception on a cancelled task ends the pool's own thread, and all
    other tasks then wait forever.
    """

    def set_exception(self, exception: BaseException | None) -> None:
        with suppress(InvalidStateError):
            super().set_exception(exception)


@contextmanager
def processes(count: int, lost: str) -> Iterator[Processes]:
    """Yield a pool of processes, which start when there is work and end with the context.

    Args:
        lost: the text after "a process was killed, possibly for lack of memory".

    Raises:
        CheaptalkError: a process was killed, or could not start.
    """
    with undisturbed():  # this starts the process that tracks shared resources
        pool = ProcessPoolExecutor(count, get_context("spawn"), initializer=_begin)
    try:
        yield Processes(pool)
    except BrokenProcessPool:
        _abandon(pool)
        raise CheaptalkError(f"a process was killed, {_possible_cause()}; {lost}") from None
    except BaseException:
        _abandon(pool)
        raise
    finally:
        with undisturbed():
            pool.shutdown(wait=True, cancel_futures=True)


def _abandon(pool: ProcessPoolExecutor) -> None:
    """Kill the processes of a pool, and close the ends of its pipes that they leave open.

    Otherwise the pool's threads wait forever: one for the rest of a result, and before Python
    3.11.5 another for a reader of the work that is still in its pipe.
    """
    for process in [*(pool._processes or {}).values()]:  # as kill_workers does since Python 3.14
        process.kill()
    for queue, end in (("_result_queue", "_writer"), ("_call_queue", "_reader")):  # not public
        if getattr(pool, queue) is not None:
            getattr(getattr(pool, queue), end).close()


def _possible_cause() -> str:
    """Return why a process may have ended: each process runs the main script again, which may start
    more."""
    main = sys.modules["__main__"]
    if str(getattr(main, "__file__", "")).endswith(".py") and main.__spec__ is None:
        return (
            "possibly for lack of memory, or because this script starts work whenever it is "
            'imported; move its code under if __name__ == "__main__":'
        )
    return "possibly for lack of memory"


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Block stop signals inside the context; not available on Windows."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    signals = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)  # pending signals are now delivered


@contextmanager
def undisturbed() -> Iterator[None]:
    """Complete the context before a stop signal is handled.

    Processes that are started inside ignore these signals.
    """
    signals: list[int] = []
    is_main = current_thread() is main_thread()
    if is_main:
        previous = signal.signal(signal.SIGINT, lambda number, _: signals.append(number))
    try:
        with _signals_blocked():
            yield
    finally:
        if is_main:
            signal.signal(signal.SIGINT, previous)
    if signals and callable(previous):
        previous(signals[0], None)


def _begin() -> None:
    """End this process with its parent, and leave plugin warnings to the parent."""
    warnings.simplefilter("ignore", PluginWarning)
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    Thread(target=watch, daemon=True).start()
