"""Running a coroutine to its end, stopped by Ctrl-C without losing what is under way."""

import asyncio
import gc
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, contextmanager
from importlib import import_module
from typing import Any

from cheaptalk.calls.desk import Desk, Models

INTERRUPTED = "interrupted"
"""Why a run halts that is stopped from the keyboard."""
SELDOM = (100_000, 50, 50)
"""Thresholds of the garbage collector while matches are live: a fifth less of CPU time a call."""


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
    """Run a coroutine where no loop runs."""
    try:
        with _collecting_seldom():
            asyncio.run(main)
    except ExceptionGroup as group:
        raise _first(group) from group


def over_the_wire(stack: AsyncExitStack) -> Models:
    """The way to all models, closed with the stack."""
    connect = import_module("cheaptalk.models.clients")  # slow, and seldom needed
    client = connect.open_models()
    stack.push_async_callback(client.close)
    models: Models = client
    return models


@contextmanager
def _collecting_seldom() -> Iterator[None]:
    """Look for garbage less often: thousands of live matches are none, and are many objects."""
    before = gc.get_threshold()
    gc.set_threshold(*SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*before)


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


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first single error in a group."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
