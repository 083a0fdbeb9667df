"""Work over several processes, which end with the one that began them."""

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
    """Whoever works at the same time."""

    def submit(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Have a function of a module called by one of them."""


class Processes:
    """Processes of this package that work at the same time.

    They hear no signal to stop, which is for the one that began them to hear, and know nothing that
    was registered in it.
    """

    def __init__(self, pool: ProcessPoolExecutor) -> None:
        self._pool = pool

    def submit(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Have a function of a module called in one of them."""
        with undisturbed():
            asked = self._pool.submit(work, *args, **kwargs)
        asked.__class__ = _Asked
        return asked


class _Asked(Future[T]):
    """What was asked of a pool, which may lose its processes after this was taken back.

    Before Python 3.12, telling what was taken back that all is lost ends the pool's own thread, and
    whatever else was asked is waited for, for ever.
    """

    def set_exception(self, exception: BaseException | None) -> None:
        with suppress(InvalidStateError):
            super().set_exception(exception)


@contextmanager
def processes(count: int, lost: str) -> Iterator[Processes]:
    """As many processes, started when there is work, and gone at the end.

    Args:
        lost: what is said after "a process was killed, perhaps for want of memory".

    Raises:
        CheaptalkError: one was killed, or could not begin.
    """
    with undisturbed():  # a process that looks after what they share begins here
        pool = ProcessPoolExecutor(count, get_context("spawn"), initializer=_begin)
    try:
        yield Processes(pool)
    except BrokenProcessPool:
        _abandon(pool)
        raise CheaptalkError(f"a process was killed, {_perhaps()}; {lost}") from None
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


def _perhaps() -> str:
    """Why a process may have ended: a script that each of them runs again begins others."""
    main = sys.modules["__main__"]
    if str(getattr(main, "__file__", "")).endswith(".py") and main.__spec__ is None:
        return (
            "perhaps for want of memory, or since this script begins work wherever it is "
            'imported: put what it does under if __name__ == "__main__":'
        )
    return "perhaps for want of memory"


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Hold back signals to stop until the end; Windows cannot."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    stopping = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, stopping)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)  # and what waited is heard


@contextmanager
def undisturbed() -> Iterator[None]:
    """Do something to its end before a signal to stop is heard.

    Processes that are started meanwhile hear none.
    """
    heard: list[int] = []
    listening = current_thread() is main_thread()
    if listening:
        before = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    try:
        with _signals_blocked():
            yield
    finally:
        if listening:
            signal.signal(signal.SIGINT, before)
    if heard and callable(before):
        before(heard[0], None)


def _begin() -> None:
    """Let this process end with the one that began it, and leave warnings of plug-ins to that."""
    warnings.simplefilter("ignore", PluginWarning)
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    Thread(target=watch, daemon=True).start()
