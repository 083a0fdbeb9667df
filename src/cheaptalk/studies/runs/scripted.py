"""Matches between scripted players, played in one or several processes."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import NamedTuple

from cheaptalk.cluster import Cluster
from cheaptalk.processes import Pool, processes
from cheaptalk.records import MatchEnd, match_end, scripted_answers
from cheaptalk.records.chat import scripted_chat
from cheaptalk.records.record import failed
from cheaptalk.records.store.backend import Share
from cheaptalk.rules import Decide, play
from cheaptalk.rules.errors import describe
from cheaptalk.studies.plans.matches import PlannedMatch

WORTH_WORKERS = 2_000
"""Minimum number of matches for which worker processes save time."""

Chunk = list[tuple[PlannedMatch, MatchEnd]]


class Work(NamedTuple):
    """A chunk of matches that are played and committed together, and the share it belongs to."""

    share: Share
    matches: list[PlannedMatch]


def in_processes(count: int, workers: int, cluster: Cluster | None) -> bool:
    """Return whether matches are played in other processes, as only many matches are."""
    return cluster is not None or (workers > 1 and count >= WORTH_WORKERS)


def play_scripted(
    works: Iterator[Work], count: int, workers: int, cluster: Cluster | None = None
) -> Iterator[tuple[Share, Chunk]]:
    """Play matches on a cluster or this machine, and yield them in chunks as they end."""
    if cluster is not None:
        yield from _play_in_pool(cluster, works, lambda: 3 * cluster.cpus)
    elif not in_processes(count, workers, cluster):
        for share, matches in works:
            yield share, play_chunk(matches)
    else:
        lost = "played matches are kept: run the study again with fewer workers"
        with processes(workers, lost) as pool:
            yield from _play_in_pool(pool, works, lambda: 3 * workers)


def _play_in_pool(
    pool: Pool, works: Iterator[Work], ahead: Callable[[], int]
) -> Iterator[tuple[Share, Chunk]]:
    """Play matches in a process pool, keeping few chunks queued to limit memory."""
    running: dict[Future[list[MatchEnd]], Work] = {}
    for work in works:
        running[pool.submit(_play_ends, work.matches)] = work
        if len(running) >= ahead():
            yield from _collect(running)
    while running:
        yield from _collect(running)


def _collect(running: dict[Future[list[MatchEnd]], Work]) -> Iterator[tuple[Share, Chunk]]:
    done, _ = wait(running, return_when=FIRST_COMPLETED)
    for future in done:
        share, matches = running.pop(future)
        yield share, list(zip(matches, future.result(), strict=True))


def _play_ends(matches: list[PlannedMatch]) -> list[MatchEnd]:
    return [end for _, end in play_chunk(matches)]


def play_chunk(matches: list[PlannedMatch]) -> Chunk:
    """Play matches sequentially."""
    deciding: dict[tuple[str, str], Decide] = {}
    return [(match, _play_one(match, deciding)) for match in matches]


def _play_one(match: PlannedMatch, deciding: dict[tuple[str, str], Decide]) -> MatchEnd:
    game = match.configuration.game
    begun = time.time()
    players: dict[str, Decide] = {}
    for seat, seated in zip(game.seats, match.seating, strict=True):
        key = (game.name, seated.digest)
        if key not in deciding:
            deciding[key] = seated.spec.decide()
        players[seat] = deciding[key]
    try:
        table = play(game, match.instance, match.seed, players)
        answers, chat = scripted_answers(table.given), scripted_chat(table)
        return match_end(table, match.seed, answers, begun=begun, chat=chat)
    except Exception as error:  # noqa: BLE001 - one broken player must not end the others' matches
        return failed(describe(error), match.seed)
