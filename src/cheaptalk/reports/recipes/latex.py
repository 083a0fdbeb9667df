"""Tables in LaTeX, at most as wide as a printed page."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Any, TypeAlias

from cheaptalk.reports.recipes.tables import Header, ReportTable
from cheaptalk.text import fixed

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
LINES = r">{\raggedright\arraybackslash}p{%.1fem}"
"""A column of wrapped text of a given width in em."""
LONG_TABLE = 40
"""Number of rows from which a table spans several pages."""
Cell: TypeAlias = tuple[str, float]
"""The content of a cell, and its width in em."""
WIDTHS = {"il.,:;'!|j()[]ft \\/-I": 0.34, "mwMWOQ@%": 0.86}
"""Maximum widths of letters, in em; all others are 0.6 if capital and 0.53 otherwise."""


def latex(table: ReportTable, label: str = "") -> str:
    r"""Return a table in LaTeX for the packages ``booktabs``, ``array`` and ``longtable``.

    Intervals are in brackets, standard errors in parentheses. The font is the largest that fits the
    page; tables that are too wide are split into panels of columns, long ones continue over pages.

    Args:
        label: the LaTeX label; by default, the table's name.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"model": ["a_b"], "gain": [0.5], "gain.error": [0.125]})
    >>> columns = (Header("model", "Model"), Header("gain", "Gain", "%", 2))
    >>> print(latex(ReportTable("gains", "Gains", frame, columns)))
    \begin{table}
    \setlength{\tabcolsep}{4pt}
    \caption{Gains.}
    \label{tab:gains}
    \begin{tabular}{lr}
    \toprule
    Model & Gain (\%) \\
    \midrule
    a\_b & $0.50$ ($0.12$) \\
    \bottomrule
    \end{tabular}
    \end{table}
    """
    layout = _Layout.of(table)
    caption = f"{table.title}. {table.caption} {table.caution}"
    head = [
        rf"\caption{{{escaped(' '.join(caption.split()))}}}",
        rf"\label{{tab:{label or table.name}}}",
    ]
    if len(table.frame) >= LONG_TABLE:
        return "\n".join(layout.over_pages(head))
    bodies = map(layout.tabular, layout.panels)
    parts = ([*([r"\par\medskip"] if index else []), *body] for index, body in enumerate(bodies))
    size = [layout.size] if layout.size else []
    start = [r"\begin{table}", r"\setlength{\tabcolsep}{4pt}", *size, *head]
    return "\n".join([*start, *chain.from_iterable(parts), r"\end{table}"])


def escaped(text: str) -> str:
    """Return a text escaped for LaTeX."""
    return re.sub(".", lambda match: LATEX.get(match[0], match[0]), text)


@dataclass(frozen=True)
class _Layout:
    """A table's font size, its columns in panels that fit the page, and the columns' widths."""

    table: ReportTable
    cells: Mapping[str, Sequence[Cell]]
    widths: Mapping[str, float]
    size: str
    panels: Sequence[Sequence[Header]]

    @classmethod
    def of(cls, table: ReportTable) -> "_Layout":
        rows, columns = list(table.rows), table.columns
        cells = {column.key: [_cell(table, row, column) for row in rows] for column in columns}
        for longest in (LONG_TEXT, NARROW_TEXT):
            widths = _column_widths(table, cells, longest)
            for size, em in SIZES:
                if em * _across(columns, widths) <= PAGE:
                    return cls(table, cells, widths, size, [columns])
        size, em = SIZES[-1]
        return cls(table, cells, widths, size, _panels(columns, widths, PAGE / em))

    def tabular(self, panel: Sequence[Header]) -> list[str]:
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

    def _sides(self, panel: Sequence[Header]) -> str:
        return "".join(
            "r"
            if column.decimals is not None
            else "l"
            if self.widths[column.key] < NARROW_TEXT
            else LINES % self.widths[column.key]
            for column in panel
        )

    def _heading(self, panel: Sequence[Header]) -> Iterator[str]:
        if self.table.groups:
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
        titles = dict(zip((it.key for it in self.table.columns), self.table.titles, strict=True))
        lines = [_broken(titles[column.key], self.widths[column.key]) for column in panel]
        for position in range(max(map(len, lines))):
            yield _row(escaped(line[position]) if position < len(line) else "" for line in lines)
        yield r"\midrule"

    def _body(self, panel: Sequence[Header]) -> Iterator[str]:
        for row in zip(*(self.cells[column.key] for column in panel), strict=True):
            yield _row(text for text, _ in row)


def _together(column: Header) -> str:
    """Return a key that is equal for columns that must stay in the same panel."""
    return column.group or column.key.removesuffix(".printed")


def _panels(
    columns: Sequence[Header], widths: Mapping[str, float], room: float
) -> list[list[Header]]:
    stub = _stub(columns)
    panels = [list(stub)]
    for _, run in groupby(columns[len(stub) :], key=_together):
        together = list(run)
        fits = _across([*stub, *together], widths) <= room
        for part in [together] if fits else [[column] for column in together]:
            if len(panels[-1]) > len(stub) and _across([*panels[-1], *part], widths) > room:
                panels.append(list(stub))
            panels[-1] += part
    return panels


def _across(columns: Sequence[Header], widths: Mapping[str, float]) -> float:
    return sum(widths[column.key] + GAP for column in columns)


def _stub(columns: Sequence[Header]) -> list[Header]:
    """Return the columns that identify a row: the text columns before the first numeric column."""
    texts = next((index for index, column in enumerate(columns) if column.decimals is not None), 1)
    return list(columns[: max(1, min(texts, len(columns) - 1))])


def _column_widths(
    table: ReportTable, cells: Mapping[str, Sequence[Cell]], longest: float
) -> dict[str, float]:
    """Return each column's width in em, from the widest cell or the longest word of the title."""
    widths = {}
    for column, title in zip(table.columns, table.titles, strict=True):
        widest = max((width for _, width in cells[column.key]), default=0.0)
        column_width = min(longest, widest) if column.decimals is None else widest
        widths[column.key] = max([*map(_width, title.split()), column_width])
    for name, run in groupby(table.columns, key=lambda column: column.group):
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


