"""Playing matches between scripted players: in this process, or over several."""

import time
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait

from cheaptalk.processes import Processes, processes
from cheaptalk.records import Ended, ended, scripted_answers
from cheaptalk.records.record import failed
from cheaptalk.records.store.reader import chunks
from cheaptalk.rules import Decide, play
from cheaptalk.rules.errors import describe
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
    with processes(workers, "what was played is kept: run it again, with fewer workers") as pool:
        yield from _over(pool, waiting, ahead=3 * workers)


def _over(pool: Processes, waiting: Iterator[list[PlannedMatch]], ahead: int) -> Iterator[Chunk]:
    """Keep a few chunks ahead of the one who stores them, so that memory stays flat."""
    running: dict[Future[list[Ended]], list[PlannedMatch]] = {}
    for chunk in waiting:
        running[pool.submit(_play_ends, chunk)] = chunk
        if len(running) >= ahead:
            yield from _collect(running)
    while running:
        yield from _collect(running)


def _collect(running: dict[Future[list[Ended]], list[PlannedMatch]]) -> Iterator[Chunk]:
    done, _ = wait(running, return_when=FIRST_COMPLETED)
    for future in done:
        yield list(zip(running.pop(future), future.result(), strict=True))


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
