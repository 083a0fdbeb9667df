"""Reading and writing of payoff files: Gambit's .nfg, and two layouts of CSV.

A two-player strategic game of Gambit (.nfg) lists both players' payoffs for each pair of
strategies, or the number of a previously listed outcome. In both forms the row player's strategy
changes fastest (Gambit documentation, File formats, The strategic game (.nfg) file format).

A CSV matrix is a symmetric game: the first row and the first column contain the strategies, and
each cell the payoff of the row strategy against the column strategy. A CSV list has one cell per
line under the heading ``row,column,payoff``, or ``row,column,payoff,other`` with the column
player's payoff.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cheaptalk.atomic_files import read_whole, whole_file
from cheaptalk.equilibrium.solvers.payoffs import (
    LARGEST,
    Floats,
    beyond_reckoning,
    payoffs_printout,
    usable,
)
from cheaptalk.printing.printout import Printed, Printout
from cheaptalk.rules import CheaptalkError, counted
from cheaptalk.rules.display import spreadsheet_text, unescape_spreadsheet_text
from cheaptalk.rules.errors import shown

PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
RATIO = re.compile(r"[+-]?\d+/\d+", re.ASCII)
GROUPED = re.compile(r"[+-]?\d{1,3}((,\d{3})+\.\d*|(,\d{3}){2,})", re.ASCII)
DASHED = re.compile(r"^[\u2010-\u2015\u2212]")
"""A dash or a typographic minus sign."""
DIGITS_WITH_MARKS = re.compile(r"[+-]?[\d.,' ]*\d[\d.,' ]*", re.ASCII)
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]|[^\s{},"]+|"', re.DOTALL)
HEAD = "NFG 1 R"
MOST = 10_000
"""The maximum number of strategies per player."""
LIST = ["row", "column", "payoff"]
OTHER = "other"
Lines = list[tuple[int, list[str]]]
"""The cells of each non-empty line, with the line's number."""


