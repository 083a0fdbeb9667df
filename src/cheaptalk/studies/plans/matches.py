"""Planned matches: enumerated, not held, so that ten millions of them take no memory."""

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate, chain, islice
from typing import NamedTuple, overload

from cheaptalk.records import configuration_digest
from cheaptalk.records.identity import match_digest
from cheaptalk.rules import Deal, Game, Stream, counted
from cheaptalk.rules.display import brief
from cheaptalk.studies.plans.seating import Rows, Seated


@dataclass(frozen=True, eq=False)
class Configuration:
    """A game with its parameters."""

    game: Game

    @cached_property
    def digest(self) -> str:
        return configuration_digest(self.game)


class Dealt(NamedTuple):
    """A deal: the seed it is drawn with, or the deal itself where it was taken over.

    ``key`` is equal for matches that share the deal. One that was drawn in place of another has
    that one's key and seed with a number behind them.

    >>> Dealt("3", "0/abc/3").afresh().afresh()
    Dealt(key='3+2', seed='0/abc/3+2', explicit=None)
    """

    key: str
    seed: str
    explicit: Deal | None = None

    @property
    def redeals(self) -> int:
        """How many deals came before in its place."""
        return int(self.key.partition("+")[2] or 0)

    def afresh(self) -> "Dealt":
        """The next deal in its place."""
        number = self.redeals + 1
        key, seed = (text.partition("+")[0] for text in (self.key, self.seed))
        return Dealt(f"{key}+{number}", f"{seed}+{number}")


class PlannedMatch(NamedTuple):
    """One match of a study, identified by a hash of everything that defines it."""

    id: str
    configuration: Configuration
    dealt: Dealt
    seating: tuple[Seated, ...]
    repeat: int

    def __repr__(self) -> str:
        players = " / ".join(player.label for player in self.seating)
        game = self.configuration.game.name
        return brief(
            self, f"{self.id}, {game}, {players}, deal {self.dealt.key}, repeat {self.repeat}"
        )

    @property
    def seed(self) -> str:
        """The seed of all chance in the match; shared by all seatings on the deal."""
        return self.dealt.seed if self.repeat == 0 else f"{self.dealt.seed}/{self.repeat}"

    @property
    def deal(self) -> Deal:
        """What nature decides: the same for all seatings and repeats."""
        if self.dealt.explicit is not None:
            return self.dealt.explicit
        return self.configuration.game.dealt(self.dealt.seed)

    @property
    def scripted(self) -> bool:
        """Whether all its players are scripts, whose moves follow from its seed."""
        return _instant(self.seating)


def match_of(
    configuration: Configuration, dealt: Dealt, seating: tuple[Seated, ...], repeat: int
) -> PlannedMatch:
    """A match with its identity."""
    identity = _identity(configuration.digest, dealt, [one.digest for one in seating], repeat)
    return PlannedMatch(identity, configuration, dealt, seating, repeat)


def _identity(configuration: str, dealt: Dealt, players: Sequence[str], repeat: int) -> str:
    deal = "" if dealt.explicit is None else dealt.explicit.model_dump_json()
    return match_digest(configuration, dealt.seed, deal, repeat, players)


class NumberedDeals(Sequence[Dealt]):
    """The deals of a configuration that are drawn for a study, each made when it is asked for.

    >>> NumberedDeals("0/abc", 10_000_000)[-1].seed
    '0/abc/9999999'
    """

    def __init__(self, place: str, size: int) -> None:
        self.place = place
        self.size = size

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, at: int) -> Dealt: ...
    @overload
    def __getitem__(self, at: slice) -> list[Dealt]: ...
    def __getitem__(self, at: int | slice) -> Dealt | list[Dealt]:
        found = range(self.size)[at]
        if isinstance(found, int):
            return Dealt(f"{found}", f"{self.place}/{found}")
        return [self[number] for number in found]


