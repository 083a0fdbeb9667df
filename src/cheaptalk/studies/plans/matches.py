"""Planned matches, generated on demand so that large plans need little memory."""

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import accumulate, chain, compress, islice
from sys import maxsize
from typing import NamedTuple, overload

from cheaptalk.records import configuration_digest
from cheaptalk.records.identity import match_digest
from cheaptalk.rules import Game, Instance, Stream, counted
from cheaptalk.rules.display import brief
from cheaptalk.studies.plans.seating import Rows, SeatedPlayer


@dataclass(frozen=True, eq=False)
class Configuration:
    """A game with its parameters."""

    game: Game

    @cached_property
    def digest(self) -> str:
        return configuration_digest(self.game)


class PlannedInstance(NamedTuple):
    """A planned instance, defined by its seed or, if copied from another study, by its content.

    Matches on the same instance have the same ``key``. A replacement has the key and seed of the
    original instance with a number appended.

    >>> PlannedInstance("3", "0/abc/3").replacement().replacement()
    PlannedInstance(key='3+2', seed='0/abc/3+2', explicit=None)
    """

    key: str
    seed: str
    explicit: Instance | None = None

    @property
    def replacements(self) -> int:
        """Number of times that the original instance was replaced."""
        return int(self.key.partition("+")[2] or 0)

    def replacement(self) -> "PlannedInstance":
        """Return the instance that replaces this one."""
        number = self.replacements + 1
        key, seed = (text.partition("+")[0] for text in (self.key, self.seed))
        return PlannedInstance(f"{key}+{number}", f"{seed}+{number}")


class PlannedMatch(NamedTuple):
    """A match of a study, identified by a hash of its definition."""

    id: str
    configuration: Configuration
    planned_instance: PlannedInstance
    seating: tuple[SeatedPlayer, ...]
    repeat: int

    def __repr__(self) -> str:
        players = " / ".join(player.label for player in self.seating)
        game = self.configuration.game.name
        instance = f"instance {self.planned_instance.key}, repeat {self.repeat}"
        return brief(self, f"{self.id}, {game}, {players}, {instance}")

    @property
    def seed(self) -> str:
        """The match's random seed, which all seatings on the same instance share."""
        seed = self.planned_instance.seed
        return f"{seed}/{self.repeat}" if self.repeat else seed

    @property
    def instance(self) -> Instance:
        """The instance that the match is played on, shared by all seatings and repeats."""
        if self.planned_instance.explicit is not None:
            return self.planned_instance.explicit
        return self.configuration.game.instance_of(self.planned_instance.seed)

    @property
    def scripted(self) -> bool:
        """Whether all players are scripts, so that the seed determines all moves."""
        return _instant(self.seating)


def match_of(
    configuration: Configuration,
    instance: PlannedInstance,
    seating: tuple[SeatedPlayer, ...],
    repeat: int,
) -> PlannedMatch:
    """Create a match and compute its id."""
    players = [player.digest for player in seating]
    identity = _identity(configuration.digest, instance, players, repeat)
    return PlannedMatch(identity, configuration, instance, seating, repeat)


def _identity(
    configuration: str, instance: PlannedInstance, players: Sequence[str], repeat: int
) -> str:
    content = "" if instance.explicit is None else instance.explicit.model_dump_json()
    return match_digest(configuration, instance.seed, content, repeat, players)


class NumberedInstances(Sequence[PlannedInstance]):
    """The instances of a configuration in a study, generated on demand.

    >>> NumberedInstances("0/abc", 10_000_000)[-1].seed
    '0/abc/9999999'
    """

    def __init__(self, prefix: str, size: int) -> None:
        self.prefix, self.size = prefix, size

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, index: int) -> PlannedInstance: ...
    @overload
    def __getitem__(self, index: slice) -> list[PlannedInstance]: ...
    def __getitem__(self, index: int | slice) -> PlannedInstance | list[PlannedInstance]:
        selected = range(self.size)[index]
        if isinstance(selected, int):
            return PlannedInstance(f"{selected}", f"{self.prefix}/{selected}")
        return [self[number] for number in selected]


class Group(NamedTuple):
    """Matches of one configuration with the same players in the same seats."""

    configuration: Configuration
    seating: tuple[SeatedPlayer, ...]
    matches: int
    first: Callable[[], PlannedMatch]

    def __repr__(self) -> str:
        return brief(self, f"{counted(self.matches, 'match')} like {self.first!r}")

    @property
    def instant(self) -> bool:
        """Whether all players are scripts."""
        return _instant(self.seating)