class PayoffFileError(CheaptalkError, ValueError):
    """Raised if a payoff file cannot be read; the message names file, line and cell."""


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class PayoffTable(Printed):
    """The payoffs of a two-player game, with labels of strategies.

    Attributes:
        a, b: the payoffs of the row and the column player, shape (rows, columns), in the file's
            units.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    a: Floats
    b: Floats
    title: str = ""
    players: tuple[str, str] = ("row", "column")

    def printout(self) -> Printout:
        kind = "symmetric" if self.symmetric else "not symmetric"
        title = f"{self.title} {len(self.rows)} by {len(self.columns)}, {kind}".strip()
        return payoffs_printout(title, self.rows, self.columns, self.a, self.b)

    @property
    def symmetric(self) -> bool:
        """Whether both players have the same strategies and symmetric payoffs."""
        return self.rows == self.columns and np.array_equal(self.b, self.a.T)


class Token(NamedTuple):
    """A word, a brace or a quoted string of an .nfg file, with its line number."""

    text: str
    line: int

    @property
    def quoted(self) -> bool:
        return len(self.text) > 1 and self.text.startswith('"')


class _NfgReader:
    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self.tokens: list[Token] = []
        line, position = 1, 0
        for match in TOKEN.finditer(text):
            line += text.count("\n", position, match.start())
            position = match.start()
            self.tokens.append(Token(match[0], line))
        self.end = Token("", text.rstrip().count("\n") + 1)
        self.position = 0

    def game(self) -> PayoffTable:
        if " ".join(self.next().text for _ in range(3)) not in (HEAD, "NFG 1 D"):
            raise PayoffFileError(
                f"{self.name}: the file does not begin with {shown(HEAD)}, "
                "so it isn't a strategic game of Gambit; save the game as .nfg in Gambit"
            )
        title = self.quoted("the title")
        players = self.names("player")
        if len(players) != 2:
            raise self.error(f"the game has {counted(len(players), 'player')}; it must have two")
        rows, columns = self.strategies()
        if self.peek().quoted:
            self.next()  # Gambit's comment
        cells = [f"{shown(row)} against {shown(column)}" for column in columns for row in rows]
        listed = self.peek().text == "{"
        pairs = np.array(self.by_outcome(cells) if listed else list(map(self.pair, cells)))
        if self.peek() is not self.end:
            raise self.error("unexpected text after the last cell's payoffs")
        a, b = pairs.reshape(len(columns), len(rows), 2).T
        return PayoffTable(rows, columns, a, b, title, (players[0], players[1]))

    def strategies(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the names of both players' strategies; 1, 2, ... if the file only has counts."""
        self.expect("{", "the strategies")
        if self.peek().text == "{":
            sides = [self.names("strategy"), self.names("strategy")]
        else:
            counts = [self.integer("the number of strategies", 1, MOST) for _ in range(2)]
            sides = [tuple(str(index + 1) for index in range(count)) for count in counts]
        self.expect("}", "the strategies of two players")
        return sides[0], sides[1]

    def by_outcome(self, cells: list[str]) -> list[list[float]]:
        self.expect("{", "the outcomes")
        outcomes = [[0.0, 0.0]]  # the outcome without a payoff
        while self.peek().text == "{":
            self.next()
            name = self.quoted("an outcome's name") if self.peek().quoted else ""
            outcomes.append(self.pair(f"outcome {len(outcomes)} {shown(name)}"))
            self.expect("}", "two payoffs per outcome")
        self.expect("}", "the outcomes")
        last = len(outcomes) - 1
        return [outcomes[self.integer(f"the outcome of {cell}", 0, last)] for cell in cells]

    def pair(self, cell: str) -> list[float]:
        pair = []
        for player in ("first", "second"):
            token = self.peek()
            if token.text in ("", "{", "}"):
                raise self.error(f"the {player} player's payoff of {cell} is missing")
            pair.append(number(self.next().text, self.location(token, cell)))
        return pair

    def integer(self, name: str, low: int, high: int) -> int:
        token = self.next()
        if not re.fullmatch(r"[0-9]{1,9}", token.text) or not low <= int(token.text) <= high:
            raise PayoffFileError(
                f"{self.location(token)}: {name} must be an integer from {low:,} to {high:,}, "
                f"not {shown(token.text)}"
            )
        return int(token.text)

    def names(self, kind: str) -> tuple[str, ...]:
        self.expect("{", f"the name of every {kind}")
        start, names = self.peek(), []
        while self.peek().text != "}":
            names.append(self.quoted(f"the name of a {kind}"))
        self.next()
        return check_names(names, kind, self.location(start))

    def quoted(self, name: str) -> str:
        if not self.peek().quoted:
            raise self.error(f"{name} must be in double quotes here")
        return re.sub(r"\\(.)", r"\1", self.next().text[1:-1], flags=re.DOTALL)

    def expect(self, text: str, purpose: str) -> None:
        if self.peek().text != text:
            raise self.error(f"{shown(text)} is expected here, for {purpose}")
        self.next()

    def peek(self) -> Token:
        return self.tokens[self.position] if self.position < len(self.tokens) else self.end

    def next(self) -> Token:
        token = self.peek()
        self.position += 1
        return token

    def location(self, token: Token, cell: str = "") -> str:
        return f"{self.name}, line {token.line}{cell and f', {cell}'}"

    def error(self, problem: str) -> PayoffFileError:
        token = shown(self.peek().text) if self.peek().text else "the end of the file"
        return PayoffFileError(f"{self.location(self.peek())}: {problem}; found {token}")


def read_payoffs(path: str | Path) -> PayoffTable:
    """Read a game from a payoff file.

    For a matrix, or a list without the column player's payoffs, both players have the same
    strategies in the order of the rows, and ``b`` is ``a.T``.

    Args:
        path: a file that ends in ``.nfg`` or ``.csv`` (UTF-8).

    Raises:
        PayoffFileError: the file cannot be read; the message names file, line and cell.
    """
    path = Path(path)
    try:
        text = read_whole(path)
    except OSError as error:
        raise PayoffFileError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise PayoffFileError(f"{path}: the text is not UTF-8; save it as UTF-8") from error
    match path.suffix.lower():
        case ".nfg":
            return _NfgReader(text, path.name).game()
        case ".csv":
            return _parse_csv(text, path.name)
    raise PayoffFileError(f"{path}: payoff files must end in .nfg or .csv; rename the file")


