"""A part of a study's plan: some of its games, or a few matches, to try it cheaply."""

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from itertools import chain, islice
from math import gcd
from typing import TypeVar

from cheaptalk.records import Store
from cheaptalk.records.record import SETTLED
from cheaptalk.records.store.reader import chunks
from cheaptalk.rules import suggest
from cheaptalk.studies.plans.matches import Block, PlannedMatch, PlannedMatches
from cheaptalk.studies.plans.plan import Plan
from cheaptalk.studies.study import StudyError

GOLDEN = (5**0.5 - 1) / 2
"""The share of a circle by which to step on, so that any first steps end far apart."""
FEW = 1_000
"""Matches that are looked up at once: mostly no more are wanted."""
T = TypeVar("T")


def part(
    planned: Plan, store: Store | None, *, games: Collection[str] = (), limit: int | None = None
) -> Plan:
    """The part of a plan that is of some games, or a few matches that have not ended yet.

    A few are spread. Matches that were begun come first; then the games take turns, and in each its
    configurations; in these every pairing plays on the first deal before any plays on the next.

    Args:
        store: where matches may have ended already; None where there is no store yet.
        games: names of games; none for all.
        limit: the most matches, 1 at least; None for all.

    Returns:
        A plan that knows of the whole: running it leaves the rest of the study to later runs.

    Raises:
        StudyError: the study has no such game.
    """
    matches = planned.matches
    if games:
        matches = _of_games(matches, games)
    if limit is not None:
        some = _unsettled(chain(_begun(matches, store), spread(matches)), store)
        matches = PlannedMatches(more=islice(some, limit))
    return Plan(planned.study, matches, within=planned)


def _of_games(matches: PlannedMatches, games: Collection[str]) -> PlannedMatches:
    names = list(dict.fromkeys(one.configuration.game.name for one in matches.groups()))
    for game in games:
        if game not in names:
            raise StudyError(f"the study has no game {suggest(game, names)}")
    return PlannedMatches(
        [block for block in matches.blocks if block.configuration.game.name in games],
        [match for match in matches.more if match.configuration.game.name in games],
    )


def _begun(matches: PlannedMatches, store: Store | None) -> Iterator[PlannedMatch]:
    """The matches of which the store has calls, in order: much of them may be paid for."""
    begun = store.with_open_calls() if store is not None else set()
    for match in matches if begun else ():
        if match.id in begun:
            yield match


def _unsettled(matches: Iterable[PlannedMatch], store: Store | None) -> Iterator[PlannedMatch]:
    """Those that have not ended, each once."""
    seen = set[str]()
    for some in chunks(matches, FEW):
        known = store.statuses(match.id for match in some) if store is not None else {}
        for match in some:
            if match.id not in seen and known.get(match.id) not in SETTLED:
                seen.add(match.id)
                yield match


def spread(matches: PlannedMatches) -> Iterator[PlannedMatch]:
    """All matches, in an order of which any beginning meets as much as it can."""
    games: dict[str, list[Iterator[PlannedMatch]]] = {}
    for block in matches.blocks:
        blocks = games.setdefault(block.configuration.game.name, [])
        blocks.append(_by_deals(block, len(blocks)))
    return chain(_in_turn(map(_in_turn, games.values())), matches.more)


def _by_deals(block: Block, number: int) -> Iterator[PlannedMatch]:
    """A configuration's matches: every pairing on a deal before the next deal.

    Args:
        number: of the configuration: the next one begins with other pairings.
    """
    if block.drawn is not None:
        yield from (block.match(block.drawn[one]) for one in _apart(len(block.drawn), number))
        return
    rows = len(block.seatings)
    for repeat in range(block.repeats):
        for deal in range(len(block.deals)):
            for row in _apart(rows, number):
                yield block.match((deal * rows + row) * block.repeats + repeat)


def _apart(count: int, offset: int) -> Iterator[int]:
    """The numbers below a count, each once, with neighbours far apart; offsets begin far apart too.

    >>> list(_apart(9, 0))
    [0, 7, 5, 3, 1, 8, 6, 4, 2]
    """
    step = round(count * GOLDEN)
    while gcd(step, count) > 1:
        step += 1
    start = round(offset * count * GOLDEN)
    return (number * step % count for number in range(start, start + count))


def _in_turn(sources: Iterable[Iterator[T]]) -> Iterator[T]:
    """One of each source in turn, until all are at their end."""
    waiting = deque(map(iter, sources))
    while waiting:
        source = waiting.popleft()
        for one in islice(source, 1):
            yield one
            waiting.append(source)
