"""Distribution of work over several processes, which end with their parent process."""

import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future, InvalidStateError, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing import parent_process
from multiprocessing.context import SpawnContext, SpawnProcess
from threading import Thread, current_thread, main_thread
from typing import ClassVar, ParamSpec, Protocol, TypeVar

from cheaptalk.rules import CheaptalkError
from cheaptalk.rules.registry import PluginWarning

P = ParamSpec("P")
T = TypeVar("T")


class Pool(Protocol):
    """Workers that run in parallel."""

    def submit(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Call a module-level function in a worker."""


class Processes:
    """A pool of processes that ignore stop signals and don't inherit the parent's registries."""

    def __init__(self, pool: ProcessPoolExecutor) -> None:
        self._pool = pool

    def submit(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        with undisturbed():
            future = self._pool.submit(work, *args, **kwargs)
        future.__class__ = _Task
        return future


class _Task(Future[T]):
    """A submitted task that ignores exceptions after it is cancelled.

    Before Python 3.12, such an exception ends the pool's thread, and other tasks wait forever.
    """

    def set_exception(self, exception: BaseException | None) -> None:
        with suppress(InvalidStateError):
            super().set_exception(exception)


class _Worker(SpawnProcess):
    """A process that blocks stop signals, so that only a kill ends it."""

    def terminate(self) -> None:
        self.kill()


class _Context(SpawnContext):
    """The context of a pool, which waits for each worker that it has terminated."""

    Process: ClassVar[type[SpawnProcess]] = _Worker


@contextmanager
def processes(count: int, lost: str) -> Iterator[Processes]:
    """Yield a pool of processes, which start at the first task and end with the context.

    Raises CheaptalkError, with the advice ``lost``, if a process was killed or could not start.
    """
    with undisturbed():  # this starts the process that tracks shared resources
        pool = ProcessPoolExecutor(count, _Context(), initializer=_begin)
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
    """Kill the processes of a pool, and close its pipes because its threads wait for them."""
    for process in [*(pool._processes or {}).values()]:  # like kill_workers since Python 3.14
        process.kill()
    pipes = [("_result_queue", "_writer")]  # not public
    if sys.version_info < (3, 11, 5):  # newer versions close this one in a thread of the pool
        pipes.append(("_call_queue", "_reader"))
    for queue, end in pipes:
        if getattr(pool, queue) is not None:
            getattr(getattr(pool, queue), end).close()


def _possible_cause() -> str:
    """Return why a process may have been killed: low memory, or a script without a main guard."""
    main = sys.modules["__main__"]
    cause = "possibly for lack of memory"
    if str(getattr(main, "__file__", "")).endswith(".py") and main.__spec__ is None:
        cause += ", or because importing this script starts work; "
        cause += 'move its code under if __name__ == "__main__":'
    return cause


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Block stop signals in the context, except on Windows."""
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
    """Defer stop signals until the context ends; processes started in the context ignore them."""
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
    """Prepare a worker: end it with its parent, and ignore warnings that the parent prints."""
    warnings.simplefilter("ignore", PluginWarning)
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    Thread(target=watch, daemon=True).start()