def write_payoffs(table: PayoffTable, path: str | Path) -> None:
    """Write a game to a file that :func:`read_payoffs` reads back identically.

    In CSV, a symmetric game becomes a matrix, any other game a list, and the title and the players
    are lost. Gambit (from version 16.7) reads only names in printable ASCII.

    Args:
        path: a file that ends in ``.nfg`` or ``.csv``; it is replaced if it exists.

    Raises:
        PayoffFileError: the file name has another ending, or the file cannot be written.
    """
    path = Path(path)
    try:
        if path.suffix.lower() == ".nfg":
            with whole_file(path) as file:
                file.write(nfg_text(table))
        elif path.suffix.lower() == ".csv":
            with whole_file(path) as file:
                csv.writer(file, lineterminator="\n").writerows(_csv_rows(table))
        else:
            raise PayoffFileError(f"{path}: payoff files must end in .nfg or .csv")
    except OSError as error:
        raise PayoffFileError(f"{path}: {error.strerror or error}") from error


def nfg_text(table: PayoffTable) -> str:
    """Return a game as the text of an .nfg file in payoff form, at full precision."""
    sides = " ".join(_braces(map(_quoted, names)) for names in (table.rows, table.columns))
    pairs = zip(table.a.T.ravel().tolist(), table.b.T.ravel().tolist(), strict=True)
    payoffs = "\n".join(
        f"{written(row_payoff)} {written(column_payoff)}" for row_payoff, column_payoff in pairs
    )
    players = _braces(map(_quoted, table.players))
    return f'{HEAD} {_quoted(table.title)} {players}\n\n{{ {sides} }}\n""\n\n{payoffs}\n'


def _quoted(text: str) -> str:
    return '"' + re.sub(r'(["\\])', r"\\\1", text) + '"'


def _braces(words: Iterator[str]) -> str:
    return f"{{ {' '.join(words)} }}"


def _csv_rows(table: PayoffTable) -> Iterator[list[object]]:
    if table.symmetric:
        yield ["", *map(spreadsheet_text, table.columns)]
        for row, payoffs in zip(table.rows, table.a.tolist(), strict=True):
            yield [spreadsheet_text(row), *map(written, payoffs)]
        return
    yield [*LIST, OTHER]
    for i, j in np.ndindex(table.a.shape):
        pair = float(table.a[i, j]), float(table.b[i, j])
        names = map(spreadsheet_text, (table.rows[i], table.columns[j]))
        yield [*names, *map(written, pair)]


def _parse_csv(text: str, name: str) -> PayoffTable:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    lines: Lines = []
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                texts = [unescape_spreadsheet_text(cell.strip()) for cell in cells]
                lines.append((reader.line_num, texts))
    except csv.Error as error:
        fault = f"{error}; close every double quote"
        if "limit" in str(error):
            limit = f"{csv.field_size_limit():,}"
            fault = f"a cell has more than {limit} characters; check that this is a payoff file"
        raise PayoffFileError(f"{name}, line {reader.line_num}: {fault}") from error
    if len(lines) < 2:
        raise PayoffFileError(
            f"{name}: expected a heading and lines of payoffs; check that this is a payoff file"
        )
    _, head = lines[0]
    if len(head) == 1:
        raise PayoffFileError(f"{name}: cells must be separated by commas; save the file as CSV")
    for line, cells in lines:
        location = f"{name}, line {line}"
        if len(cells) < len(head):
            raise PayoffFileError(
                f"{location}, {shown(cells[0])}: no payoff under {shown(head[len(cells)])}; "
                "enter one"
            )
        if len(cells) > len(head):
            raise PayoffFileError(
                f"{location}: there are {counted(len(cells), 'cell')} but the heading has "
                f"{len(head)}; a number with thousands separators must be in double quotes"
            )
    heading = [cell.lower() for cell in head]
    listed = heading in (LIST, [*LIST, OTHER])
    return _parse_list(lines, name) if listed else _parse_matrix(lines, name)


def _parse_matrix(lines: Lines, name: str) -> PayoffTable:
    first_line, head = lines[0]
    columns = check_names(head[1:], "strategy", f"{name}, line {first_line}")
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
            location = f"{name}, line {line}, {shown(rows[row])} against {shown(column)}"
            payoffs[row, rows.index(column)] = _filled(cell, location)
    return PayoffTable(rows, rows, payoffs, payoffs.T)


