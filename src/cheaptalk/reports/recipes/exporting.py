"""Tables as files for papers: CSV with all numbers, LaTeX as they are printed."""

import re
from pathlib import Path

from cheaptalk.reports.recipes.parts import Table
from cheaptalk.rules import CheaptalkError

SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "\u2212": "$-$", "±": r"$\pm$", "≥": r"$\geq$", "≤": r"$\leq$",
    "\N{MULTIPLICATION SIGN}": r"$\times$",
}  # fmt: skip
"""Characters that LaTeX takes for something else, or does not know."""


def latex(table: Table) -> str:
    r"""A table in LaTeX, with the rules of the package ``booktabs``.

    >>> import polars as pl
    >>> from cheaptalk.reports.recipes.parts import Column
    >>> frame = pl.DataFrame({"model": ["a_b"], "gain": [0.5], "gain.error": [0.125]})
    >>> columns = (Column("model", "Model"), Column("gain", "Gain", "%", 2))
    >>> print(latex(Table("gains", "Gains", frame, columns)))
    \begin{table}
    \caption{Gains}
    \label{tab:gains}
    \begin{tabular}{lr}
    \toprule
    Model & Gain (\%) \\
    \midrule
    a\_b & 0.50 (0.12) \\
    \bottomrule
    \end{tabular}
    \end{table}
    """
    sides = "".join("l" if one.places is None else "r" for one in table.columns)
    lines = [
        r"\begin{table}",
        rf"\caption{{{_escaped(' '.join([table.title, *_sentence(table.caption)]))}}}",
        rf"\label{{tab:{table.name}}}",
        rf"\begin{{tabular}}{{{sides}}}",
        r"\toprule",
        _row(table.headings),
        r"\midrule",
        *(_row(table.texts(row)) for row in table.rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines)


def _sentence(text: str) -> list[str]:
    return [" ".join(text.split())] if text else []


def _row(texts: list[str]) -> str:
    return " & ".join(map(_escaped, texts)) + r" \\"


def _escaped(text: str) -> str:
    return re.sub(".", lambda found: SPECIAL.get(found[0], found[0]), text)


def write_tables(tables: dict[str, Table], folder: Path) -> list[Path]:
    """Write every table as ``NAME.csv``, unrounded, and ``NAME.tex``, as it is printed.

    Raises:
        CheaptalkError: the folder or a file in it cannot be written.
    """
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in tables.items():
            numbers, text = folder / f"{name}.csv", folder / f"{name}.tex"
            table.frame.write_csv(numbers)
            text.write_text(latex(table) + "\n", encoding="utf-8")
            written += [numbers, text]
    except OSError as error:
        raise CheaptalkError(f"{folder}: cannot be written: {error.strerror}") from error
    return written
