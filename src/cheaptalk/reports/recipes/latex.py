"""Tables in LaTeX, as wide as a page of print at most."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from typing import Any, TypeAlias

from cheaptalk.reports.recipes.tables import Header, ReportTable
from cheaptalk.text import fixed

SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "[": "{[}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": "$<$", ">": "$>$", "\u00a0": "~", "\u2009": r"\,", "\u202f": r"\,", "…": r"\dots{}",
    "†": r"$^\dagger$", "*": r"$^*$",
}  # fmt: skip
"""Characters that LaTeX takes for something else."""
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
"""Signs that it knows in formulas only."""
LATEX = SPECIAL | {sign: f"${code}$" for sign, code in SIGNS.items()}
PAGE = 32.5
"""The width of a page of LaTeX's article, in em of its ten points."""
SIZES = (("", 1.0), (r"\small", 0.94), (r"\footnotesize", 0.86), (r"\scriptsize", 0.8))
"""Sizes of letters, the largest first, and how much of an em each has."""
GAP = 0.8
"""Between columns, in em: twice the four points that tables here set."""
LONG_TEXT, NARROW_TEXT = 16.0, 8.0
"""Widths, in em, from which texts are broken into lines; the second where nothing fits else."""
LINES = r">{\raggedright\arraybackslash}p{%.1fem}"
"""A column of texts in lines, of so many em."""
LONG_TABLE = 40
"""Rows from which a table goes on over pages."""
Cell: TypeAlias = tuple[str, float]
"""What stands in a cell, and its width in em."""
WIDTHS = {"il.,:;'!|j()[]ft \\/-I": 0.34, "mwMWOQ@%": 0.86}
"""The widths of letters, in em, as wide as they come; all others are 0.6 as capitals, else 0.53."""


