"""Tables as files for papers: CSV with all numbers, LaTeX as they are printed."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from cheaptalk.reports.recipes.parts import Header, ReportTable
from cheaptalk.rules import CheaptalkError
from cheaptalk.rules.display import spreadsheet_text
from cheaptalk.text import fixed
from cheaptalk.whole_files import whole_file

SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "[": "{[}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": "$<$", ">": "$>$", "\u00a0": "~", "\u2009": r"\,", "\u202f": r"\,", "…": r"\dots{}",
    "†": r"$^\dagger$",
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


def latex(table: ReportTable, label: str = "") -> str:
    r"""A table in LaTeX, with the rules of the package ``booktabs``; intervals stand in brackets.

    Args:
        table: which.
        label: for references; the table's name without.

    >>> import polars as pl
    >>> from cheaptalk.reports.recipes.parts import Header
    >>> frame = pl.DataFrame({"model": ["a_b"], "gain": [0.5], "gain.error": [0.125]})
    >>> columns = (Header("model", "Model"), Header("gain", "Gain", "%", 2))
    >>> print(latex(ReportTable("gains", "Gains", frame, columns)))
    \begin{table}
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
    sides = "".join("l" if one.places is None else "r" for one in table.columns)
    said = f"{table.title}. {table.caption} {table.caution}"
    lines = [
        r"\begin{table}",
        rf"\caption{{{_escaped(' '.join(said.split()))}}}",
        rf"\label{{tab:{label or table.name}}}",
        rf"\begin{{tabular}}{{{sides}}}",
        r"\toprule",
        _row(map(_escaped, table.headings)),
        r"\midrule",
        *(_row(_cell(table, row, column) for column in table.columns) for row in table.rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines)


def _row(texts: Iterable[str]) -> str:
    return " & ".join(texts) + r" \\"


def _cell(table: ReportTable, row: Mapping[str, Any], column: Header) -> str:
    """A cell: numbers as formulas, intervals in brackets, errors in parentheses."""
    value, places = row[column.key], table.places(row, column)
    if value is None or places is None:
        return "" if value is None else _escaped(str(value))
    one = table.cell(row, column)
    text = f"${column.number(value, places)}$".replace(",", "{,}")
    if one.low is not None and one.high is not None:
        ends = (fixed(end, places).replace(",", "{,}") for end in (one.low, one.high))
        few = r"$^\dagger$" if one.wanted is not None else ""
        return f"{text} [${'$, $'.join(ends)}$]{few}"
    return text if one.error is None else f"{text} (${fixed(one.error, places)}$)"


def _escaped(text: str) -> str:
    return re.sub(".", lambda found: LATEX.get(found[0], found[0]), text)


def _for_spreadsheets(frame: pl.DataFrame) -> pl.DataFrame:
    """A frame whose texts no spreadsheet takes for formulas."""
    texts = pl.selectors.string()
    return frame.with_columns(texts.map_elements(spreadsheet_text, return_dtype=pl.String))


def write_tables(
    tables: Mapping[str, ReportTable],
    folder: Path | str,
    prefix: str = "",
    *,
    raw_cells: bool = False,
) -> list[Path]:
    """Write every table as ``NAME.csv``, unrounded, and ``NAME.tex``, as it is printed.

    Args:
        tables: by name.
        folder: where to; it is made where it does not exist.
        prefix: of labels in LaTeX, such as a recipe's name, so that those of two recipes differ.
        raw_cells: write texts in CSV as they are, those too that a spreadsheet takes for formulas.

    Raises:
        CheaptalkError: the folder or a file in it cannot be written.
    """
    written, folder = [], Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in tables.items():
            numbers, text = folder / f"{name}.csv", folder / f"{name}.tex"
            with whole_file(numbers) as file:
                file.write(
                    (table.frame if raw_cells else _for_spreadsheets(table.frame)).write_csv()
                )
            with whole_file(text) as file:
                file.write(latex(table, f"{prefix}-{name}" if prefix else name) + "\n")
            written += [numbers, text]
    except OSError as error:
        raise CheaptalkError(f"{folder}: cannot be written: {error.strerror}") from error
    return written