class Group(NamedTuple):
    """Matches of one configuration with the same players in the same places."""

    configuration: Configuration
    seating: tuple[Seated, ...]
    matches: int
    first: Callable[[], PlannedMatch]
    """Makes the first of them."""

    def __repr__(self) -> str:
        return brief(self, f"{counted(self.matches, 'match')} like {self.first!r}")

    @property
    def instant(self) -> bool:
        """Whether all its players are scripts."""
        return _instant(self.seating)


class DrawnPlaces(Sequence[int]):
    """Places of matches that are drawn at random, in order; drawn when they are first looked at.

    >>> places = DrawnPlaces(2, lambda: [3, 5])
    >>> len(places), list(places)
    (2, [3, 5])
    """

    def __init__(self, size: int, draw: Callable[[], Sequence[int]]) -> None:
        self._size = size
        self._draw = draw

    @cached_property
    def _drawn(self) -> Sequence[int]:
        return self._draw()

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[int]:
        return iter(self._drawn)

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[int]: ...
    def __getitem__(self, at: int | slice) -> int | Sequence[int]:
        return self._drawn[at]


@dataclass(frozen=True, eq=False)
class Block:
    """The matches of one configuration: every seating on every deal, so often.

    Attributes:
        drawn: the places of those among them that are played, in order; None where all are.
    """

    configuration: Configuration
    deals: Sequence[Dealt]
    seatings: Rows
    repeats: int
    drawn: Sequence[int] | None = None

    @property
    def possible(self) -> int:
        """All that could be played."""
        return len(self.deals) * len(self.seatings) * self.repeats

    def __len__(self) -> int:
        return self.possible if self.drawn is None else len(self.drawn)

    def places(self) -> Sequence[int]:
        """The places of its matches among all possible ones."""
        return range(self.possible) if self.drawn is None else self.drawn

    def seated(self, place: int) -> int:
        """Which of the seatings plays at a place."""
        return place // self.repeats % len(self.seatings)

    def match(self, place: int) -> PlannedMatch:
        """The match at a place."""
        pair, repeat = divmod(place, self.repeats)
        deal, seating = divmod(pair, len(self.seatings))
        return match_of(self.configuration, self.deals[deal], self.seatings[seating], repeat)

    def only(self, places: Iterable[int]) -> "Block":
        """The block with these of its places alone."""
        chosen = array("q", places)
        return Block(self.configuration, self.deals, self.seatings, self.repeats, chosen)

    def sample(self, size: int, stream: Callable[[], Stream]) -> "Block":
        """The block with so many of its places, drawn when they are first looked at."""
        places = DrawnPlaces(size, partial(_drawn, self.possible, size, stream))
        return Block(self.configuration, self.deals, self.seatings, self.repeats, places)

    @cached_property
    def instant(self) -> tuple[bool, ...]:
        """Whether all players of each seating are scripts."""
        return tuple(map(_instant, self.seatings))

    @cached_property
    def _seated(self) -> list[tuple[int, int, int]]:
        """The seatings that play, in the order in which each first does: its number, the place of
        its first match, and how many it has."""
        if self.drawn is None:
            each = len(self.deals) * self.repeats
            return [
                (row, row * self.repeats, each) for row in range(len(self.seatings) if each else 0)
            ]
        rows = [*map(self.seated, self.drawn)]
        first = dict(zip(reversed(rows), reversed(self.drawn), strict=True))
        return [(row, first[row], count) for row, count in Counter(rows).items()]

    @cached_property
    def players(self) -> tuple[Seated, ...]:
        """Everyone who plays, once."""
        rows = (self.seatings[row] for row, _, _ in self._seated)
        return tuple(dict.fromkeys(chain.from_iterable(rows)))

    def kinds(self) -> Iterator[tuple[bool, int]]:
        """How many of its matches are between scripts alone, and how many are not, in parts."""
        return ((self.instant[row], count) for row, _, count in self._seated)

    def groups(self) -> Iterator[Group]:
        """Its matches by who plays them, in the order in which each first plays."""
        for row, place, count in self._seated:
            yield Group(self.configuration, self.seatings[row], count, partial(self.match, place))

    def ids(self) -> Iterator[str]:
        """The ids of its matches, in order, which takes less time than to make them."""
        configuration, deals, repeats = self.configuration.digest, self.deals, self.repeats
        seatings = [[player.digest for player in seating] for seating in self.seatings]
        count = len(seatings)
        for place in self.places():
            pair, repeat = divmod(place, repeats)
            deal, row = divmod(pair, count)
            yield _identity(configuration, deals[deal], seatings[row], repeat)


