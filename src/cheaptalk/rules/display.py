"""How results show: in one line among others, and as HTML in a notebook, where all is escaped."""

from collections.abc import Iterable
from html import escape

LONGEST = 120
"""Characters of a line."""


def brief(thing: object, text: str) -> str:
    """A thing in one line, which is cut where it gets long.

    >>> brief(3, "a number"), len(brief(3, "a number " * 100))
    ('<int: a number>', 120)
    """
    line = f"<{type(thing).__name__}: {' '.join(text.split())}>"
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 4]}...>"


def html_table(
    title: str,
    headings: Iterable[object],
    rows: Iterable[Iterable[object]],
    notes: Iterable[object] = (),
) -> str:
    """A table in HTML, with what stands over and under it.

    >>> html_table("Gains", ["player"], [["a & b"]])
    '<table><caption>Gains</caption><tr><th>player</th></tr><tr><td>a &amp; b</td></tr></table>'
    """
    lines = [("th", headings), *(("td", row) for row in rows)]
    body = "".join(
        f"<tr>{''.join(f'<{tag}>{_html(cell)}</{tag}>' for cell in cells)}</tr>"
        for tag, cells in lines
    )
    under = "".join(f"<p>{_html(note)}</p>" for note in notes)
    return f"<table><caption>{_html(title)}</caption>{body}</table>{under}"


def _html(cell: object) -> str:
    return escape(str(cell)).replace("\n", "<br>")


class Printed:
    """A result that prints as text of several lines; the first stands for it among others."""

    __slots__ = ()

    def __repr__(self) -> str:
        return brief(self, str(self).partition("\n")[0])

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"
