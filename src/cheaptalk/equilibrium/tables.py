"""Payoff tables as files hold them: names, numbers, and what is wrong with them."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from cheaptalk.equilibrium.payoffs import Floats
from cheaptalk.rules import CheaptalkError
from cheaptalk.rules.errors import shown

PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
RATIO = re.compile(r"[+-]?\d+/\d+", re.ASCII)
GROUPED = re.compile(r"[+-]?\d{1,3}((,\d{3})+\.\d*|(,\d{3}){2,})", re.ASCII)
DASHED = re.compile(r"^[\u2010-\u2015\u2212]")
"""A dash, or a minus sign, that only looks like the minus of numbers."""
DIGITS_WITH_MARKS = re.compile(r"[+-]?[\d.,' ]*\d[\d.,' ]*", re.ASCII)


class PayoffFileError(CheaptalkError, ValueError):
    """A payoff file that cannot be read as written; the message names file, line and cell."""


@dataclass(frozen=True, eq=False, slots=True)
class PayoffTable:
    """A two-player game with names.

    Attributes:
        rows, columns: the names of the strategies of both players.
        a, b: what the row and the column player get, shape (rows, columns), in the file's units.
        title: what the file calls the game; may be empty.
        players: their names.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    a: Floats
    b: Floats
    title: str = ""
    players: tuple[str, str] = ("row", "column")

    @property
    def symmetric(self) -> bool:
        """Whether both have the same strategies and the same payoffs from their own seat."""
        return self.rows == self.columns and np.array_equal(self.b, self.a.T)


def number(text: str, where: str) -> float:
    """A payoff as people write it.

    Plain decimals (``-12.5``, ``1e3``), ratios (``1/3``), thousands in groups where that is beyond
    doubt (``1,234.50``, ``1,234,567``), and any of these behind a dollar sign.

    Args:
        text: what stands in the file.
        where: file, line and cell, for the message.

    Raises:
        PayoffFileError: it is no number, no finite one, or one that could be read in two ways.

    >>> number("$1,234.50", ""), number("-1/4", "")
    (1234.5, -0.25)
    """
    bare = re.sub(r"^([+-]?)\$", r"\1", text.strip())
    if RATIO.fullmatch(bare) and not re.search(r"/0+$", bare):
        value = float(Fraction(bare))
    elif PLAIN.fullmatch(bare) or GROUPED.fullmatch(bare):
        value = float(bare.replace(",", ""))
    elif DIGITS_WITH_MARKS.fullmatch(bare):
        raise PayoffFileError(
            f"{where}: {shown(text)} could be read in more than one way; "
            "write it with a point for decimals and nothing between thousands, as 1234.5"
        )
    else:
        cure = "write its minus as -" if DASHED.match(bare) else "every payoff must be one"
        raise PayoffFileError(f"{where}: {shown(text)} is no number; {cure}")
    if not np.isfinite(value):
        raise PayoffFileError(f"{where}: {shown(text)} is too large a number")
    return value


def written(value: float) -> int | float:
    """A payoff as a file holds it: no digit is lost, and a whole number stays one.

    >>> written(60.0), written(0.1)
    (60, 0.1)
    """
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def check_names(names: Sequence[str], what: str, where: str) -> tuple[str, ...]:
    """Names of strategies or players, once they are seen to be there and to differ.

    Args:
        names: in order.
        what: what they name, in the singular: ``strategy``.
        where: file and line, for the message.

    Raises:
        PayoffFileError: there is none, one is empty, or two are alike.
    """
    if not names:
        raise PayoffFileError(f"{where}: there is no {what}; name at least one")
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise PayoffFileError(
            f"{where}: the {what} {shown(twice[0])} is there more than once; rename one of them"
        )
    if "" in names:
        place = list(names).index("") + 1
        raise PayoffFileError(f"{where}: {what} {place} has no name; give it one")
    return tuple(names)
