"""Named random streams: every draw is keyed by what it is for and where it happens.

A match has one :class:`Chance`, made from its seed. Asking it for a purpose and a place gives a
:class:`Stream` that depends on nothing else, so that one player's longer game does not shift
another's luck and paired deals stay paired. No global generator is ever used.

    >>> chance = Chance("study-1/deal-7")
    >>> chance("quality", 3).happens(0.5) == Chance("study-1/deal-7")("quality", 3).happens(0.5)
    True
"""

from collections.abc import MutableSequence, Sequence
from hashlib import sha512
from struct import Struct
from typing import TypeVar

from cheaptalk.rules.display import brief

T = TypeVar("T")

SEPARATOR = "\x1f"
EIGHT = Struct("<8Q")


class Stream:
    """Draws of one purpose at one place.

    Every draw is computed from numbers that depend on a key alone, so that the same seed deals the
    same hands on any machine and under any version of Python. Block after block is SHA-512 of the
    key and the block's number, which takes a fifth of the time that seeding a generator with a
    large state does; most streams give a handful of numbers.
    """

    __slots__ = ("_block", "_key", "_words")

    def __init__(self, key: str) -> None:
        self._key = key
        self._block = 0
        self._words: list[int] = []

    def _next(self) -> float:
        """A number in [0, 1), of 53 random bits."""
        if not self._words:
            block = f"{self._key}{SEPARATOR}{self._block}"
            self._words = [*EIGHT.unpack(sha512(block.encode()).digest())]
            self._words.reverse()
            self._block += 1
        return (self._words.pop() >> 11) * 2.0**-53

    def uniform(self, low: float = 0.0, high: float = 1.0) -> float:
        """A number in [low, high)."""
        return low + (high - low) * self._next()

    def integer(self, low: int, high: int) -> int:
        """A whole number from low to high, both included, each equally likely."""
        if high < low:
            raise ValueError(f"no whole number lies between {low} and {high}")
        return low + int(self._next() * (high - low + 1))

    def happens(self, probability: float) -> bool:
        """True with the given probability, in [0, 1]."""
        return self._next() < probability

    def pick(self, options: Sequence[T]) -> T:
        """One of the options, each equally likely."""
        return options[int(self._next() * len(options))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """The items in a random order, all orders equally likely."""
        deck = list(items)
        self.shuffle(deck)
        return deck

    def shuffle(self, deck: MutableSequence[T]) -> None:
        """Put a list into a random order, all orders equally likely."""
        for last in range(len(deck) - 1, 0, -1):
            other = int(self._next() * (last + 1))
            deck[last], deck[other] = deck[other], deck[last]


class Chance:
    """The random streams of one match, or of one seat in it.

    Attributes:
        seed: what every stream depends on.
    """

    __slots__ = ("seed",)

    def __init__(self, seed: str, *part: int | str) -> None:
        self.seed = SEPARATOR.join(map(str, (seed, *part)))

    def __repr__(self) -> str:
        return brief(self, self.seed.replace(SEPARATOR, "/"))

    def __call__(self, purpose: str, *place: int | str) -> Stream:
        """The stream for this purpose at this place (a round, a seat)."""
        return Stream(SEPARATOR.join((self.seed, purpose, *map(str, place))))

    def apart(self, purpose: str, *place: int | str) -> "Chance":
        """Streams of their own for a part of the match, such as one seat's player."""
        return Chance(self.seed, purpose, *place)