def _cell(table: ReportTable, row: Mapping[str, Any], column: Header) -> Cell:
    value, decimals = row[column.key], table.decimals(row, column)
    if value is None:
        return "", 0.0
    bold = table.bold(row, column)
    if decimals is None:
        text = escaped(str(value))
        return rf"\textbf{{{text}}}" if bold else text, _width(str(value)) * (1.15 if bold else 1)
    number = table.number(row, column)
    stars = len(number) - len(number.rstrip("*"))
    text = _formula(number.rstrip("*"))
    text = rf"\mathbf{{{text}}}" if bold else text
    text = f"${text}$" + (rf"$^{{{'*' * stars}}}$" if stars else "")
    spread = _spread(table, row, column, decimals)
    plain_spread = re.sub(r"[$\\{}]|dagger", "", spread)
    return text + spread, _formula_width(number) + _formula_width(plain_spread)


def _spread(table: ReportTable, row: Mapping[str, Any], column: Header, decimals: int) -> str:
    estimate = table.cell(row, column)
    if not column.spread:
        return ""
    if estimate.ends is not None:
        ends = (_formula(fixed(end, decimals)) for end in estimate.ends)
        few = r"$^\dagger$" if estimate.wanted is not None else ""
        return f" [${'$, $'.join(ends)}$]{few}"
    return "" if estimate.error is None else f" (${_formula(fixed(estimate.error, decimals))}$)"


def _formula_width(text: str) -> float:
    """Return the width of a number in em, counting a minus sign as wider than a hyphen."""
    return _width(text) + 0.45 * text.count("-")


def _formula(number: str) -> str:
    return number.replace(",", "{,}")
