"""Pools of items: their quantities, and the values of bundles."""

import math
from operator import mul, sub
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, model_validator

from cheaptalk.rules import Stream, Value, Whole

MAX_COUNT = 99
"""Maximum number of items of one kind."""
MAX_DIVISIONS = 1_000_000
"""Maximum number of ways to divide a pool, so that all divisions can be enumerated."""

Units = Annotated[Whole, Field(ge=0, le=MAX_COUNT)]
Bundle: TypeAlias = tuple[Units, ...]
"""The number of items of each kind, in the order of the kinds."""


def worth(bundle: Bundle, values: tuple[int, ...]) -> int:
    """Return the value of a bundle, given the value of one item of each kind."""
    return sum(map(mul, bundle, values))


def rest(quantities: Bundle, bundle: Bundle) -> Bundle:
    """Return the items that remain after a bundle is removed."""
    return tuple(map(sub, quantities, bundle))


def no_pool(quantities: Bundle) -> str | None:
    """Return the reason why items are unsuitable for bargaining, or None if they are suitable."""
    if sum(quantities) < 2:
        return "there must be at least two items"
    if math.prod(count + 1 for count in quantities) > MAX_DIVISIONS:
        return f"the items could be divided in more than {MAX_DIVISIONS:,} ways"
    return None


class Drawn(Value):
    """Item quantities that are drawn from a Poisson distribution for every instance."""

    kinds: int = Field(default=5, ge=1, le=10, strict=True)
    """The number of kinds of items (T)."""
    mean: float = Field(default=4, ge=0.5, le=20)
    """The mean number of items of a kind."""
    zeros: Literal["kept", "redrawn", "plus_one"] = "kept"
    """The treatment of kinds without items: keep them, draw them again, or add one item to every
    kind. The paper's text says the first; the last is in a version of its code."""

    @model_validator(mode="after")
    def _can_be_divided(self) -> "Drawn":
        if (self.mean + 2) ** self.kinds > MAX_DIVISIONS:
            raise ValueError(
                f"many pools could be divided in more than {MAX_DIVISIONS:,} ways; "
                "use a lower mean or fewer kinds"
            )
        return self

    def quantities(self, draw: Stream) -> Bundle:
        """Draw the number of items of each kind, until they are suitable for bargaining."""
        while True:
            counts = tuple([self._count(draw) for _ in range(self.kinds)])
            if no_pool(counts) is None:
                return counts

    def _count(self, draw: Stream) -> int:
        while True:
            count = poisson(self.mean, draw.uniform())
            if self.zeros == "plus_one":
                return min(count + 1, MAX_COUNT)
            if count or self.zeros == "kept":
                return min(count, MAX_COUNT)


def poisson(mean: float, draw: float) -> int:
    """Return a quantile of the Poisson distribution, computed by inversion.

    >>> [poisson(4, draw) for draw in (0, 0.1, 0.5, 0.99)]
    [0, 2, 4, 9]
    """
    count, chance = 0, math.exp(-mean)
    while draw >= chance and count < MAX_COUNT:
        draw -= chance
        count += 1
        chance *= mean / count
    return count
