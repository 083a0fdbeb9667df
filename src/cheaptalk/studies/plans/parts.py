"""Partial plans: selected games, or a few matches for a cheap trial."""

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, islice
from math import gcd
from typing import TypeVar

from cheaptalk.players import ModelSeat, PersonSeat
from cheaptalk.players.seats import SeatSpec
from cheaptalk.records import Store
from cheaptalk.records.record import SETTLED
from cheaptalk.records.store.lookup import StoreLike, reads
from cheaptalk.records.store.reader import chunks
from cheaptalk.rules import suggest
from cheaptalk.studies.plans.matches import Block, PlannedMatch, PlannedMatches
from cheaptalk.studies.plans.plan import Plan, PlanLike, plan_of
from cheaptalk.studies.plans.seating import SeatedPlayer
from cheaptalk.studies.study import StudyError

GOLDEN = (5**0.5 - 1) / 2
"""The golden-ratio step; any number of such steps is spread evenly over a circle."""
FEW = 1_000
"""Number of matches in a query of the store."""
T = TypeVar("T")


@reads
def restrict_plan(
    planned: PlanLike,
    store: StoreLike | None,
    *,
    games: Collection[str] = (),
    limit: int | None = None,
) -> Plan:
    """Restrict a plan to some games or to a limited number of matches that have not ended.

    With a limit, matches in progress come first. Then games alternate, and within a game its
    configurations alternate. All pairings play on an instance before the next instance.

    Args:
        limit: maximum number of matches, at least 1; None for all matches.

    Returns:
        A plan that refers to the full plan, so that later runs can play the remaining matches.

    Raises:
        StudyError: the study has no such game.
    """
    assert store is None or isinstance(store, Store)
    planned = plan_of(planned, store)
    matches = planned.matches
    if games:
        matches = _of_games(matches, games)
    if limit is not None:
        unsettled = _unsettled(chain(_begun(matches, store), spread(matches)), store)
        matches = PlannedMatches(extra=islice(unsettled, limit))
    return Plan(planned.study, matches, within=planned.within or planned)


def without_people(planned: PlanLike) -> Plan:
    """Restrict a plan to the matches without people."""
    return _without(plan_of(planned), PersonSeat)


def without_models(planned: PlanLike) -> Plan:
    """Restrict a plan to the matches without language models."""
    return _without(plan_of(planned), ModelSeat)


def playable(planned: PlanLike) -> Plan:
    """Restrict a plan to the matches without people, unless people play in all matches."""
    planned = plan_of(planned)
    part = without_people(planned)
    return part if part.matches else planned


def _without(planned: Plan, kind: type[SeatSpec]) -> Plan:
    matches = planned.matches.only(
        lambda seating: not any(isinstance(seated.spec, kind) for seated in seating)
    )
    if len(matches) == len(planned.matches):
        return planned
    return Plan(planned.study, matches, within=planned.within or planned)


def has_people(seating: Sequence[SeatedPlayer]) -> bool:
    """Return whether a person has a seat."""
    return any(isinstance(seated.spec, PersonSeat) for seated in seating)


def _of_games(matches: PlannedMatches, games: Collection[str]) -> PlannedMatches:
    names = list(dict.fromkeys(group.configuration.game.name for group in matches.groups()))
    for game in games:
        if game not in names:
            raise StudyError(f"the study has no game {suggest(game, names)}")
    return PlannedMatches(
        [block for block in matches.blocks if block.configuration.game.name in games],
        [match for match in matches.extra if match.configuration.game.name in games],
    )


def _begun(matches: PlannedMatches, store: Store | None) -> Iterator[PlannedMatch]:
    """Yield the matches in progress, because most of their calls may already be paid for."""
    begun = store.with_open_calls() if store is not None else set()
    for match in matches if begun else ():
        if match.id in begun:
            yield match


def _unsettled(matches: Iterable[PlannedMatch], store: Store | None) -> Iterator[PlannedMatch]:
    """Yield the matches that have not ended, without duplicates."""
    seen = set[str]()
    for batch in chunks(matches, FEW):
        statuses = store.statuses(match.id for match in batch) if store is not None else {}
        for match in batch:
            if match.id not in seen and statuses.get(match.id) not in SETTLED:
                seen.add(match.id)
                yield match


def spread(matches: PlannedMatches) -> Iterator[PlannedMatch]:
    """Yield all matches, ordered so that the first matches cover as many pairings as possible."""
    games: dict[str, list[Iterator[PlannedMatch]]] = {}
    for block in matches.blocks:
        blocks = games.setdefault(block.configuration.game.name, [])
        blocks.append(_by_instances(block, len(blocks)))
    return chain(_in_turn(map(_in_turn, games.values())), matches.extra)


def _by_instances(block: Block, number: int) -> Iterator[PlannedMatch]:
    """Yield a configuration's matches instance by instance, each with all of its pairings.

    The ``number`` of the configuration determines the first pairing.
    """
    if block.draw is not None:
        indices = _dispersed(len(block), number)
        yield from (block.match(block.positions[index]) for index in indices)
        return
    rows = len(block.seatings)
    for repeat in range(block.repeats):
        for instance in range(len(block.instances)):
            for row in _dispersed(rows, number):
                yield block.match((instance * rows + row) * block.repeats + repeat)


def _dispersed(count: int, offset: int) -> Iterator[int]:
    """Yield the numbers below ``count`` in an order in which neighbors are far apart.

    >>> list(_dispersed(9, 0))
    [0, 7, 5, 3, 1, 8, 6, 4, 2]
    """
    step = round(count * GOLDEN)
    while gcd(step, count) > 1:
        step += 1
    start = round(offset * count * GOLDEN)
    return (number * step % count for number in range(start, start + count))


def _in_turn(sources: Iterable[Iterator[T]]) -> Iterator[T]:
    """Yield items from the sources in turn until all are exhausted."""
    waiting = deque(map(iter, sources))
    while waiting:
        source = waiting.popleft()
        for item in islice(source, 1):
            yield item
            waiting.append(source)