def _drawn(possible: int, size: int, stream: Callable[[], Stream]) -> Sequence[int]:
    """So many of all possible places, in order."""
    order = array("q", range(possible))
    stream().shuffle(order)
    return array("q", sorted(order[:size]))


class PlannedMatches(Sequence[PlannedMatch]):
    """The matches of a plan in order, each made when it is asked for.

    Args:
        blocks: of configurations.
        more: further matches, which are held.
    """

    def __init__(self, blocks: Sequence[Block] = (), more: Iterable[PlannedMatch] = ()) -> None:
        self.blocks = [block for block in blocks if len(block)]
        self.more = list(more)
        self._starts = [0, *accumulate(map(len, self.blocks))]

    def __len__(self) -> int:
        return self._starts[-1] + len(self.more)

    def __repr__(self) -> str:
        return brief(self, counted(len(self), "match"))

    def __iter__(self) -> Iterator[PlannedMatch]:
        made = (block.match(place) for block in self.blocks for place in block.places())
        return chain(made, self.more)

    @overload
    def __getitem__(self, at: int) -> PlannedMatch: ...
    @overload
    def __getitem__(self, at: slice) -> list[PlannedMatch]: ...
    def __getitem__(self, at: int | slice) -> PlannedMatch | list[PlannedMatch]:
        found = range(len(self))[at]
        if isinstance(found, range):
            return [self[number] for number in found]
        if found >= self._starts[-1]:
            return self.more[found - self._starts[-1]]
        number = bisect_right(self._starts, found) - 1
        block = self.blocks[number]
        return block.match(block.places()[found - self._starts[number]])

    def ids(self, start: int = 0) -> Iterator[str]:
        """The ids of all matches from this number on, in order."""
        made = chain.from_iterable(block.ids() for block in self.blocks)
        return islice(chain(made, (match.id for match in self.more)), start, None)

    def kinds(self, numbers: Sequence[int]) -> Counter[tuple[str, bool]]:
        """How many of the matches with these numbers are of which game, and whether all their
        players are scripts."""
        found: Counter[tuple[str, bool]] = Counter()
        if len(numbers) == len(self):
            for block in self.blocks:
                for instant, count in block.kinds():
                    found[block.configuration.game.name, instant] += count
            numbers = range(self._starts[-1], len(self))
        for number in numbers:
            if number >= self._starts[-1]:
                match = self.more[number - self._starts[-1]]
                found[match.configuration.game.name, match.scripted] += 1
            else:
                at = bisect_right(self._starts, number) - 1
                block = self.blocks[at]
                row = block.seated(block.places()[number - self._starts[at]])
                found[block.configuration.game.name, block.instant[row]] += 1
        return found

    def extend(self, matches: Iterable[PlannedMatch]) -> None:
        """Add matches behind all others."""
        self.more.extend(matches)

    def configurations(self) -> Iterator[Configuration]:
        """The configurations of all matches, some more than once."""
        yield from (block.configuration for block in self.blocks)
        yield from (match.configuration for match in self.more)

    def groups(self) -> Iterator[Group]:
        """All matches by configuration and seating, without making each of them."""
        for block in self.blocks:
            yield from block.groups()
        yield from self._further_groups()

    def first_groups(self) -> Iterator[Group]:
        """Of all groups those in which somebody sits down at a game for the first time."""
        known: set[tuple[str, Seated]] = set()
        for block in self.blocks:
            game = block.configuration.game.name
            if any((game, player) not in known for player in block.players):
                yield from self._first(block.groups(), known)
        yield from self._first(self._further_groups(), known)

    @staticmethod
    def _first(groups: Iterable[Group], known: set[tuple[str, Seated]]) -> Iterator[Group]:
        for group in groups:
            sitting = {(group.configuration.game.name, player) for player in group.seating}
            if not sitting <= known:
                known |= sitting
                yield group

    def _further_groups(self) -> Iterator[Group]:
        found: dict[tuple[str, tuple[Seated, ...]], list[PlannedMatch]] = {}
        for match in self.more:
            found.setdefault((match.configuration.digest, match.seating), []).append(match)
        for ours in found.values():
            first_match = partial(ours.__getitem__, 0)
            yield Group(ours[0].configuration, ours[0].seating, len(ours), first_match)

    def left(
        self, done: "Marks", *, instant: bool, start: int = 0, stop: int | None = None
    ) -> Iterator[PlannedMatch]:
        """The matches that are not done, between scripts or with others, in order.

        Args:
            done: marks of those that are, by their number.
            instant: whether those between scripts are wanted.
            start: the number of the first that is looked at.
            stop: that of the one behind the last; none ends with the last of all.
        """
        stop = len(self) if stop is None else stop
        for block, place, number in self._wanted(instant, start, stop):
            if not done[number]:
                yield self.more[place] if block is None else block.match(place)

    def numbers_left(self, done: "Marks", *, instant: bool) -> Iterator[int]:
        """The numbers of the matches that are not done, between scripts or with others."""
        wanted = self._wanted(instant, 0, len(self))
        return (number for _, _, number in wanted if not done[number])

    def _wanted(
        self, instant: bool, start: int, stop: int
    ) -> Iterator[tuple[Block | None, int, int]]:
        """Blocks (None for the further matches), places in them and numbers of all such matches."""
        for first, block in zip(self._starts, self.blocks, strict=False):
            wanted = [one is instant for one in block.instant]
            here = slice(max(0, start - first), max(0, stop - first))
            if any(wanted):
                for number, place in enumerate(block.places()[here], first + here.start):
                    if wanted[block.seated(place)]:
                        yield block, place, number
        first = self._starts[-1]
        for place, match in enumerate(self.more):
            if match.scripted is instant and start <= first + place < stop:
                yield None, place, first + place