@dataclass(frozen=True, eq=False)
class Block:
    """The matches of one configuration: seatings x instances x repeats.

    Attributes:
        size: number of matches to play; None for all possible matches.
        draw: returns the sorted positions of these matches; called on first access.
    """

    configuration: Configuration
    instances: Sequence[PlannedInstance]
    seatings: Rows
    repeats: int
    size: int | None = None
    draw: Callable[[], Sequence[int]] | None = None

    @property
    def possible(self) -> int:
        """Number of possible matches."""
        return len(self.instances) * len(self.seatings) * self.repeats

    def __len__(self) -> int:
        return self.possible if self.size is None else self.size

    @cached_property
    def positions(self) -> Sequence[int]:
        """The positions of the matches to play among all possible matches."""
        return range(self.possible) if self.draw is None else self.draw()

    def seated(self, position: int) -> int:
        return position // self.repeats % len(self.seatings)

    def match(self, position: int) -> PlannedMatch:
        pair, repeat = divmod(position, self.repeats)
        instance, seating = divmod(pair, len(self.seatings))
        return match_of(
            self.configuration, self.instances[instance], self.seatings[seating], repeat
        )

    def only(self, positions: Iterable[int]) -> "Block":
        selected = array("q", positions)
        return replace(self, size=len(selected), draw=lambda: selected)

    def seating_only(self, kept: Sequence[bool]) -> "Block":
        """Return the block restricted to some of its seatings."""
        if all(kept):
            return self
        if self.draw is None:
            return replace(self, seatings=[*compress(self.seatings, kept)])
        return self.only(position for position in self.positions if kept[self.seated(position)])

    def sample(self, size: int, stream: Callable[[], Stream]) -> "Block":
        """Return the block restricted to a random sample of its matches, drawn on first access."""

        def draw() -> Sequence[int]:
            order = array("q", range(self.possible))
            stream().shuffle(order)
            return array("q", sorted(order[:size]))

        return replace(self, size=size, draw=draw)

    @cached_property
    def instant(self) -> tuple[bool, ...]:
        """For each seating, whether all players are scripts."""
        return tuple(map(_instant, self.seatings))

    @cached_property
    def _seated(self) -> list[tuple[int, int, int]]:
        """For each seating: its index, the position of its first match, and its match count."""
        if self.draw is None:
            count = len(self.instances) * self.repeats
            rows = range(len(self.seatings) if count else 0)
            return [(row, row * self.repeats, count) for row in rows]
        seatings = [*map(self.seated, self.positions)]
        first_positions = dict(zip(reversed(seatings), reversed(self.positions), strict=True))
        return [(row, first_positions[row], count) for row, count in Counter(seatings).items()]

    @cached_property
    def players(self) -> tuple[SeatedPlayer, ...]:
        rows = (self.seatings[row] for row, _, _ in self._seated)
        return tuple(dict.fromkeys(chain.from_iterable(rows)))

    def kinds(self) -> Iterator[tuple[bool, int]]:
        """Yield, per seating, whether all players are scripts, and the number of matches."""
        return ((self.instant[row], count) for row, _, count in self._seated)

    def groups(self) -> Iterator[Group]:
        """Yield one group of matches per seating, ordered by the group's first match."""
        for row, position, count in self._seated:
            first = partial(self.match, position)
            yield Group(self.configuration, self.seatings[row], count, first)

    def ids(self) -> Iterator[str]:
        """Yield the ids of all matches in order, without creating the matches."""
        configuration, instances, repeats = self.configuration.digest, self.instances, self.repeats
        seatings = [[player.digest for player in seating] for seating in self.seatings]
        count = len(seatings)
        for position in self.positions:
            pair, repeat = divmod(position, repeats)
            instance, row = divmod(pair, count)
            yield _identity(configuration, instances[instance], seatings[row], repeat)


