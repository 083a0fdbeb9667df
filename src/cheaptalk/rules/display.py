"""Representations of results: one line of text, HTML in a notebook, and spreadsheet cells.

User-written text is escaped, so that no browser or spreadsheet executes it.
"""

from collections.abc import Iterable
from html import escape

LONGEST = 120
"""Maximum characters of a line."""
FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""First characters of spreadsheet formulas."""
SUSPECT = {*FORMULAS, "'"}
"""First characters of cells that may have to be escaped."""


def brief(value: object, text: str) -> str:
    """Return the type and a description of an object in one line, truncated if it is long.

    >>> brief(3, "a number"), len(brief(3, "a number " * 100))
    ('<int: a number>', 120)
    """
    line = f"<{type(value).__name__}: {' '.join(text.split())}>"
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 4]}...>"


def html_table(
    title: str,
    headings: Iterable[object],
    rows: Iterable[Iterable[object]],
    notes: Iterable[object] = (),
) -> str:
    """Return an HTML table with a caption above it and notes below it.

    >>> html_table("Gains", ["player"], [["a & b"]])
    '<table><caption>Gains</caption><tr><th>player</th></tr><tr><td>a &amp; b</td></tr></table>'
    """
    body = "".join(
        f"<tr>{''.join(f'<{tag}>{_html(cell)}</{tag}>' for cell in cells)}</tr>"
        for tag, cells in [("th", headings), *(("td", row) for row in rows)]
    )
    footer = "".join(f"<p>{_html(note)}</p>" for note in notes)
    return f"<table><caption>{_html(title)}</caption>{body}</table>{footer}"


def _html(cell: object) -> str:
    return escape(str(cell)).replace("\n", "<br>")


def spreadsheet_text(text: str) -> str:
    """Return a text as a CSV cell that no spreadsheet evaluates as a formula.

    As OWASP advises, a text that begins like a formula gets a leading apostrophe; numbers do not.
    :func:`unescape_spreadsheet_text` removes the apostrophe.

    >>> spreadsheet_text("=1+1"), spreadsheet_text("-3.5"), spreadsheet_text("- 3.5"), "so"
    ("'=1+1", '-3.5', "'- 3.5", 'so')
    """
    return f"'{text}" if text[:1] in SUSPECT and _resembles_formula(text) else text


def unescape_spreadsheet_text(cell: str) -> str:
    """Return the original text of a cell that :func:`spreadsheet_text` escaped."""
    return cell[1:] if cell.startswith("'") and _resembles_formula(cell) else cell


def _resembles_formula(text: str) -> bool:
    text = text.lstrip("'")
    if not text.startswith(FORMULAS):
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False


class Printed:
    """A result that prints as several lines; its ``repr`` shows only the first."""

    __slots__ = ()

    def __repr__(self) -> str:
        return brief(self, str(self).partition("\n")[0])

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"
