"""Export tables: CSV with all digits and a codebook, and LaTeX with the numbers as displayed."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from importlib.util import find_spec
from io import BytesIO, StringIO
from pathlib import Path
from typing import NamedTuple

import polars as pl

from cheaptalk.atomic_files import whole_file, whole_path
from cheaptalk.reports.charts.chart import Chart
from cheaptalk.reports.charts.kinds import HIGH, LOW
from cheaptalk.reports.charts.svg import WIDE, WIDTH, drawing
from cheaptalk.reports.pages import anchor
from cheaptalk.reports.recipes.latex import latex
from cheaptalk.reports.recipes.parts import Charts
from cheaptalk.reports.recipes.tables import ERROR, SUFFIXES, ReportTable
from cheaptalk.rules import CheaptalkError
from cheaptalk.rules.display import spreadsheet_text

CODEBOOK = "codebook.csv"
"""The file that describes every column of every table."""
DIGITS = 12
"""Significant digits of numbers in files."""
SAME_UNIT = (LOW, HIGH, ERROR)


class CodebookRow(NamedTuple):
    """A codebook entry that describes a column of a file or, without a column, a whole table."""

    table: str
    column: str
    title: str
    unit: str
    meaning: str


def plain_names(columns: Iterable[str]) -> dict[str, str]:
    """Return unique names of letters, digits and underscores, which spreadsheets and R accept.

    >>> plain_names(["gain, all.low", "2 runs", "2-runs"])
    {'gain, all.low': 'gain_all_low', '2 runs': 'x2_runs', '2-runs': 'x2_runs_2'}
    """
    titles: dict[str, str] = {}
    taken: set[str] = set()
    for column in columns:
        name = re.sub(r"\W+", "_", column).strip("_") or "x"
        name = f"x{name}" if name[0].isdigit() else name
        number, unique = 1, name
        while unique.casefold() in taken:
            number += 1
            unique = f"{name}_{number}"
        taken.add(unique.casefold())
        titles[column] = unique
    return titles


def codebook(tables: Mapping[str, ReportTable]) -> Iterator[CodebookRow]:
    """Yield the descriptions of all tables and of all columns of their files."""
    for name, table in tables.items():
        texts = (f"{table.printed}." if table.printed else "", table.caption, *table.notes)
        yield CodebookRow(name, "", table.title, "", " ".join(filter(None, texts)))
        for column, plain in plain_names(_shown_first(table).columns).items():
            yield CodebookRow(name, plain, *_described(table, column))


def _shown_first(table: ReportTable) -> pl.DataFrame:
    """Return a table's frame with shown columns first, each followed by its related columns."""
    keys = [column.key for column in table.columns]
    columns = [
        name
        for key in dict.fromkeys(keys)
        for name in table.frame.columns
        if name == key or (name.startswith(f"{key}.") and name not in keys)
    ]
    return table.frame.select(*dict.fromkeys([*columns, *table.frame.columns]))


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


def _csv(frame: pl.DataFrame, raw: bool) -> str:
    """Format a frame as CSV; unless ``raw``, escape values that spreadsheets read as formulas."""
    frame = frame.with_columns(pl.selectors.float().round_sig_figs(DIGITS))
    texts = pl.selectors.string().map_elements(spreadsheet_text, return_dtype=pl.String)
    return (frame if raw else frame.with_columns(texts)).write_csv()


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
        frame = _shown_first(table)
        frame = frame.rename(plain_names(frame.columns))
        files[f"{name}.csv"] = _csv(frame, raw_cells)
        files[f"{name}.tex"] = latex(table, f"{prefix}-{name}" if prefix else name) + "\n"
    rows = pl.DataFrame(list(codebook(tables)), CodebookRow._fields, orient="row")
    files[CODEBOOK] = _csv(rows, raw_cells)
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
    folder, written = Path(folder), []
    try:
        for name, svg in _drawings(charts):
            file = folder / f"{name}.svg"
            with whole_file(file) as text:
                text.write(svg)
            written.append(file)
            if find_spec("svglib") is not None:  # the extra [figures]
                with whole_path(file.with_suffix(".pdf")) as half:
                    half.write_bytes(_pdf(svg))
                written.append(file.with_suffix(".pdf"))
    except OSError as error:
        raise CheaptalkError(f"{folder}: cannot be written: {error.strerror}") from error
    return written


def _drawings(charts: Mapping[str, Charts]) -> Iterator[tuple[str, str]]:
    taken: dict[str, int] = {}
    for name, group in charts.items():
        for chart in group.panels:
            if chart.empty:
                continue
            called = "-".join(filter(None, (name, anchor(chart.title))))
            taken[called] = taken.get(called, 0) + 1
            suffix = f"-{taken[called]}" if taken[called] > 1 else ""
            yield called + suffix, drawing(_titled(chart), WIDE if group.wide else WIDTH)


def _titled(chart: Chart) -> Chart:
    """Move a chart's title and unit to its numeric axis, because exported files have no caption."""
    title = f"{chart.title} ({chart.unit})" if chart.unit else chart.title
    if chart.round or chart.x.title or chart.y.title or (chart.x.names and chart.y.names):
        return chart
    if chart.x.names:
        return replace(chart, y=chart.y._replace(title=title))
    return replace(chart, x=chart.x._replace(title=title))


def _pdf(svg: str) -> bytes:
    from reportlab.graphics.renderPDF import drawToFile  # noqa: PLC0415 - an optional extra
    from svglib.svglib import svg2rlg  # noqa: PLC0415 - an optional extra

    buffer = BytesIO()
    drawToFile(svg2rlg(StringIO(svg)), buffer)
    return buffer.getvalue()
