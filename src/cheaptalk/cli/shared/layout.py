"""Words and tables laid out in lines of a width, or of any: no word is ever broken or cut."""

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import product, zip_longest

from rich.cells import cell_len
from rich.text import Text

WORD = re.compile(r"\S+")
GAPS = (2, 1)
"""Columns of space between two columns of a table, the second where room is scarce."""


def breaks(line: str, width: int) -> list[int]:
    """Where to break a line, so that each part is as wide as this at most, or a single word.

    >>> breaks("to be or not", 6)
    [6]
    """
    start, found = 0, []
    for word in WORD.finditer(line):
        if cell_len(line[start : word.end()]) > width and line[start : word.start()].strip():
            start = word.start()
            found.append(start)
    return found


def folded(text: Text, width: int) -> Text:
    """A text whose lines are broken at spaces where they are wider than this."""
    lines = [
        part
        for line in text.split("\n", allow_blank=True)
        for part in line.divide(breaks(line.plain, width))
    ]
    for line in lines[:-1]:
        line.rstrip()
    return Text("\n").join(lines)


def _fold(text: str, width: int | None) -> list[str]:
    return text.split("\n") if width is None else folded(Text(text), width).plain.split("\n")


def table_lines(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int | None,
    right: Collection[int] = (),
) -> tuple[list[str], list[str]]:
    """The lines of a table: its head, and its rows.

    Where it is too wide, cells are folded at spaces. Where that does not fit, the longest words of
    the first column stand in lines of their own. Where even that does not fit, there is no head,
    and each row is a paragraph in which each cell has its column's name.

    Args:
        width: of the terminal; None where lines may be of any.
        right: columns that stand right, by their number.

    >>> head, rows = table_lines(["name", "age"], [["Ann of Green Gables", "11"]], 17, [1])
    >>> [*head, *rows]
    ['name          age', 'Ann of Green   11', 'Gables']
    """
    table = [columns, *rows]
    for alone, gap in product((False, True), GAPS):
        room = None if width is None else width - gap * (len(columns) - 1)
        widths = _widths(table, room, alone=alone)
        if widths is not None:
            laid = [list(_row(row, widths, gap, right)) for row in table]
            return laid[0], [line for row in laid[1:] for line in row]
    return [], [line for row in rows for line in _paragraph(columns, row, width or 0)]


def _paragraph(columns: Sequence[str], row: Sequence[str], width: int) -> Iterator[str]:
    for place, (name, cell) in enumerate(zip(columns, row, strict=True)):
        indent = "  " if place else ""
        yield from (f"{indent}{line}" for line in _fold(f"{name}: {cell}", width - len(indent)))


def _widths(table: Sequence[Sequence[str]], room: int | None, *, alone: bool) -> list[int] | None:
    """How wide each column is; None where the longest words of all have no room together.

    Args:
        alone: whether the first column may be less wide than its longest word.
    """
    cells = list(zip(*table, strict=True))
    widths = [max(cell_len(line) for cell in one for line in cell.split("\n")) for one in cells]
    if room is None:
        return widths
    least = [max(map(cell_len, WORD.findall(" ".join(one))), default=0) for one in cells]
    if alone:
        least[0] = min(least[0], room // 3)
    if sum(least) > room:
        return None
    while sum(widths) > room:
        _, widest = max((wide, place) for place, wide in enumerate(widths) if wide > least[place])
        widths[widest] -= 1
    return widths


def _row(
    row: Sequence[str], widths: Sequence[int], gap: int, right: Collection[int]
) -> Iterator[str]:
    first, *cells = [_fold(cell, wide) for cell, wide in zip(row, widths, strict=True)]
    others = list(zip_longest(*cells, fillvalue=""))
    blank = [""] * len(cells)
    laid: list[list[str]] = []
    for part in first:
        if cell_len(part) > widths[0]:
            laid.append([part, *blank])
        else:
            laid.append([part, *(others.pop(0) if others else blank)])
    laid.extend(["", *rest] for rest in others)
    for parts in laid:
        padded = (
            f"{' ' * (wide - cell_len(part))}{part}" if place in right
            else f"{part}{' ' * (wide - cell_len(part))}"
            for place, (part, wide) in enumerate(zip(parts, widths, strict=True))
        )  # fmt: skip
        yield (" " * gap).join(padded).rstrip()
