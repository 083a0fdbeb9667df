"""Text and tables in limited width without broken words; imported when a command first prints."""

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import product, zip_longest
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.panel import Panel
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.segment import Segment
from rich.status import Status
from rich.table import Table
from rich.text import Text

from cheaptalk.text import visible

WORD = re.compile(r"\S+")
GAPS = (2, 1)
"""Spaces between two table columns: the default, and the minimum for wide tables."""


def breaks(line: str, width: int) -> list[int]:
    """Return the positions at which to break a line between words to fit a given width.

    >>> breaks("to be or not", 6)
    [6]
    """
    start, positions = 0, []
    for word in WORD.finditer(line):
        if cell_len(line[start : word.end()]) > width and line[start : word.start()].strip():
            start = word.start()
            positions.append(start)
    return positions


def folded(text: Text, width: int) -> Text:
    """Return a text with lines wrapped at spaces to the given width."""
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
    """Return the lines of a table's header and of its rows.

    If the table is too wide, cells are wrapped at spaces; then long words of the first column are
    placed on separate lines. If the table is still too wide, it has no header, and each row becomes
    a paragraph with the column's name before each cell.

    Args:
        width: width of the terminal; None for unlimited lines.
        right: indices of columns to align right.

    >>> head, rows = table_lines(["name", "age"], [["Ann of Green Gables", "11"]], 17, [1])
    >>> [*head, *rows]
    ['name          age', 'Ann of Green   11', 'Gables']
    """
    table = [columns, *rows]
    for overflow, gap in product((False, True), GAPS):
        room = None if width is None else width - gap * (len(columns) - 1)
        widths = _widths(table, room, overflow=overflow)
        if widths is not None:
            laid = [list(_row(row, widths, gap, right)) for row in table]
            return laid[0], [line for row in laid[1:] for line in row]
    return [], [line for row in rows for line in _paragraph(columns, row, width or 0)]


def _paragraph(columns: Sequence[str], row: Sequence[str], width: int) -> Iterator[str]:
    for index, (name, cell) in enumerate(zip(columns, row, strict=True)):
        indent = "  " if index else ""
        yield from (f"{indent}{line}" for line in _fold(f"{name}: {cell}", width - len(indent)))


def _widths(table: list[Sequence[str]], room: int | None, *, overflow: bool) -> list[int] | None:
    """Return the width of each column, or None if the longest words do not fit side by side.

    With ``overflow``, the first column may be narrower than its longest word.
    """
    columns = list(zip(*table, strict=True))
    widths = [
        max(cell_len(line) for cell in column for line in cell.split("\n")) for column in columns
    ]
    if room is None:
        return widths
    minimum = [max(map(cell_len, WORD.findall(" ".join(column))), default=0) for column in columns]
    if overflow:
        minimum[0] = min(minimum[0], room // 3)
    if sum(minimum) > room:
        return None
    while sum(widths) > room:
        _, widest = max((width, i) for i, width in enumerate(widths) if width > minimum[i])
        widths[widest] -= 1
    return widths


def _row(
    row: Sequence[str], widths: Sequence[int], gap: int, right: Collection[int]
) -> Iterator[str]:
    first, *cells = [_fold(cell, width) for cell, width in zip(row, widths, strict=True)]
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
            f"{' ' * (width - cell_len(part))}{part}"
            if index in right
            else f"{part}{' ' * (width - cell_len(part))}"
            for index, (part, width) in enumerate(zip(parts, widths, strict=True))
        )
        yield (" " * gap).join(padded).rstrip()


__all__ = [
    "BarColumn",
    "MofNCompleteColumn",
    "Panel",
    "Progress",
    "SafeConsole",
    "Status",
    "Table",
    "Text",
    "TextColumn",
    "boxed",
    "escape",
]


class SafeConsole(Console):
    """A console that escapes control characters and, on a terminal, wraps text between words."""

    def print(self, *objects: Any, **options: Any) -> None:
        soft_wrap = options.get("soft_wrap")
        if len(objects) == 1 and not (self.soft_wrap if soft_wrap is None else soft_wrap):
            text = objects[0]
            if isinstance(text, str):
                markup = options.pop("markup", None)
                text = self.render_str(text, markup=markup, highlight=False)
            if isinstance(text, Text):
                objects, options["soft_wrap"] = (folded(text, self.width),), True
        super().print(*objects, **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))


def boxed(text: str, title: str | None, width: int) -> Panel:
    """Return a text in a box, wrapped between words."""
    return Panel(folded(Text(text), width - 4), title=title)
