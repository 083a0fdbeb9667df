"""Contexts: what there is to divide and what it is worth to each player.

A context is a pool of books, hats and balls, and for each player what one piece of each kind is
worth, in points. Which are legal follows from a rule (Liao, Tomlin and Klein 2024, section 2;
Lewis et al. 2017), so they need no file: there are 5,295. The 4,086 of the published file are
among them and can be read with :func:`read_contexts`. (The paper counts 4,186 in that file.)
"""

from collections.abc import Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Annotated, TypeAlias, TypeVar

from pydantic import Field, ValidationError, model_validator

from cheaptalk.rules import CheaptalkError, Value, explain
from cheaptalk.whole_files import read_whole

N = TypeVar("N", int, float)
KINDS = ("books", "hats", "balls")
Triple: TypeAlias = tuple[int, int, int]
"""A number for each kind, in the order of :data:`KINDS`."""

PILE = 10
"""What the whole pool is worth to each player, in points."""
PIECES = range(5, 8)
"""How many pieces a pool can have."""
MOST = 4
"""How many pieces of one kind a pool can have."""

Count = Annotated[int, Field(ge=1, le=MOST, strict=True)]
Points = Annotated[int, Field(ge=0, le=PILE, strict=True)]


def worth(values: Sequence[N], bundle: Triple) -> N:
    """What a bundle is worth at these values, in points."""
    book, hat, ball = values
    books, hats, balls = bundle
    return book * books + hat * hats + ball * balls


@cache
def bundles(most: Triple) -> tuple[Triple, ...]:
    """All bundles with at most so many of each kind: all that a player can claim from a pool."""
    books, hats, balls = most
    return tuple(product(range(books + 1), range(hats + 1), range(balls + 1)))


def rest(counts: Triple, claim: Triple) -> Triple:
    """What a claim leaves of the pool; the one claim that fits it."""
    return counts[0] - claim[0], counts[1] - claim[1], counts[2] - claim[2]


class Context(Value):
    """A pool and both players' values, legal by the rule.

    A pool has 5 to 7 pieces, 1 to 4 of each kind. The whole of it is worth 10 points to each
    player, every kind is worth something to somebody, and no division gives both players 10:
    given the rest, this means that some kind is worth something to both.
    """

    counts: tuple[Count, Count, Count]
    """How many books, hats and balls there are."""
    values: tuple[tuple[Points, Points, Points], tuple[Points, Points, Points]]
    """What a book, a hat and a ball are worth to player 1, and to player 2, in points."""

    @model_validator(mode="after")
    def _is_legal(self) -> "Context":
        if sum(self.counts) not in PIECES:
            raise ValueError(
                f"a pool has {PIECES[0]} to {PIECES[-1]} pieces, not {sum(self.counts)}"
            )
        for number, values in enumerate(self.values, start=1):
            whole = worth(values, self.counts)
            if whole != PILE:
                raise ValueError(f"the pool must be worth {PILE} to player {number}, not {whole}")
        pairs = dict(zip(KINDS, zip(*self.values, strict=True), strict=True))
        for kind, pair in pairs.items():
            if not any(pair):
                raise ValueError(f"the {kind} are worth nothing to either player")
        if not any(all(pair) for pair in pairs.values()):
            raise ValueError(f"no kind is worth something to both: each could have {PILE}")
        return self


@cache
def all_contexts() -> tuple[Context, ...]:
    """All legal contexts: 5,295, of which each is another one when the players change places."""
    pools = [counts for counts in bundles((MOST, MOST, MOST)) if all(counts)]
    return tuple(
        Context(counts=counts, values=(mine, theirs))
        for counts in pools
        if sum(counts) in PIECES
        for mine, theirs in product(_worth_a_pile(counts), repeat=2)
        if all(map(max, mine, theirs)) and any(map(min, mine, theirs))
    )


def _worth_a_pile(counts: Triple) -> list[Triple]:
    """The values at which this pool is worth what a pool must be."""
    return [values for values in bundles((PILE, PILE, PILE)) if worth(values, counts) == PILE]


class BadContexts(CheaptalkError, ValueError):
    """A file that holds no contexts; the message names file and line."""


def read_contexts(path: str | Path) -> tuple[Context, ...]:
    """The contexts of a file in the published format, in its order.

    A context is two consecutive lines, player 1's and player 2's, of six whole numbers: count and
    value of books, of hats and of balls. (The published code never draws the last context of its
    file, by an off-by-one; here it is one like all others.)

    Raises:
        BadContexts: the file cannot be read, or a line holds no context.
    """
    try:
        lines = read_whole(Path(path)).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadContexts(f"{path}: cannot be read: {error}") from error
    while lines and not lines[-1].strip():
        del lines[-1]
    if not lines:
        raise BadContexts(f"{path}: holds no contexts")
    if len(lines) % 2:
        raise BadContexts(f"{path}, line {len(lines)}: the second player's line is missing")
    return tuple(_context(path, lines, first) for first in range(0, len(lines), 2))


def _context(path: str | Path, lines: list[str], first: int) -> Context:
    """The context that begins at this line, counted from 0."""
    (counts, mine), (others, theirs) = (
        _counts_and_values(path, lines, number) for number in (first, first + 1)
    )
    if counts != others:
        raise BadContexts(f"{path}, line {first + 2}: the counts differ from the line before")
    try:
        return Context.model_validate({"counts": counts, "values": (mine, theirs)})
    except ValidationError as error:
        raise BadContexts(f"{path}, line {first + 1}: {explain(error)}") from error


def _counts_and_values(
    path: str | Path, lines: list[str], number: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    words = lines[number].split()
    if len(words) != 2 * len(KINDS) or not all(w.isascii() and w.isdigit() for w in words):
        raise BadContexts(f"{path}, line {number + 1}: must be six whole numbers")
    numbers = tuple(map(int, words))
    return numbers[::2], numbers[1::2]
