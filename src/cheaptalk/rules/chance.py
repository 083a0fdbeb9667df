"""Random streams that depend only on a match's seed, a purpose and a location such as a round.

Each match has one :class:`Chance`, made from its seed. Call it with a purpose and a location to get
a :class:`Stream` that depends on nothing else. Draws for one player therefore do not shift the
draws for another, and paired instances stay paired. No global generator is used.

    >>> chance = Chance("study-1/instance-7")
    >>> chance("quality", 3).happens(0.5) == Chance("study-1/instance-7")("quality", 3).happens(0.5)
    True
"""

from collections.abc import MutableSequence, Sequence
from hashlib import sha512
from struct import Struct
from typing import TypeVar

from cheaptalk.rules.display import brief
from cheaptalk.rules.errors import WrongValue

T = TypeVar("T")

SEPARATOR = "\x1f"
EIGHT = Struct("<8Q")


class Stream:
    """A reproducible stream of random numbers for one purpose and location in a match.

    A stream with the same key gives the same numbers on any machine and in any version of Python.
    Each block of numbers is the SHA-512 digest of the key and the block's index. Most streams draw
    few numbers, and seeding a generator with a large state would take five times as long.
    """

    __slots__ = ("_block", "_key", "_words")

    def __init__(self, key: str) -> None:
        self._key = key
        self._block = 0
        self._words: list[int] = []

    def _next(self) -> float:
        """Return a number in [0, 1) with 53 random bits."""
        if not self._words:
            block = f"{self._key}{SEPARATOR}{self._block}"
            self._words = [*EIGHT.unpack(sha512(block.encode()).digest())][::-1]
            self._block += 1
        return (self._words.pop() >> 11) * 2.0**-53

    def uniform(self, low: float = 0.0, high: float = 1.0) -> float:
        """Return a number in [low, high)."""
        return low + (high - low) * self._next()

    def integer(self, low: int, high: int) -> int:
        """Return an integer from low to high, both included, with equal probabilities."""
        if high < low:
            raise WrongValue(f"no integer lies between {low} and {high}")
        return low + int(self._next() * (high - low + 1))

    def happens(self, probability: float) -> bool:
        """Return True with the given probability, in [0, 1]."""
        return self._next() < probability

    def pick(self, options: Sequence[T]) -> T:
        """Return one of the options, with equal probabilities."""
        return options[int(self._next() * len(options))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Return the items in a random order; all orders are equally likely."""
        copy = list(items)
        self.shuffle(copy)
        return copy

    def shuffle(self, items: MutableSequence[T]) -> None:
        """Shuffle a list in place; all orders are equally likely."""
        for last in range(len(items) - 1, 0, -1):
            index = int(self._next() * (last + 1))
            items[last], items[index] = items[index], items[last]


class Chance:
    """The random streams of one match, or of one actor in a match, all derived from ``seed``.

    >>> chance = ct.Chance("my seed")
    >>> [chance("dice", number).pick(range(1, 7)) for number in range(5)]
    [4, 4, 3, 3, 5]
    >>> chance("dice", 4).pick(range(1, 7))
    5
    """

    __slots__ = ("seed",)

    def __init__(self, seed: str, *part: int | str) -> None:
        self.seed = SEPARATOR.join(map(str, (seed, *part)))

    def __repr__(self) -> str:
        return brief(self, self.seed.replace(SEPARATOR, "/"))

    def __call__(self, purpose: str, *location: int | str) -> Stream:
        """Return the random stream for a purpose at a location, such as a round and a seat."""
        return Stream(SEPARATOR.join((self.seed, purpose, *map(str, location))))

    def apart(self, purpose: str, *location: int | str) -> "Chance":
        """Return separate streams for a part of the match, such as one actor's player."""
        return Chance(self.seed, purpose, *location)