def _parse_list(lines: Lines, name: str) -> PayoffTable:
    has_both = len(lines[0][1]) > len(LIST)
    cells: dict[tuple[str, str], list[float]] = {}
    for line, (row, column, *texts) in lines[1:]:
        check_names([row], "row strategy", f"{name}, line {line}")
        check_names([column], "column strategy", f"{name}, line {line}")
        location = f"{name}, line {line}, {shown(row)} against {shown(column)}"
        if (row, column) in cells:
            raise PayoffFileError(f"{location}: this cell is repeated; keep one of the two lines")
        cells[row, column] = [_filled(text, location) for text in texts]
    rows, columns = (tuple(dict.fromkeys(side)) for side in zip(*cells, strict=True))
    if not has_both:
        _check_balance(rows, columns, name)
        columns = rows
    for row in rows:
        for column in columns:
            if (row, column) not in cells:
                raise PayoffFileError(
                    f"{name}: there is no payoff of {shown(row)} against {shown(column)}; "
                    "add the line, or omit one of these strategies"
                )
    payoffs = np.array([[cells[row, column] for column in columns] for row in rows])
    column_payoffs = payoffs[:, :, 1] if has_both else payoffs[:, :, 0].T
    return PayoffTable(rows, columns, payoffs[:, :, 0], column_payoffs)


def _check_balance(rows: tuple[str, ...], columns: tuple[str, ...], name: str) -> None:
    """Check that both players have the same strategies, as required for one payoff per cell."""
    for labels, other_labels, missing in ((rows, columns, "column"), (columns, rows, "row")):
        for strategy in labels:
            if strategy not in other_labels:
                raise PayoffFileError(
                    f"{name}: the strategy {shown(strategy)} has no {missing}; with one payoff per "
                    f"cell, both players have the same strategies. Add the {missing}, or list both "
                    f"players' payoffs under the heading {','.join([*LIST, OTHER])}"
                )


def _filled(text: str, location: str) -> float:
    if not text:
        raise PayoffFileError(f"{location}: the cell is empty; enter a payoff")
    return number(text, location)


def number(text: str, location: str) -> float:
    """Parse a payoff that is written as a decimal, a ratio or an amount in dollars.

    Accept decimals (``-12.5``, ``1e3``), ratios (``1/3``), unambiguous thousands separators
    (``1,234.50``, ``1,234,567``), and any of these after a dollar sign.

    Raises:
        PayoffFileError: the text at this location isn't a number, is ambiguous, or is too large or
            too small.

    >>> number("$1,234.50", ""), number("-1/4", "")
    (1234.5, -0.25)
    """
    bare = re.sub(r"^([+-]?)\$", r"\1", text.strip())
    if RATIO.fullmatch(bare) and not re.search(r"/0+$", bare):
        value = float(Fraction(bare))
    elif PLAIN.fullmatch(bare) or GROUPED.fullmatch(bare):
        value = float(bare.replace(",", ""))
    elif DIGITS_WITH_MARKS.fullmatch(bare):
        raise PayoffFileError(
            f"{location}: {shown(text)} is ambiguous; "
            "use a decimal point and no thousands separators, for example 1234.5"
        )
    else:
        advice = "write minus as -" if DASHED.match(bare) else "every payoff must be a number"
        raise PayoffFileError(f"{location}: {shown(text)} is not a number; {advice}")
    if not usable(value):
        size = "small" if abs(value) < 1 else "large"
        finite = min(max(value, -LARGEST * 2), LARGEST * 2)
        raise PayoffFileError(
            f"{location}: {shown(text)} is too {size} a number; {beyond_reckoning(finite)}"
        )
    return value


def written(value: float) -> int | float:
    """Return a payoff at full precision for writing to a file, with whole numbers as integers."""
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def check_names(names: Sequence[str], kind: str, location: str) -> tuple[str, ...]:
    """Return the names of strategies or players; raise an error if one is missing or repeated."""
    if not names:
        raise PayoffFileError(f"{location}: there is no {kind}; name at least one")
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise PayoffFileError(
            f"{location}: the {kind} {shown(repeated[0])} is repeated; rename one of the two"
        )
    if "" in names:
        position = list(names).index("") + 1
        raise PayoffFileError(f"{location}: {kind} {position} has no name; add a name")
    return tuple(names)