class PlannedMatches(Sequence[PlannedMatch]):
    """The ordered matches of a plan, created on demand except for ``extra`` matches."""

    def __init__(self, blocks: Sequence[Block] = (), extra: Iterable[PlannedMatch] = ()) -> None:
        self.blocks = [block for block in blocks if len(block)]
        self.extra = list(extra)
        self._starts = [0, *accumulate(map(len, self.blocks))]

    def __len__(self) -> int:
        return self._starts[-1] + len(self.extra)

    def __repr__(self) -> str:
        return brief(self, counted(len(self), "match"))

    def __iter__(self) -> Iterator[PlannedMatch]:
        matches = (block.match(position) for block in self.blocks for position in block.positions)
        return chain(matches, self.extra)

    @overload
    def __getitem__(self, index: int) -> PlannedMatch: ...
    @overload
    def __getitem__(self, index: slice) -> list[PlannedMatch]: ...
    def __getitem__(self, index: int | slice) -> PlannedMatch | list[PlannedMatch]:
        selected = range(len(self))[index]
        if isinstance(selected, range):
            return [self[number] for number in selected]
        if selected >= self._starts[-1]:
            return self.extra[selected - self._starts[-1]]
        block, position = self._located(selected)
        return block.match(position)

    def _located(self, number: int) -> tuple[Block, int]:
        """Return a match's block and its position in the block."""
        index = bisect_right(self._starts, number) - 1
        block = self.blocks[index]
        return block, block.positions[number - self._starts[index]]

    def ids(self, start: int = 0) -> Iterator[str]:
        """Yield match ids in order, starting with the match number ``start``."""
        block_ids = chain.from_iterable(block.ids() for block in self.blocks)
        return islice(chain(block_ids, (match.id for match in self.extra)), start, None)

    def kinds(self, numbers: Sequence[int]) -> Counter[tuple[str, bool]]:
        """Count selected matches by game and by whether all players are scripts."""
        counts: Counter[tuple[str, bool]] = Counter()
        if len(numbers) == len(self):
            for block in self.blocks:
                for instant, count in block.kinds():
                    counts[block.configuration.game.name, instant] += count
            numbers = range(self._starts[-1], len(self))
        for number in numbers:
            if number >= self._starts[-1]:
                match = self.extra[number - self._starts[-1]]
                counts[match.configuration.game.name, match.scripted] += 1
            else:
                block, position = self._located(number)
                instant = block.instant[block.seated(position)]
                counts[block.configuration.game.name, instant] += 1
        return counts

    def only(self, keep: Callable[[Sequence[SeatedPlayer]], bool]) -> "PlannedMatches":
        """Return the matches whose seating ``keep`` accepts."""
        blocks = [block.seating_only([*map(keep, block.seatings)]) for block in self.blocks]
        return PlannedMatches(blocks, (match for match in self.extra if keep(match.seating)))

    def extend(self, matches: Iterable[PlannedMatch]) -> None:
        self.extra.extend(matches)

    def configurations(self) -> Iterator[Configuration]:
        """Yield the configurations of all matches; a configuration can occur several times."""
        yield from (block.configuration for block in self.blocks)
        yield from (match.configuration for match in self.extra)

    def groups(self) -> Iterator[Group]:
        """Yield groups of matches by configuration and seating, without creating each match."""
        for block in self.blocks:
            yield from block.groups()
        yield from self._further_groups()

    def first_groups(self) -> Iterator[Group]:
        """Yield the groups of matches in which a player plays a game for the first time."""
        met: set[tuple[str, SeatedPlayer]] = set()
        for block in self.blocks:
            game = block.configuration.game.name
            if any((game, player) not in met for player in block.players):
                yield from self._first(block.groups(), met)
        yield from self._first(self._further_groups(), met)

    @staticmethod
    def _first(groups: Iterable[Group], met: set[tuple[str, SeatedPlayer]]) -> Iterator[Group]:
        for group in groups:
            pairs = {(group.configuration.game.name, player) for player in group.seating}
            if not pairs <= met:
                met |= pairs
                yield group

    def _further_groups(self) -> Iterator[Group]:
        by_seating: dict[tuple[str, tuple[SeatedPlayer, ...]], list[PlannedMatch]] = {}
        for match in self.extra:
            by_seating.setdefault((match.configuration.digest, match.seating), []).append(match)
        for matches in by_seating.values():
            first_match = partial(matches.__getitem__, 0)
            yield Group(matches[0].configuration, matches[0].seating, len(matches), first_match)

    def remaining(
        self,
        settled: bytearray | None = None,
        *,
        instant: bool,
        start: int = 0,
        stop: int = maxsize,
    ) -> Iterator[PlannedMatch]:
        """Yield unfinished matches in order: those between scripts, or all other matches.

        Args:
            settled: 1 for each finished match, otherwise 0; None if no match is finished.
            instant: whether to yield matches between scripts.
            stop: the number after the last one.
        """
        for block, position, number in self._of_kind(instant, start, stop):
            if settled is None or not settled[number]:
                yield self.extra[position] if block is None else block.match(position)

    def remaining_numbers(self, settled: bytearray, *, instant: bool) -> Iterator[int]:
        """Yield the numbers of unfinished matches between scripts, or of all other matches."""
        candidates = self._of_kind(instant, 0, maxsize)
        return (number for _, _, number in candidates if not settled[number])

    def _of_kind(
        self, instant: bool, start: int, stop: int
    ) -> Iterator[tuple[Block | None, int, int]]:
        """Yield the block, position and number of each match of a kind (scripted or live)."""
        for offset, block in zip(self._starts, self.blocks, strict=False):
            selected = [seating_instant is instant for seating_instant in block.instant]
            section = slice(max(0, start - offset), max(0, stop - offset))
            positions = block.positions[section] if any(selected) else ()
            for number, position in enumerate(positions, offset + section.start):
                if selected[block.seated(position)]:
                    yield block, position, number
        offset = self._starts[-1]
        for index, match in enumerate(self.extra):
            if match.scripted is instant and start <= offset + index < stop:
                yield None, index, offset + index


def _instant(seating: Sequence[SeatedPlayer]) -> bool:
    return all(player.scripted for player in seating)
