"""Tables in LaTeX, at most as wide as a printed page."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import NamedTuple, TypeAlias

SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "[": "{[}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "\u00a0": "~",
    "\u2009": r"\,",
    "\u202f": r"\,",
    "…": r"\dots{}",
    "†": r"$^\dagger$",
    "|": r"\textbar{}",
    "\n": " ",
    "*": r"$^*$",
}
"""Characters with a special meaning in LaTeX, and their escapes."""
SIGNS = {
    "\N{MINUS SIGN}": r"-",
    "\N{PLUS-MINUS SIGN}": r"\pm",
    "\N{GREATER-THAN OR EQUAL TO}": r"\geq",
    "\N{LESS-THAN OR EQUAL TO}": r"\leq",
    "\N{ALMOST EQUAL TO}": r"\approx",
    "\N{MULTIPLICATION SIGN}": r"\times",
    "\N{BALLOT X}": r"\times",
    "\N{CHECK MARK}": r"\surd",
    "\N{INFINITY}": r"\infty",
    "\N{RIGHTWARDS ARROW}": r"\to",
    "\N{UPWARDS ARROW}": r"\uparrow",
    "\N{DOWNWARDS ARROW}": r"\downarrow",
    "\N{GREEK SMALL LETTER ALPHA}": r"\alpha",
    "\N{GREEK SMALL LETTER BETA}": r"\beta",
    "\N{GREEK SMALL LETTER GAMMA}": r"\gamma",
    "\N{GREEK SMALL LETTER DELTA}": r"\delta",
    "\N{GREEK SMALL LETTER LAMDA}": r"\lambda",
    "\N{GREEK SMALL LETTER MU}": r"\mu",
    "\N{GREEK SMALL LETTER SIGMA}": r"\sigma",
    "\N{GREEK CAPITAL LETTER SIGMA}": r"\Sigma",
    "\N{GREEK CAPITAL LETTER DELTA}": r"\Delta",
}
"""Characters that LaTeX supports only in formulas."""
LATEX = SPECIAL | {sign: f"${code}$" for sign, code in SIGNS.items()}
PAGE = 32.5
"""The width of a page of LaTeX's article, in em of its ten points."""
SIZES = (("", 1.0), (r"\small", 0.94), (r"\footnotesize", 0.86), (r"\scriptsize", 0.8))
"""Font sizes, the largest first, and the width of an em in each."""
GAP = 0.8
"""Space between columns, in em: twice the tables' four points."""
LONG_TEXT, NARROW_TEXT = 16.0, 8.0
"""Widths, in em, from which texts are wrapped; the second as a last resort."""
BROKEN = 8.0
"""Width of a word, in em, from which it can be broken."""
LINES = r">{\raggedright\arraybackslash}p{%.1fem}"
"""A column of wrapped text of a given width in em."""
LONG_TABLE = 40
"""Number of rows from which a table spans several pages."""
Cell: TypeAlias = tuple[str, float]
"""The content of a cell, and its width in em."""
WIDTHS = {"il.,:;'!|j()[]ft \\/-I": 0.34, "mwMWOQ@%": 0.86}
"""Maximum widths of letters, in em; all others are 0.6 if capital and 0.53 otherwise."""
EXPONENT = re.compile(r"e\+?(-?)0*(\d+)$")
"""The exponent of a formatted number."""


class Column(NamedTuple):
    """A column of a table: its key, title, heading of its group, and whether it has numbers."""

    key: str
    title: str
    group: str = ""
    numeric: bool = False


