"""Contexts: the items to divide and their values to each player.

A context consists of a pool of books, hats and balls, and of each player's value of one item of
each kind, in points. The rules of Liao, Tomlin and Klein (2024, section 2; Lewis et al. 2017) allow
5,295 contexts. They include the 4,086 contexts in the published file, which :func:`read_contexts`
can read. (The paper counts 4,186 contexts in that file.)
"""

from collections.abc import Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Annotated, TypeAlias, TypeVar

from pydantic import Field, ValidationError, model_validator

from cheaptalk.atomic_files import read_whole
from cheaptalk.rules import CheaptalkError, Value, explain

N = TypeVar("N", int, float)
KINDS = ("books", "hats", "balls")
Triple: TypeAlias = tuple[int, int, int]
"""A number for each kind, in the order of :data:`KINDS`."""

PILE = 10
"""The total value of the pool to each player, in points."""
PIECES = range(5, 8)
"""The possible numbers of items in a pool."""
MAX_COUNT = 4
"""Maximum number of items of one kind."""

Count = Annotated[int, Field(ge=1, le=MAX_COUNT, strict=True)]
Points = Annotated[int, Field(ge=0, le=PILE, strict=True)]


def worth(values: Sequence[N], bundle: Triple) -> N:
    """Return the value of a bundle in points."""
    book, hat, ball = values
    books, hats, balls = bundle
    return book * books + hat * hats + ball * balls


@cache
def bundles(maxima: Triple) -> tuple[Triple, ...]:
    """Return all bundles with at most the given number of items of each kind."""
    books, hats, balls = maxima
    return tuple(product(range(books + 1), range(hats + 1), range(balls + 1)))


def rest(counts: Triple, claim: Triple) -> Triple:
    """Return the items that a claim leaves to the other player."""
    return counts[0] - claim[0], counts[1] - claim[1], counts[2] - claim[2]


class Context(Value):
    """A pool and both players' values.

    A pool has 5 to 7 items, 1 to 4 of each kind, and is worth 10 points to each player. Every kind
    has a positive value to at least one player. At least one kind has a positive value to both
    players, so that no division gives 10 points to both.
    """

    counts: tuple[Count, Count, Count]
    """The numbers of books, hats and balls."""
    values: tuple[tuple[Points, Points, Points], tuple[Points, Points, Points]]
    """The values of a book, a hat and a ball to player 1 and to player 2, in points."""

    @model_validator(mode="after")
    def _is_legal(self) -> "Context":
        pieces = sum(self.counts)
        if pieces not in PIECES:
            raise ValueError(f"a pool has {PIECES[0]} to {PIECES[-1]} pieces, not {pieces}")
        for number, values in enumerate(self.values, start=1):
            total = worth(values, self.counts)
            if total != PILE:
                raise ValueError(f"the pool must be worth {PILE} to player {number}, not {total}")
        pairs = dict(zip(KINDS, zip(*self.values, strict=True), strict=True))
        for kind, pair in pairs.items():
            if not any(pair):
                raise ValueError(f"the {kind} are worth nothing to either player")
        if not any(all(pair) for pair in pairs.values()):
            raise ValueError("at least one kind of item must be worth more than 0 to both players")
        return self


@cache
def all_contexts() -> tuple[Context, ...]:
    """Return all 5,295 legal contexts, counting those with swapped players separately."""
    pools = [counts for counts in bundles((MAX_COUNT, MAX_COUNT, MAX_COUNT)) if all(counts)]
    return tuple(
        Context(counts=counts, values=(first, second))
        for counts in pools
        if sum(counts) in PIECES
        for first, second in product(_worth_a_pile(counts), repeat=2)
        if all(map(max, first, second)) and any(map(min, first, second))
    )


def _worth_a_pile(counts: Triple) -> list[Triple]:
    """Return all combinations of item values for which the pool is worth 10 points."""
    return [values for values in bundles((PILE, PILE, PILE)) if worth(values, counts) == PILE]


class BadContexts(CheaptalkError, ValueError):
    """An error in a file of contexts; the message names the file and the line."""


def read_contexts(path: str | Path) -> tuple[Context, ...]:
    """Read contexts from a file in the published format, in file order.

    A context consists of two lines, for player 1 and player 2, of six integers: count and value of
    books, hats and balls. (Because of an off-by-one error, the published code never draws the last
    context of a file.)

    Raises:
        BadContexts: the file can't be read, or a line is invalid.
    """
    try:
        lines = read_whole(Path(path)).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadContexts(f"{path}: cannot be read: {error}") from error
    while lines and not lines[-1].strip():
        del lines[-1]
    if not lines:
        raise BadContexts(f"{path}: contains no contexts; write two lines for each")
    if len(lines) % 2:
        raise BadContexts(f"{path}, line {len(lines)}: the second player's line is missing")
    return tuple(_context(path, lines, first) for first in range(0, len(lines), 2))


def _context(path: str | Path, lines: list[str], first: int) -> Context:
    """Parse the context in two lines of a file, given the index of the first line."""
    (counts, first_values), (second_counts, second_values) = (
        _counts_and_values(path, lines, number) for number in (first, first + 1)
    )
    if counts != second_counts:
        raise BadContexts(f"{path}, line {first + 2}: the counts must be those of the line before")
    try:
        return Context.model_validate({"counts": counts, "values": (first_values, second_values)})
    except ValidationError as error:
        raise BadContexts(f"{path}, line {first + 1}: {explain(error)}") from error


def _counts_and_values(
    path: str | Path, lines: list[str], number: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    fields = lines[number].split()
    are_numbers = all(field.isascii() and field.isdigit() for field in fields)
    if len(fields) != 2 * len(KINDS) or not are_numbers:
        raise BadContexts(f"{path}, line {number + 1}: expected six integers")
    numbers = tuple(map(int, fields))
    return numbers[::2], numbers[1::2]
