"""Pools of items: how many there are of each kind, and what bundles of them are worth."""

import math
from operator import mul, sub
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, model_validator

from cheaptalk.rules import Stream, Value, Whole

MOST = 99
"""Items that there can be of one kind."""
LARGEST = 1_000_000
"""Ways to divide a pool that there can be, so that all of them can be looked at."""

Units = Annotated[Whole, Field(ge=0, le=MOST)]
Bundle: TypeAlias = tuple[Units, ...]
"""How many items of each kind, in the order of the kinds."""


def worth(bundle: Bundle, values: tuple[int, ...]) -> int:
    """What a bundle is worth at these values of one item of each kind."""
    return sum(map(mul, bundle, values))


def rest(quantities: Bundle, bundle: Bundle) -> Bundle:
    """What is left when a bundle is taken away."""
    return tuple(map(sub, quantities, bundle))


def no_pool(quantities: Bundle) -> str | None:
    """Why these items cannot be bargained over, or None if they can."""
    if sum(quantities) < 2:
        return "there must be at least two items"
    if math.prod(count + 1 for count in quantities) > LARGEST:
        return f"the items could be divided in more than {LARGEST:,} ways"
    return None


class Drawn(Value):
    """Quantities that are drawn anew for every deal, each kind's from a Poisson distribution."""

    kinds: int = Field(default=5, ge=1, le=10, strict=True)
    """How many kinds of items there are (T)."""
    mean: float = Field(default=4, ge=0.5, le=20)
    """The mean number of items of a kind."""
    zeros: Literal["kept", "redrawn", "plus_one"] = "kept"
    """What becomes of a kind of which no item is drawn: there is none, it is drawn again, or every
    kind has one item more than drawn. The paper's text says the first; the last is in a version
    of its code."""

    @model_validator(mode="after")
    def _can_be_divided(self) -> "Drawn":
        if (self.mean + 2) ** self.kinds > LARGEST:
            raise ValueError(f"many pools could be divided in more than {LARGEST:,} ways")
        return self

    def quantities(self, draw: Stream) -> Bundle:
        """The items of each kind; what :func:`no_pool` refuses is drawn again."""
        while True:
            found = tuple([self._count(draw) for _ in range(self.kinds)])
            if no_pool(found) is None:
                return found

    def _count(self, draw: Stream) -> int:
        while True:
            count = poisson(self.mean, draw.uniform())
            if self.zeros == "plus_one":
                return min(count + 1, MOST)
            if count or self.zeros == "kept":
                return min(count, MOST)


def poisson(mean: float, place: float) -> int:
    """The Poisson number at a place in [0, 1) of its distribution (inversion).

    >>> [poisson(4, place) for place in (0, 0.1, 0.5, 0.99)]
    [0, 2, 4, 9]
    """
    count, chance = 0, math.exp(-mean)
    while place >= chance and count < MOST:
        place -= chance
        count += 1
        chance *= mean / count
    return count