def latex_table(
    caption: str, label: str, columns: Sequence[Column], cells: Mapping[str, Sequence[Cell]]
) -> str:
    r"""Return a table in LaTeX for the packages ``booktabs``, ``array`` and ``longtable``.

    The font is the largest that fits the page; tables that are too wide are split into panels of
    columns, long ones continue over pages.

    Args:
        label: without ``tab:``; characters that LaTeX does not allow in labels become ``-``.
        cells: the cells of each column, by its key; see :func:`cell`.

    >>> columns = Column("model", "Model"), Column("gain", "%", numeric=True)
    >>> cells = {"model": [cell("a_b")], "gain": [cell("0.5", numeric=True)]}
    >>> print(latex_table("Gains.", "gains", columns, cells))
    \begin{table}
    \setlength{\tabcolsep}{4pt}
    \caption{Gains.}
    \label{tab:gains}
    \begin{tabular}{lr}
    \toprule
    Model & \% \\
    \midrule
    a\_b & $0.5$ \\
    \bottomrule
    \end{tabular}
    \end{table}
    """
    layout = _Layout.of(columns, cells)
    label = re.sub(r"[\\{}%#~]", "-", label)
    head = [rf"\caption{{{escaped(' '.join(caption.split()))}}}", rf"\label{{tab:{label}}}"]
    if max(map(len, cells.values()), default=0) >= LONG_TABLE:
        return "\n".join(layout.over_pages(head))
    bodies = map(layout.tabular, layout.panels)
    parts = ([*([r"\par\medskip"] if index else []), *body] for index, body in enumerate(bodies))
    size = [layout.size] if layout.size else []
    start = [r"\begin{table}", r"\setlength{\tabcolsep}{4pt}", *size, *head]
    return "\n".join([*start, *chain.from_iterable(parts), r"\end{table}"])


def cell(text: str, *, numeric: bool = False, bold: bool = False, spread: str = "") -> Cell:
    """Return the content and the width of a cell.

    Args:
        text: plain text, or a formatted number, possibly with significance stars.
        spread: LaTeX code that follows a number, such as an interval.
    """
    if not text:
        return "", 0.0
    if not numeric:
        code = " ".join(map(_breakable, text.split(" ")))
        code = rf"\textbf{{{code}}}" if bold else code
        return code, _width(text) * (1.15 if bold else 1)
    digits = text.rstrip("*")
    stars = text[len(digits) :]
    code = rf"\mathbf{{{formula(digits)}}}" if bold else formula(digits)
    code = f"${code}$" + (rf"$^{{{stars}}}$" if stars else "")
    plain_spread = re.sub(r"[$\\{}]|dagger", "", spread)
    return code + spread, _formula_width(text) + _formula_width(plain_spread)


def _breakable(word: str) -> str:
    """Return an escaped word, which can be broken after punctuation if it is long, as in JSON."""
    code = escaped(word)
    return re.sub(r"(?<=[,:/])(?=.)", r"\\allowbreak{}", code) if _width(word) > BROKEN else code


def escaped(text: str) -> str:
    """Return a text escaped for LaTeX."""
    return "".join(LATEX.get(letter, letter) for letter in text)


@dataclass(frozen=True)
class _Layout:
    """A table's font size, its columns in panels that fit the page, and the columns' widths."""

    columns: Sequence[Column]
    cells: Mapping[str, Sequence[Cell]]
    widths: Mapping[str, float]
    size: str
    panels: Sequence[Sequence[Column]]

    @classmethod
    def of(cls, columns: Sequence[Column], cells: Mapping[str, Sequence[Cell]]) -> "_Layout":
        for longest in (LONG_TEXT, NARROW_TEXT):
            widths = _column_widths(columns, cells, longest)
            for size, em in SIZES:
                if em * _across(columns, widths) <= PAGE:
                    return cls(columns, cells, widths, size, [columns])
        size, em = SIZES[-1]
        return cls(columns, cells, widths, size, _panels(columns, widths, PAGE / em))

    def tabular(self, panel: Sequence[Column]) -> list[str]:
        head = rf"\begin{{tabular}}{{{self._sides(panel)}}}"
        rows = [r"\toprule", *self._heading(panel), *self._body(panel), r"\bottomrule"]
        return [head, *rows, r"\end{tabular}"]

    def over_pages(self, head: Sequence[str]) -> Iterator[str]:
        yield rf"\begingroup\setlength{{\tabcolsep}}{{4pt}}{self.size}"
        for index, panel in enumerate(self.panels):
            yield rf"\begin{{longtable}}{{{self._sides(panel)}}}"
            if not index:
                yield from head[:1]
                yield head[1] + r" \\"
            yield from (r"\toprule", *self._heading(panel))
            yield from (r"\endhead", r"\bottomrule", r"\endfoot", *self._body(panel))
            is_last = index == len(self.panels) - 1
            yield r"\end{longtable}" + ("" if is_last else r"\addtocounter{table}{-1}")
        yield r"\endgroup"

    def _sides(self, panel: Sequence[Column]) -> str:
        return "".join(
            "r"
            if column.numeric
            else "l"
            if self.widths[column.key] < NARROW_TEXT
            else LINES % self.widths[column.key]
            for column in panel
        )

    def _heading(self, panel: Sequence[Column]) -> Iterator[str]:
        if any(column.group for column in self.columns):
            runs = [(name, len([*run])) for name, run in groupby(column.group for column in panel)]
            yield _row(
                rf"\multicolumn{{{count}}}{{c}}{{{escaped(name)}}}" if name else " & " * (count - 1)
                for name, count in runs
            )
            position = 1
            for name, count in runs:
                if name:
                    yield rf"\cmidrule(lr){{{position}-{position + count - 1}}}"
                position += count
        lines = [_broken(column.title, self.widths[column.key]) for column in panel]
        for position in range(max(map(len, lines))):
            yield _row(escaped(line[position]) if position < len(line) else "" for line in lines)
        yield r"\midrule"

    def _body(self, panel: Sequence[Column]) -> Iterator[str]:
        for row in zip(*(self.cells[column.key] for column in panel), strict=True):
            yield _row(text for text, _ in row)


