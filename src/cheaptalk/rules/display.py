"""Representations of results: one line of text, HTML in a notebook, and spreadsheet cells.

User-written text is escaped, so that no browser or spreadsheet executes it.
"""

import re
from collections.abc import Iterable
from html import escape
from numbers import Integral, Real

LONGEST = 120
"""Maximum characters of a line."""
FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""First characters of spreadsheet formulas."""
SUSPECT = {*FORMULAS, "'"}
"""First characters of cells that may have to be escaped."""

EMPTY = "-"
"""The text of a cell without a value."""
LEFT, RIGHT = (f' style="text-align: {side}; vertical-align: top"' for side in ("left", "right"))
"""The attributes of cells with text and of cells with numbers."""
NUMBER = re.compile(r"[<$+\-\N{MINUS SIGN}]? ?\d")
"""The first characters of a formatted number."""


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
    """Return an HTML table with a title above it and notes below it.

    >>> html_table("Gains", [], [])
    '<p><b>Gains</b></p>'
    """
    names, table = list(map(str, headings)), [list(map(cell_text, row)) for row in rows]
    columns = zip(*table, strict=True) if table else [()] * len(names)
    sides = [RIGHT if _is_numeric(column) else LEFT for column in columns]
    body = _html_row("th", sides, names)
    body += "".join(_html_row("td", sides, cells) for cells in table)
    heading = f"<p><b>{_html(title)}</b></p>" if title else ""
    footer = "".join(f"<p>{_html(note)}</p>" for note in notes)
    return f"{heading}<table>{body}</table>{footer}" if names else heading + footer


def _is_numeric(column: Iterable[str]) -> bool:
    return all(text == EMPTY or is_number(text) for text in column)


def _html_row(tag: str, sides: Iterable[str], cells: Iterable[str]) -> str:
    pairs = zip(sides, cells, strict=True)
    return f"<tr>{''.join(f'<{tag}{side}>{_html(text)}</{tag}>' for side, text in pairs)}</tr>"


def _html(text: object) -> str:
    return escape(str(text)).replace("\n", "<br>")


def is_missing(value: object) -> bool:
    """Return whether a cell has no value: None or NaN."""
    return value is None or (isinstance(value, float) and value != value)


def cell_text(value: object) -> str:
    """Return the value of a table's cell as text, with four significant digits.

    >>> cell_text(0.123456), cell_text(12345), cell_text(None), cell_text("a")
    ('0.1235', '12,345', '-', 'a')
    """
    if is_missing(value):
        return EMPTY
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Integral):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, Real) else str(value)


def is_number(value: object) -> bool:
    """Return whether a cell is a number or a text that begins with a number.

    >>> is_number(1), is_number("-0.5 (0.1)"), is_number("level 1"), is_number(True)
    (True, True, False, False)
    """
    if isinstance(value, str):
        return bool(NUMBER.match(value))
    return isinstance(value, Real) and not isinstance(value, bool)


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