def _instant(seating: Sequence[Seated]) -> bool:
    return all(player.scripted for player in seating)


class Marks:
    """A mark for each of many matches, by number: an eighth of a byte each.

    >>> marks = Marks()
    >>> marks.set(9)
    >>> marks[9], marks[8], marks[1_000]
    (True, False, False)
    """

    def __init__(self) -> None:
        self._bits = bytearray()

    def set(self, number: int) -> None:
        """Mark one."""
        self.set_all(number, number + 1)

    def set_all(self, start: int, stop: int, but: Iterable[int] = ()) -> None:
        """Mark all from one to the one before another, but for some of them."""
        self._bits.extend(bytes(max(0, -(-stop // 8) - len(self._bits))))
        whole = range(-(-start // 8), stop // 8)
        self._bits[whole.start : whole.stop] = b"\xff" * len(whole)
        edges = (number for number in (*range(start, min(stop, whole.start * 8)),
                                       *range(max(start, whole.stop * 8), stop)))  # fmt: skip
        for number in edges:
            self._bits[number >> 3] |= 1 << (number & 7)
        for number in but:
            self._bits[number >> 3] &= ~(1 << (number & 7))

    def __getitem__(self, number: int) -> bool:
        byte, bit = divmod(number, 8)
        return byte < len(self._bits) and bool(self._bits[byte] >> bit & 1)