def latex(table: ReportTable, label: str = "") -> str:
    r"""A table in LaTeX, with the packages ``booktabs``, ``array`` and, over pages, ``longtable``.

    Intervals stand in brackets and standard errors in parentheses. Letters are as large as fit in
    the width of a page; a table that fits in no size is broken into panels of columns, and one of
    many rows goes on over pages.

    Args:
        table: which.
        label: for references; the table's name without.

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
    rows = list(table.rows)
    cells = {one.key: [_cell(table, row, one) for row in rows] for one in table.columns}
    size, panels, widths = _fitted(table, cells)
    said = f"{table.title}. {table.caption} {table.caution}"
    head = [
        rf"\caption{{{escaped(' '.join(said.split()))}}}",
        rf"\label{{tab:{label or table.name}}}",
    ]
    if len(rows) >= LONG_TABLE:
        return "\n".join(_over_pages(table, size, panels, widths, cells, head))
    bodies = [_tabular(table, panel, widths, cells) for panel in panels]
    return "\n".join(
        [
            r"\begin{table}", r"\setlength{\tabcolsep}{4pt}", *filter(None, [size]), *head,
            *chain.from_iterable(
                [*([r"\par\medskip"] if place else []), *body] for place, body in enumerate(bodies)
            ),
            r"\end{table}",
        ]
    )  # fmt: skip


def escaped(text: str) -> str:
    """A text in LaTeX."""
    return re.sub(".", lambda found: LATEX.get(found[0], found[0]), text)


def _fitted(
    table: ReportTable, cells: Mapping[str, Sequence[Cell]]
) -> tuple[str, list[list[Header]], dict[str, float]]:
    """The size of letters, the panels of columns, one if that fits in some size, and widths."""
    for longest in (LONG_TEXT, NARROW_TEXT):
        widths = _column_widths(table, cells, longest)
        for size, em in SIZES:
            if em * _across(table.columns, widths) <= PAGE:
                return size, [list(table.columns)], widths
    size, em = SIZES[-1]
    return size, _panels(table.columns, widths, PAGE / em), widths


def _panels(
    columns: Sequence[Header], widths: Mapping[str, float], room: float
) -> list[list[Header]]:
    """The columns in panels that fit, each with those that say what a row is."""
    stub = _stub(columns)
    panels = [list(stub)]
    for _, run in groupby(columns[len(stub) :], key=_belongs_to):
        together = list(run)
        whole = _across([*stub, *together], widths) <= room
        for part in [together] if whole else [[one] for one in together]:
            if len(panels[-1]) > len(stub) and _across([*panels[-1], *part], widths) > room:
                panels.append(list(stub))
            panels[-1] += part
    return panels


def _belongs_to(column: Header) -> str:
    """What a column stays beside: its group, or the number that is printed beside ours."""
    return column.group or column.key.removesuffix(".printed")


def _across(columns: Sequence[Header], widths: Mapping[str, float]) -> float:
    """The width of columns side by side, in em."""
    return sum(widths[one.key] + GAP for one in columns)


def _stub(columns: Sequence[Header]) -> list[Header]:
    """The columns that say what a row is: the texts before the first number."""
    texts = next((at for at, one in enumerate(columns) if one.places is not None), 1)
    return list(columns[: max(1, min(texts, len(columns) - 1))])


def _column_widths(
    table: ReportTable, cells: Mapping[str, Sequence[Cell]], longest: float
) -> dict[str, float]:
    """The widths of columns, in em: of their widest cell, or of a word of their title."""
    found = {}
    for one, title in zip(table.columns, table.titles, strict=True):
        widest = max((width for _, width in cells[one.key]), default=0.0)
        shown = min(longest, widest) if one.places is None else widest
        found[one.key] = max([*map(_width, title.split()), shown])
    for name, run in groupby(table.columns, key=lambda one: one.group):
        keys = [one.key for one in run]
        lacking = _width(name) - sum(found[key] + GAP for key in keys)
        for key in keys if lacking > 0 else ():
            found[key] += lacking / len(keys)
    return found


def _width(text: str) -> float:
    """How wide a text is, in em, at most."""
    wide = 0.0
    for letter in text:
        kind = next((width for letters, width in WIDTHS.items() if letter in letters), None)
        wide += kind or (0.78 if letter.isupper() else 0.53)
    return wide


def _sides(panel: Sequence[Header], widths: Mapping[str, float]) -> str:
    """How the columns of a panel stand: texts left, long ones in lines, numbers right."""
    return "".join(
        "r" if one.places is not None
        else "l" if widths[one.key] < NARROW_TEXT else LINES % widths[one.key]
        for one in panel
    )  # fmt: skip


def _heading(
    table: ReportTable, panel: Sequence[Header], widths: Mapping[str, float]
) -> Iterator[str]:
    """The lines that say what columns are: over several of them, and over each."""
    if table.groups:
        runs = [(name, len([*run])) for name, run in groupby(one.group for one in panel)]
        yield _row(
            rf"\multicolumn{{{count}}}{{c}}{{{escaped(name)}}}"
            if name
            else " & ".join([""] * count)
            for name, count in runs
        )
        at = 1
        for name, count in runs:
            if name:
                yield rf"\cmidrule(lr){{{at}-{at + count - 1}}}"
            at += count
    titles = dict(zip((one.key for one in table.columns), table.titles, strict=True))
    lines = [_broken(titles[one.key], widths[one.key]) for one in panel]
    for at in range(max(map(len, lines))):
        yield _row(escaped(one[at]) if at < len(one) else "" for one in lines)
    yield r"\midrule"


def _broken(title: str, width: float) -> list[str]:
    """A title in lines no wider than its column."""
    lines = [""]
    for word in title.split():
        longer = f"{lines[-1]} {word}".strip()
        lines[-1:] = [longer] if _width(longer) <= width or not lines[-1] else [lines[-1], word]
    return lines


def _tabular(
    table: ReportTable, panel: Sequence[Header], widths: Mapping[str, float],
    cells: Mapping[str, Sequence[Cell]],
) -> list[str]:  # fmt: skip
    return [
        rf"\begin{{tabular}}{{{_sides(panel, widths)}}}",
        r"\toprule",
        *_heading(table, panel, widths),
        *_body(panel, cells),
        r"\bottomrule",
        r"\end{tabular}",
    ]


def _over_pages(
    table: ReportTable, size: str, panels: Sequence[Sequence[Header]], widths: Mapping[str, float],
    cells: Mapping[str, Sequence[Cell]], head: Sequence[str],
) -> Iterator[str]:  # fmt: skip
    """A table that goes on over pages, each with its headings."""
    yield rf"\begingroup\setlength{{\tabcolsep}}{{4pt}}{size}"
    for place, panel in enumerate(panels):
        yield rf"\begin{{longtable}}{{{_sides(panel, widths)}}}"
        if not place:
            yield from head[:1]
            yield head[1] + r" \\"
        yield r"\toprule"
        yield from _heading(table, panel, widths)
        yield r"\endhead"
        yield r"\bottomrule"
        yield r"\endfoot"
        yield from _body(panel, cells)
        yield r"\end{longtable}" + ("" if place == len(panels) - 1 else r"\addtocounter{table}{-1}")
    yield r"\endgroup"


def _body(panel: Sequence[Header], cells: Mapping[str, Sequence[Cell]]) -> Iterator[str]:
    for row in zip(*(cells[one.key] for one in panel), strict=True):
        yield _row(text for text, _ in row)


def _row(texts: Iterable[str]) -> str:
    return " & ".join(texts) + r" \\"


def _cell(table: ReportTable, row: Mapping[str, Any], column: Header) -> Cell:
    """A cell and its width: numbers as formulas, intervals in brackets, errors in parentheses."""
    value, places = row[column.key], table.places(row, column)
    if value is None:
        return "", 0.0
    bold = table.bold(row, column)
    if places is None:
        text = escaped(str(value))
        return rf"\textbf{{{text}}}" if bold else text, _width(str(value)) * (1.15 if bold else 1)
    number = table.number(row, column)
    stars = len(number) - len(number.rstrip("*"))
    text = _formula(number.rstrip("*"))
    text = rf"\mathbf{{{text}}}" if bold else text
    text = f"${text}$" + (rf"$^{{{'*' * stars}}}$" if stars else "")
    spread = _spread(table, row, column, places)
    return text + spread, _formula_width(number) + _formula_width(
        re.sub(r"[$\\{}]|dagger", "", spread)
    )


def _spread(table: ReportTable, row: Mapping[str, Any], column: Header, places: int) -> str:
    one = table.cell(row, column)
    if not column.spread:
        return ""
    if one.low is not None and one.high is not None:
        ends = (_formula(fixed(end, places)) for end in (one.low, one.high))
        few = r"$^\dagger$" if one.wanted is not None else ""
        return f" [${'$, $'.join(ends)}$]{few}"
    return "" if one.error is None else f" (${_formula(fixed(one.error, places))}$)"


def _formula_width(text: str) -> float:
    """How wide numbers are, in em: a minus in a formula is longer than a hyphen."""
    return _width(text) + 0.45 * text.count("-")


def _formula(number: str) -> str:
    return number.replace(",", "{,}")
