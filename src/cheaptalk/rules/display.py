"""How results show: in one line among others, as HTML in a notebook, and in spreadsheets.

Nothing that somebody wrote is ever a command to what shows it.
"""

from collections.abc import Iterable
from html import escape

LONGEST = 120
"""Characters of a line."""
FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""How cells begin that a spreadsheet would compute."""
SUSPECT = {*FORMULAS, "'"}
"""How cells begin that are looked at more closely."""


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


def spreadsheet_text(text: str) -> str:
    """A text as a cell of a CSV file that no spreadsheet takes for a formula.

    One that begins as formulas do gets a quotation mark before it, as OWASP advises; a number does
    not. :func:`text_of_spreadsheet` takes it away.

    >>> spreadsheet_text("=1+1"), spreadsheet_text("-3.5"), spreadsheet_text("- 3.5"), "so"
    ("'=1+1", '-3.5', "'- 3.5", 'so')
    """
    return f"'{text}" if text[:1] in SUSPECT and _like_a_formula(text) else text


def text_of_spreadsheet(cell: str) -> str:
    """What :func:`spreadsheet_text` made the cell of.

    >>> text_of_spreadsheet("'=1+1"), text_of_spreadsheet("'s")
    ('=1+1', "'s")
    """
    return cell[1:] if cell.startswith("'") and _like_a_formula(cell) else cell


def _like_a_formula(text: str) -> bool:
    """Whether a text begins as formulas do, quotation marks aside."""
    text = text.lstrip("'")
    if not text.startswith(FORMULAS):
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False


class Printed:
    """A result that prints as text of several lines; the first stands for it among others."""

    __slots__ = ()

    def __repr__(self) -> str:
        return brief(self, str(self).partition("\n")[0])

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"
