"""Payoff files: Gambit's .nfg, and CSV in two shapes.

A matrix in CSV has the strategies in its first row and first column, and in each cell what the row
strategy gets against the column strategy: a symmetric game. A list in CSV has one cell a line under
the heading ``row,column,payoff``, or ``row,column,payoff,other`` with what the column player gets.
"""

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from cheaptalk.equilibrium.nfg import nfg_text, parse_nfg
from cheaptalk.equilibrium.tables import PayoffFileError, PayoffTable, check_names, number, written
from cheaptalk.rules import counted
from cheaptalk.rules.errors import shown

LIST = ["row", "column", "payoff"]
OTHER = "other"
Lines = list[tuple[int, list[str]]]
"""The cells of each line that is not empty, with the line's number."""


def read_payoffs(path: str | Path) -> PayoffTable:
    """The game in a payoff file.

    In a matrix, and in a list without the column player's payoffs, both players have the same
    strategies and ``b`` is ``a.T``; the columns take the order of the rows.

    Args:
        path: ends in ``.nfg`` or ``.csv`` (UTF-8).

    Raises:
        PayoffFileError: the file cannot be read as written; the message names file, line and cell.
    """
    path = Path(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise PayoffFileError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise PayoffFileError(f"{path}: the text is not UTF-8; save it as UTF-8") from error
    match path.suffix.lower():
        case ".nfg":
            return parse_nfg(text, path.name)
        case ".csv":
            return _parse_csv(text, path.name)
    raise PayoffFileError(f"{path}: payoff files end in .nfg or .csv; rename it to what it is")


def write_payoffs(table: PayoffTable, path: str | Path) -> None:
    """Write a game to a file that :func:`read_payoffs` reads to the same names and payoffs.

    A symmetric game becomes a matrix in CSV, any other a list. CSV does not keep title and players.

    Args:
        path: ends in ``.nfg`` or ``.csv``; a file that is there is replaced.

    Raises:
        PayoffFileError: the name ends otherwise, or the file cannot be written.
    """
    path = Path(path)
    try:
        if path.suffix.lower() == ".nfg":
            path.write_text(nfg_text(table), encoding="utf-8")
        elif path.suffix.lower() == ".csv":
            with path.open("w", encoding="utf-8", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows(_csv_rows(table))
        else:
            raise PayoffFileError(f"{path}: payoff files end in .nfg or .csv; choose one of them")
    except OSError as error:
        raise PayoffFileError(f"{path}: {error.strerror or error}") from error


def _csv_rows(table: PayoffTable) -> Iterator[list[object]]:
    if table.symmetric:
        yield ["", *table.columns]
        for row, payoffs in zip(table.rows, table.a.tolist(), strict=True):
            yield [row, *map(written, payoffs)]
        return
    yield [*LIST, OTHER]
    for i, j in np.ndindex(table.a.shape):
        pair = float(table.a[i, j]), float(table.b[i, j])
        yield [table.rows[i], table.columns[j], *map(written, pair)]


def _parse_csv(text: str, name: str) -> PayoffTable:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    lines: Lines = []
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                lines.append((reader.line_num, [cell.strip() for cell in cells]))
    except csv.Error as error:
        raise PayoffFileError(f"{name}, line {reader.line_num}: {_said(error)}") from error
    if len(lines) < 2:
        raise PayoffFileError(
            f"{name}: there are no payoffs under a heading; is it the right file?"
        )
    _, head = lines[0]
    if len(head) == 1:
        raise PayoffFileError(f"{name}: cells must be separated by commas; save it so")
    for line, cells in lines:
        _check_length(cells, head, f"{name}, line {line}")
    heading = [cell.lower() for cell in head]
    listed = heading in (LIST, [*LIST, OTHER])
    return _parse_list(lines, name) if listed else _parse_matrix(lines, name)


def _said(error: csv.Error) -> str:
    """What is wrong with a line, in our words where the reader's are about itself."""
    if "limit" in str(error):
        most = f"{csv.field_size_limit():,}"
        return f"a cell of more than {most} characters is no payoff; is it the right file?"
    return f"{error}; every double quote needs its second one"


def _check_length(cells: list[str], head: list[str], where: str) -> None:
    """Demand a cell under each of the heading, and no more."""
    if len(cells) < len(head):
        raise PayoffFileError(
            f"{where}, {shown(cells[0])}: there is no cell under {shown(head[len(cells)])}; "
            "nothing is filled in for it"
        )
    if len(cells) > len(head):
        raise PayoffFileError(
            f"{where}: there are {counted(len(cells), 'cell')} where the heading has {len(head)}; "
            "a number with commas between thousands must stand in double quotes"
        )


def _parse_matrix(lines: Lines, name: str) -> PayoffTable:
    first, head = lines[0]
    columns = check_names(head[1:], "strategy", f"{name}, line {first}")
    rows = check_names([cells[0] for _, cells in lines[1:]], "strategy", f"{name}, first column")
    _check_balance(rows, columns, name)
    payoffs = np.zeros((len(rows), len(columns)))
    for row, (line, cells) in enumerate(lines[1:]):
        if not any(cells[1:]):
            raise PayoffFileError(
                f"{name}, line {line}: the strategy {shown(cells[0])} has no payoffs; "
                "fill them in, or delete its row and its column"
            )
        for column, cell in zip(columns, cells[1:], strict=True):
            where = f"{name}, line {line}, {shown(rows[row])} against {shown(column)}"
            payoffs[row, rows.index(column)] = _filled(cell, where)
    return PayoffTable(rows, rows, payoffs, payoffs.T)


def _parse_list(lines: Lines, name: str) -> PayoffTable:
    both = len(lines[0][1]) > len(LIST)
    cells: dict[tuple[str, str], list[float]] = {}
    for line, (row, column, *texts) in lines[1:]:
        check_names([row], "row strategy", f"{name}, line {line}")
        check_names([column], "column strategy", f"{name}, line {line}")
        where = f"{name}, line {line}, {shown(row)} against {shown(column)}"
        if (row, column) in cells:
            raise PayoffFileError(f"{where}: this cell is there before; keep one of the two lines")
        cells[row, column] = [_filled(text, where) for text in texts]
    rows, columns = (tuple(dict.fromkeys(side)) for side in zip(*cells, strict=True))
    if not both:
        _check_balance(rows, columns, name)
        columns = rows
    for row in rows:
        for column in columns:
            if (row, column) not in cells:
                raise PayoffFileError(
                    f"{name}: there is no payoff of {shown(row)} against {shown(column)}; "
                    "add the line, or leave one of the two out"
                )
    payoffs = np.array([[cells[row, column] for column in columns] for row in rows])
    other = payoffs[:, :, 1] if both else payoffs[:, :, 0].T
    return PayoffTable(rows, columns, payoffs[:, :, 0], other)


def _check_balance(rows: tuple[str, ...], columns: tuple[str, ...], name: str) -> None:
    """Demand the same strategies on both sides of a game with one payoff a cell."""
    for own, there, missing in ((rows, columns, "column"), (columns, rows, "row")):
        for strategy in own:
            if strategy not in there:
                raise PayoffFileError(
                    f"{name}: the strategy {shown(strategy)} has no {missing}; with one payoff a "
                    "cell both players have the same strategies. Add what is missing, or give both "
                    f"players' payoffs in a list with the heading {','.join([*LIST, OTHER])}"
                )


def _filled(text: str, where: str) -> float:
    if not text:
        raise PayoffFileError(f"{where}: the cell is empty; nothing is filled in for it")
    return number(text, where)
