"""Tables as files for papers: CSV with all numbers and a codebook, LaTeX as they are printed."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import polars as pl

from cheaptalk.reports.charts.kinds import HIGH, LOW
from cheaptalk.reports.recipes.latex import latex
from cheaptalk.reports.recipes.tables import (
    BOLD,
    CLUSTERS,
    COUNT,
    ERROR,
    FREEDOM,
    STARS,
    WANTED,
    ReportTable,
)
from cheaptalk.rules import CheaptalkError
from cheaptalk.rules.display import spreadsheet_text
from cheaptalk.whole_files import whole_file

CODEBOOK = "codebook.csv"
"""The file that says what every column of every table is."""
ENDINGS = {
    LOW: "Lower end of its interval.",
    HIGH: "Upper end of its interval.",
    ERROR: "Its standard error.",
    COUNT: "How many observations are behind it.",
    CLUSTERS: "How many clusters are behind it, such as deals.",
    WANTED: "How many clusters would do for its interval; empty where there are as many.",
    FREEDOM: "Degrees of freedom of its interval.",
    BOLD: "Whether it is printed bold.",
    STARS: "The stars that are printed behind it.",
}
"""What a column holds that is named after another one, by what its name ends in."""
DIGITS = 12
"""Of numbers in files."""
SAME_UNIT = (LOW, HIGH, ERROR)


class CodebookRow(NamedTuple):
    """What a column of a file holds; without a column, what the whole table is.

    Attributes:
        table: the file's name without its ending.
        column: as the file calls it.
        title: what people read over it, or over the column that it is about.
        unit: of its numbers.
        meaning: what it is, in words.
    """

    table: str
    column: str
    title: str
    unit: str
    meaning: str


def plain_names(columns: Iterable[str]) -> dict[str, str]:
    """Names of letters, digits and underscores, as spreadsheets and R like them, no two alike.

    >>> plain_names(["gain, all.low", "2 runs", "2-runs"])
    {'gain, all.low': 'gain_all_low', '2 runs': 'x2_runs', '2-runs': 'x2_runs_2'}
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for column in columns:
        name = re.sub(r"\W+", "_", column).strip("_") or "x"
        name = f"x{name}" if name[0].isdigit() else name
        number, unique = 1, name
        while unique.casefold() in taken:
            number += 1
            unique = f"{name}_{number}"
        taken.add(unique.casefold())
        found[column] = unique
    return found


def codebook(tables: Mapping[str, ReportTable]) -> Iterator[CodebookRow]:
    """What every table is, and every column of its file."""
    for name, table in tables.items():
        told = (f"{table.printed}." if table.printed else "", table.caption, *table.notes)
        yield CodebookRow(name, "", table.title, "", " ".join(filter(None, told)))
        for column, plain in plain_names(_shown_first(table).columns).items():
            yield CodebookRow(name, plain, *_told(table, column))


def _shown_first(table: ReportTable) -> pl.DataFrame:
    """A table's frame with what is shown before all else, each with what belongs to it."""
    keys = [one.key for one in table.columns]
    own = [
        name for key in dict.fromkeys(keys) for name in table.frame.columns
        if name == key or (name.startswith(f"{key}.") and name not in keys)
    ]  # fmt: skip
    return table.frame.select(*dict.fromkeys([*own, *table.frame.columns]))


def _told(table: ReportTable, column: str) -> tuple[str, str, str]:
    """Title, unit and meaning of a column."""
    shown = {one.key: one for one in table.columns}
    if one := shown.get(column):
        return f"{one.group}: {one.title}" if one.group else one.title, one.unit, one.about
    stem, point, ending = column.rpartition(".")
    meaning = ENDINGS.get(point + ending)
    if meaning is None:
        return "", "", "Not shown in the table."
    of = shown.get(stem)
    title, unit, _ = _told(table, stem) if of else (stem, "", "")
    return title, unit if point + ending in SAME_UNIT else "", meaning


def _csv(frame: pl.DataFrame, raw: bool) -> str:
    """A frame as CSV; texts are such that no spreadsheet takes them for formulas, unless raw.

    Numbers have :data:`DIGITS` digits, so that the order in which they were added does not show.
    """
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
    """Write every table as ``NAME.csv``, with twelve digits, and ``NAME.tex``, as it is printed.

    What columns of the CSV files hold is said in ``codebook.csv``, a :class:`CodebookRow` each;
    their names are those of the frame as :func:`plain_names` has them.

    Args:
        tables: by name.
        folder: where to; it is made where it does not exist.
        prefix: of labels in LaTeX, such as a recipe's name, so that those of two recipes differ.
        raw_cells: write texts in CSV as they are, those too that a spreadsheet takes for formulas.

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
