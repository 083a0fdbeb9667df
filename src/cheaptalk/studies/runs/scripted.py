"""Playing matches between scripted players: in this process, or over several."""

import os
import signal
import time
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from threading import Thread, current_thread, main_thread

from cheaptalk.records import Ended, ended, scripted_answers
from cheaptalk.records.record import failed
from cheaptalk.records.store.reader import chunks
from cheaptalk.rules import CheaptalkError, Decide, play
from cheaptalk.rules.play import describe
from cheaptalk.rules.registry import PluginWarning
from cheaptalk.studies.plans.matches import PlannedMatch

CHUNK = 512
"""Matches that are played, handed over and committed together."""
WORTH_WORKERS = 2_000
"""Matches below which starting worker processes costs more than it saves."""

Chunk = list[tuple[PlannedMatch, Ended]]


def play_scripted(matches: Iterable[PlannedMatch], count: int, workers: int) -> Iterator[Chunk]:
    """Play matches, yielding them in chunks as they end; the order is not that of the plan.

    Args:
        count: how many there are.
    """
    waiting = chunks(matches, CHUNK)
    if workers <= 1 or count < WORTH_WORKERS:
        for chunk in waiting:
            yield play_chunk(chunk)
        return
    with _undisturbed():
        pool = ProcessPoolExecutor(workers, get_context("spawn"), initializer=_begin_worker)
    try:
        yield from _over(pool, waiting, ahead=3 * workers)
    except BrokenProcessPool:
        raise CheaptalkError(
            "a process that plays matches was killed, perhaps for want of memory; what was played "
            "is kept: run the study again, with fewer workers"
        ) from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _over(
    pool: ProcessPoolExecutor, waiting: Iterator[list[PlannedMatch]], ahead: int
) -> Iterator[Chunk]:
    """Keep a few chunks ahead of the one who stores them, so that memory stays flat."""
    running: dict[Future[list[Ended]], list[PlannedMatch]] = {}
    for chunk in waiting:
        with _undisturbed():
            running[pool.submit(_play_ends, chunk)] = chunk
        if len(running) >= ahead:
            yield from _collect(running)
    while running:
        yield from _collect(running)


def _collect(running: dict[Future[list[Ended]], list[PlannedMatch]]) -> Iterator[Chunk]:
    done, _ = wait(running, return_when=FIRST_COMPLETED)
    for future in done:
        yield list(zip(running.pop(future), future.result(), strict=True))


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Start processes that hear no signal to stop; this one hears it when they are started."""
    heard: list[int] = []
    listening = current_thread() is main_thread()
    if listening:
        before = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    stopping = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, stopping)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        if listening:
            signal.signal(signal.SIGINT, before)
    if heard:
        raise KeyboardInterrupt


def _begin_worker() -> None:
    """Let this process end with the one that began it, and leave warnings of plug-ins to that."""
    warnings.simplefilter("ignore", PluginWarning)
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def _play_ends(matches: list[PlannedMatch]) -> list[Ended]:
    return [end for _, end in play_chunk(matches)]


def play_chunk(matches: list[PlannedMatch]) -> Chunk:
    """Play some matches, one after the other."""
    deciding: dict[tuple[str, str], Decide] = {}
    return [(match, _play_one(match, deciding)) for match in matches]


def _play_one(match: PlannedMatch, deciding: dict[tuple[str, str], Decide]) -> Ended:
    game = match.configuration.game
    begun = time.time()
    players: dict[str, Decide] = {}
    for place, seated in zip(game.places, match.seating, strict=True):
        key = (game.name, seated.digest)
        if key not in deciding:
            deciding[key] = seated.spec.decide()
        players[place] = deciding[key]
    try:
        table = play(game, match.deal, match.seed, players)
        return ended(table, match.seed, scripted_answers(table.given), begun=begun)
    except Exception as error:  # noqa: BLE001 - one broken player must not end the others' matches
        return failed(describe(error), match.seed)
