"""Export tables: CSV with all digits and a codebook, and LaTeX with the numbers as displayed."""

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from cheaptalk.atomic_files import whole_file
from cheaptalk.printing.printout import Printed, Printout
from cheaptalk.reports.charts.files import save_drawing
from cheaptalk.reports.charts.kinds import HIGH, LOW
from cheaptalk.reports.pages import anchor
from cheaptalk.reports.recipes.parts import Charts
from cheaptalk.reports.recipes.tables import ERROR, SUFFIXES, ReportTable, plain_names
from cheaptalk.rules import CheaptalkError
from cheaptalk.statistics.columns import Frame, as_polars

CODEBOOK = "codebook.csv"
"""The file that describes every column of every table."""
SAME_UNIT = (LOW, HIGH, ERROR)


class CodebookRow(NamedTuple):
    """A codebook entry that describes a column of a file or, without a column, a whole table."""

    table: str
    column: str
    title: str
    unit: str
    meaning: str


def codebook(tables: Mapping[str, ReportTable]) -> Iterator[CodebookRow]:
    """Yield the descriptions of all tables and of all columns of their files."""
    for name, table in tables.items():
        texts = (f"{table.printed}." if table.printed else "", table.caption, *table.notes)
        yield CodebookRow(name, "", table.title, "", " ".join(filter(None, texts)))
        for column, plain in plain_names(table.shown_first.columns).items():
            yield CodebookRow(name, plain, *_described(table, column))


def _described(table: ReportTable, column: str) -> tuple[str, str, str]:
    columns = {column.key: column for column in table.columns}
    if shown_column := columns.get(column):
        group = f"{shown_column.group}: " if shown_column.group else ""
        return f"{group}{shown_column.title}", shown_column.unit, shown_column.about
    stem, point, ending = column.rpartition(".")
    meaning = SUFFIXES.get(point + ending)
    if meaning is None:
        return "", "", "Not shown in the table."
    source = columns.get(stem)
    title, unit, _ = _described(table, stem) if source else (stem, "", "")
    return title, unit if point + ending in SAME_UNIT else "", meaning


def latex(result: Printed | Frame, label: str = "", *, caption: str = "") -> str:
    r"""Return a result or a data frame as a table in LaTeX.

    The table requires the packages ``booktabs``, ``array`` and ``longtable``. The font is the
    largest that fits the page; tables that are too wide are split into panels of columns, long
    ones continue over pages.

    Args:
        result: a report's table or another printed result, such as a regression or equilibria, or a
            data frame of polars or pandas.
        label: the LaTeX label; by default, the name of the table or of its type.
        caption: the caption of a data frame; other results have one.

    Raises:
        StatisticsError: the object is neither a printed result nor a data frame.

    >>> import polars as pl
    >>> print(latex(pl.DataFrame({"model": ["a_b"], "gain": [0.5]}), caption="Gains"))
    \begin{table}
    \setlength{\tabcolsep}{4pt}
    \caption{Gains.}
    \label{tab:frame}
    \begin{tabular}{lr}
    \toprule
    model & gain \\
    \midrule
    a\_b & $0.5$ \\
    \bottomrule
    \end{tabular}
    \end{table}
    """
    if isinstance(result, Printed):
        return result.latex(label)
    return Printout.of(caption, as_polars(result)).latex(label or "frame")


def write_tables(
    tables: Mapping[str, ReportTable],
    folder: Path | str,
    prefix: str = "",
    *,
    raw_cells: bool = False,
) -> list[Path]:
    """Write every table as ``NAME.csv`` (twelve digits) and as ``NAME.tex`` (as displayed).

    ``codebook.csv`` describes each column (see :class:`CodebookRow`). Column names are converted by
    :func:`plain_names`.

    Args:
        folder: the output folder, created if missing.
        prefix: the prefix of LaTeX labels, such as a recipe's name, which makes them unique.
        raw_cells: whether not to escape texts that spreadsheets take for formulas.

    Raises:
        CheaptalkError: the folder or a file in it cannot be written.
    """
    folder, files = Path(folder), {}
    for name, table in tables.items():
        files[f"{name}.csv"] = table.data().csv(raw_cells=raw_cells)
        files[f"{name}.tex"] = table.latex(f"{prefix}-{name}" if prefix else name) + "\n"
    rows = Printout("", CodebookRow._fields, list(codebook(tables)))
    files[CODEBOOK] = rows.csv(raw_cells=raw_cells)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            with whole_file(folder / name) as file:
                file.write(text)
    except OSError as error:
        raise CheaptalkError(f"{folder}: cannot be written: {error.strerror}") from error
    return [folder / name for name in files]


def write_figures(charts: Mapping[str, Charts], folder: Path | str) -> list[Path]:
    """Write every chart as ``NAME-TITLE.svg`` and, with the extra ``[figures]``, as a PDF.

    Args:
        charts: groups of charts by name, see :attr:`.Findings.charts`.
        folder: the output folder, created if missing.

    Returns:
        The files, chart by chart.

    Raises:
        CheaptalkError: the folder or a file in it cannot be written.
    """
    has_pdf = find_spec("svglib") is not None  # the extra [figures]
    endings = (".svg", ".pdf") if has_pdf else (".svg",)
    return [
        save_drawing(svg, Path(folder) / f"{name}{ending}")
        for name, svg in _drawings(charts)
        for ending in endings
    ]


def _drawings(charts: Mapping[str, Charts]) -> Iterator[tuple[str, str]]:
    taken: dict[str, int] = {}
    for name, group in charts.items():
        for chart in group.panels:
            if chart.empty:
                continue
            called = "-".join(filter(None, (name, anchor(chart.title))))
            taken[called] = taken.get(called, 0) + 1
            suffix = f"-{taken[called]}" if taken[called] > 1 else ""
            yield called + suffix, chart.svg(wide=group.wide)
