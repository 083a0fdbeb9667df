"""Representations of results: one line of text, HTML in a notebook, and spreadsheet cells.

User-written text is never interpreted as a command by the program that displays it.
"""

from collections.abc import Iterable
from html import escape

LONGEST = 120
"""Maximum characters of a line."""
FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""The characters with which formulas begin in spreadsheets."""
SUSPECT = {*FORMULAS, "'"}
"""The first characters of cells that need a closer check."""


def brief(value: object, text: str) -> str:
    """Return an object's description in one line, truncated if it is long.

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
    """Return an HTML table with a caption and, below it, notes.

    >>> html_table("Gains", ["player"], [["a & b"]])
    '<table><caption>Gains</caption><tr><th>player</th></tr><tr><td>a &amp; b</td></tr></table>'
    """
    lines = [("th", headings), *(("td", row) for row in rows)]
    body = "".join(
        f"<tr>{''.join(f'<{tag}>{_html(cell)}</{tag}>' for cell in cells)}</tr>"
        for tag, cells in lines
    )
    footer = "".join(f"<p>{_html(note)}</p>" for note in notes)
    return f"<table><caption>{_html(title)}</caption>{body}</table>{footer}"


def _html(cell: object) -> str:
    return escape(str(cell)).replace("\n", "<br>")


def spreadsheet_text(text: str) -> str:
    """Return a text as a CSV cell that no spreadsheet evaluates as a formula.

    A text that begins like a formula gets a leading apostrophe, as OWASP advises; a number does
    not. :func:`unescape_spreadsheet_text` removes it.

    >>> spreadsheet_text("=1+1"), spreadsheet_text("-3.5"), spreadsheet_text("- 3.5"), "so"
    ("'=1+1", '-3.5', "'- 3.5", 'so')
    """
    return f"'{text}" if text[:1] in SUSPECT and _resembles_formula(text) else text


def unescape_spreadsheet_text(cell: str) -> str:
    """Return the text from which :func:`spreadsheet_text` made the cell.

    >>> unescape_spreadsheet_text("'=1+1"), unescape_spreadsheet_text("'s")
    ('=1+1', "'s")
    """
    return cell[1:] if cell.startswith("'") and _resembles_formula(cell) else cell


def _resembles_formula(text: str) -> bool:
    """Return whether a text begins like a formula, ignoring leading apostrophes."""
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