def _together(column: Column) -> str:
    """Return a key that is equal for columns that must stay in the same panel."""
    return column.group or column.key.removesuffix(".printed")


def _panels(
    columns: Sequence[Column], widths: Mapping[str, float], room: float
) -> list[list[Column]]:
    """Distribute columns over as few panels as possible, of similar widths."""
    narrower = (_filled(columns, widths, room, room * part / 20) for part in range(8, 20))
    fewest = _filled(columns, widths, room, room)
    return next((panels for panels in narrower if len(panels) == len(fewest)), fewest)


def _filled(
    columns: Sequence[Column], widths: Mapping[str, float], page: float, room: float
) -> list[list[Column]]:
    """Fill panels with columns up to a width, keeping groups together that fit on a page."""
    stub = _stub(columns)
    panels = [list(stub)]
    for _, run in groupby(columns[len(stub) :], key=_together):
        together = list(run)
        fits = _across([*stub, *together], widths) <= page
        for part in [together] if fits else [[column] for column in together]:
            if len(panels[-1]) > len(stub) and _across([*panels[-1], *part], widths) > room:
                panels.append(list(stub))
            panels[-1] += part
    return panels


def _across(columns: Sequence[Column], widths: Mapping[str, float]) -> float:
    return sum(widths[column.key] + GAP for column in columns)


def _stub(columns: Sequence[Column]) -> list[Column]:
    """Return the columns that identify a row: the text columns before the first numeric column."""
    texts = next((index for index, column in enumerate(columns) if column.numeric), 1)
    return list(columns[: max(1, min(texts, len(columns) - 1))])


def _column_widths(
    columns: Sequence[Column], cells: Mapping[str, Sequence[Cell]], longest: float
) -> dict[str, float]:
    """Return each column's width in em, from the widest cell or the longest word of the title."""
    widths = {}
    for column in columns:
        widest = max((width for _, width in cells[column.key]), default=0.0)
        column_width = min(longest, widest) if not column.numeric else widest
        widths[column.key] = max([*map(_width, column.title.split()), column_width])
    for name, run in groupby(columns, key=lambda column: column.group):
        keys = [mark.key for mark in run]
        lacking = _width(name) - sum(widths[key] + GAP for key in keys)
        for key in keys if lacking > 0 else ():
            widths[key] += lacking / len(keys)
    return widths


def _width(text: str) -> float:
    wide = 0.0
    for letter in text:
        kind = next((width for letters, width in WIDTHS.items() if letter in letters), None)
        wide += kind or (0.78 if letter.isupper() else 0.53)
    return wide


def _broken(title: str, width: float) -> list[str]:
    lines = [""]
    for word in title.split():
        longer = f"{lines[-1]} {word}".strip()
        lines[-1:] = [longer] if _width(longer) <= width or not lines[-1] else [lines[-1], word]
    return lines


def _row(texts: Iterable[str]) -> str:
    return " & ".join(texts) + r" \\"


def _formula_width(text: str) -> float:
    """Return the width of a number in em, counting a minus sign as wider than a hyphen."""
    return _width(text) + 0.45 * text.count("-")


def formula(number: str) -> str:
    r"""Return the code of a formatted number in LaTeX's mathematics mode.

    >>> print(formula("1,200"), formula("2.5e-12"), formula("-inf"))
    1{,}200 2.5 \times 10^{-12} -\infty
    """
    code = EXPONENT.sub(r" \\times 10^{\1\2}", number).replace(",", "{,}")
    return code.replace("inf", r"\infty")
