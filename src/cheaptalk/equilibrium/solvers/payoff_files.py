"""Payoff files: Gambit's .nfg, and CSV in two shapes.

A strategic game of Gambit (.nfg), of two players, lists both players' payoffs for each pair of
strategies, or the number of one of the outcomes listed before; in both forms the row player's
strategy changes fastest (Gambit documentation, File formats, The strategic game (.nfg) file
format).

A matrix in CSV has the strategies in its first row and first column, and in each cell what the row
strategy gets against the column strategy: a symmetric game. A list in CSV has one cell a line under
the heading ``row,column,payoff``, or ``row,column,payoff,other`` with what the column player gets.
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

from cheaptalk.equilibrium.solvers.payoffs import LARGEST, Floats, beyond_reckoning, usable
from cheaptalk.rules import CheaptalkError, counted
from cheaptalk.rules.display import brief, spreadsheet_text, text_of_spreadsheet
from cheaptalk.rules.errors import shown
from cheaptalk.whole_files import read_whole, whole_file

PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
RATIO = re.compile(r"[+-]?\d+/\d+", re.ASCII)
GROUPED = re.compile(r"[+-]?\d{1,3}((,\d{3})+\.\d*|(,\d{3}){2,})", re.ASCII)
DASHED = re.compile(r"^[\u2010-\u2015\u2212]")
"""A dash, or a minus sign, that only looks like the minus of numbers."""
DIGITS_WITH_MARKS = re.compile(r"[+-]?[\d.,' ]*\d[\d.,' ]*", re.ASCII)
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]|[^\s{},"]+|"', re.DOTALL)
HEAD = "NFG 1 R"
MOST = 10_000
"""The most strategies of a player."""
LIST = ["row", "column", "payoff"]
OTHER = "other"
Lines = list[tuple[int, list[str]]]
"""The cells of each line that is not empty, with the line's number."""


class PayoffFileError(CheaptalkError, ValueError):
    """A payoff file that cannot be read as written; the message names file, line and cell."""


@dataclass(frozen=True, eq=False, slots=True)
class PayoffTable:
    """A two-player game with names.

    Attributes:
        rows, columns: the names of the strategies of both players.
        a, b: what the row and the column player get, shape (rows, columns), in the file's units.
        title: what the file calls the game; may be empty.
        players: their names.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    a: Floats
    b: Floats
    title: str = ""
    players: tuple[str, str] = ("row", "column")

    def __repr__(self) -> str:
        kind = "symmetric" if self.symmetric else "not symmetric"
        return brief(self, f"{self.title} {len(self.rows)} by {len(self.columns)}, {kind}")

    @property
    def symmetric(self) -> bool:
        """Whether both have the same strategies and the same payoffs from their own seat."""
        return self.rows == self.columns and np.array_equal(self.b, self.a.T)


class Token(NamedTuple):
    """A word, a brace or a text in quotes, and the line that it begins on."""

    text: str
    line: int

    @property
    def quoted(self) -> bool:
        return len(self.text) > 1 and self.text.startswith('"')


class _NfgReader:
    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self.tokens: list[Token] = []
        line, at = 1, 0
        for found in TOKEN.finditer(text):
            line += text.count("\n", at, found.start())
            at = found.start()
            self.tokens.append(Token(found[0], line))
        self.end = Token("", text.rstrip().count("\n") + 1)
        self.at = 0

    def game(self) -> PayoffTable:
        if " ".join(self.next().text for _ in range(3)) not in (HEAD, "NFG 1 D"):
            raise PayoffFileError(
                f"{self.name}: the file does not begin with {shown(HEAD)}, "
                "so it is no strategic game of Gambit; save the game as .nfg there"
            )
        title = self.quoted("the title")
        players = self.names("player")
        if len(players) != 2:
            raise self.wrong(f"the game has {counted(len(players), 'player')}; it must have two")
        rows, columns = self.strategies()
        if self.peek().quoted:
            self.next()  # Gambit's comment
        cells = [f"{shown(row)} against {shown(column)}" for column in columns for row in rows]
        listed = self.peek().text == "{"
        pairs = np.array(self.by_outcome(cells) if listed else list(map(self.pair, cells)))
        if self.peek() is not self.end:
            raise self.wrong("the file goes on after the last cell's payoffs")
        a, b = pairs.reshape(len(columns), len(rows), 2).T
        return PayoffTable(rows, columns, a, b, title, (players[0], players[1]))

    def strategies(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Both players' strategies; where the file has their numbers, 1, 2, ... name them."""
        self.expect("{", "the strategies")
        if self.peek().text == "{":
            sides = [self.names("strategy"), self.names("strategy")]
        else:
            counts = [self.whole("the number of strategies", 1, MOST) for _ in range(2)]
            sides = [tuple(str(one + 1) for one in range(count)) for count in counts]
        self.expect("}", "the strategies of two players")
        return sides[0], sides[1]

    def by_outcome(self, cells: list[str]) -> list[list[float]]:
        self.expect("{", "the outcomes")
        outcomes = [[0.0, 0.0]]  # the outcome without a payoff
        while self.peek().text == "{":
            self.next()
            name = self.quoted("an outcome's name") if self.peek().quoted else ""
            outcomes.append(self.pair(f"outcome {len(outcomes)} {shown(name)}"))
            self.expect("}", "two payoffs an outcome")
        self.expect("}", "the outcomes")
        last = len(outcomes) - 1
        return [outcomes[self.whole(f"the outcome of {cell}", 0, last)] for cell in cells]

    def pair(self, cell: str) -> list[float]:
        """The payoffs of both players."""
        pair = []
        for player in ("first", "second"):
            token = self.peek()
            if token.text in ("", "{", "}"):
                raise self.wrong(f"the {player} player's payoff of {cell} is missing")
            pair.append(number(self.next().text, self.where(token, cell)))
        return pair

    def whole(self, what: str, low: int, high: int) -> int:
        token = self.next()
        if not re.fullmatch(r"[0-9]{1,9}", token.text) or not low <= int(token.text) <= high:
            raise PayoffFileError(
                f"{self.where(token)}: {what} must be a whole number from {low:,} to {high:,}, "
                f"not {shown(token.text)}"
            )
        return int(token.text)

    def names(self, what: str) -> tuple[str, ...]:
        """Names in quotes, in braces."""
        self.expect("{", f"the name of every {what}")
        start, names = self.peek(), []
        while self.peek().text != "}":
            names.append(self.quoted(f"the name of a {what}"))
        self.next()
        return check_names(names, what, self.where(start))

    def quoted(self, what: str) -> str:
        if not self.peek().quoted:
            raise self.wrong(f"{what} must stand here in double quotes")
        return re.sub(r"\\(.)", r"\1", self.next().text[1:-1], flags=re.DOTALL)

    def expect(self, text: str, what: str) -> None:
        if self.peek().text != text:
            raise self.wrong(f"{shown(text)} must stand here, for {what}")
        self.next()

    def peek(self) -> Token:
        return self.tokens[self.at] if self.at < len(self.tokens) else self.end

    def next(self) -> Token:
        token = self.peek()
        self.at += 1
        return token

    def where(self, token: Token, cell: str = "") -> str:
        return f"{self.name}, line {token.line}{cell and f', {cell}'}"

    def wrong(self, what: str) -> PayoffFileError:
        """What does not fit at the next token."""
        found = shown(self.peek().text) if self.peek().text else "the end of the file"
        return PayoffFileError(f"{self.where(self.peek())}: {what}; found {found}")


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
    raise PayoffFileError(f"{path}: payoff files end in .nfg or .csv; rename it to what it is")


def write_payoffs(table: PayoffTable, path: str | Path) -> None:
    """Write a game to a file that :func:`read_payoffs` reads to the same names and payoffs.

    A symmetric game becomes a matrix in CSV, any other a list. CSV does not keep title and players.
    Gambit itself reads names in printable ASCII alone, from its version 16.7 on.

    Args:
        path: ends in ``.nfg`` or ``.csv``; a file that is there is replaced.

    Raises:
        PayoffFileError: the name ends otherwise, or the file cannot be written.
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
            raise PayoffFileError(f"{path}: payoff files end in .nfg or .csv; choose one of them")
    except OSError as error:
        raise PayoffFileError(f"{path}: {error.strerror or error}") from error


def nfg_text(table: PayoffTable) -> str:
    """A game as the text of an .nfg file in payoff form; no digit of a payoff is lost."""
    sides = " ".join(_braces(map(_quoted, names)) for names in (table.rows, table.columns))
    pairs = zip(table.a.T.ravel().tolist(), table.b.T.ravel().tolist(), strict=True)
    payoffs = "\n".join(f"{written(own)} {written(other)}" for own, other in pairs)
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
                texts = [text_of_spreadsheet(cell.strip()) for cell in cells]
                lines.append((reader.line_num, texts))
    except csv.Error as error:
        fault = f"{error}; every double quote needs its second one"
        if "limit" in str(error):
            most = f"{csv.field_size_limit():,}"
            fault = f"a cell of more than {most} characters is no payoff; is it the right file?"
        raise PayoffFileError(f"{name}, line {reader.line_num}: {fault}") from error
    if len(lines) < 2:
        raise PayoffFileError(
            f"{name}: there are no payoffs under a heading; is it the right file?"
        )
    _, head = lines[0]
    if len(head) == 1:
        raise PayoffFileError(f"{name}: cells must be separated by commas; save it so")
    for line, cells in lines:
        where = f"{name}, line {line}"
        if len(cells) < len(head):
            raise PayoffFileError(
                f"{where}, {shown(cells[0])}: there is no cell under {shown(head[len(cells)])}; "
                "nothing is filled in for it"
            )
        if len(cells) > len(head):
            raise PayoffFileError(
                f"{where}: there are {counted(len(cells), 'cell')} where the heading has "
                f"{len(head)}; a number with commas between thousands must stand in double quotes"
            )
    heading = [cell.lower() for cell in head]
    listed = heading in (LIST, [*LIST, OTHER])
    return _parse_list(lines, name) if listed else _parse_matrix(lines, name)


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


def number(text: str, where: str) -> float:
    """A payoff as people write it.

    Plain decimals (``-12.5``, ``1e3``), ratios (``1/3``), thousands in groups where that is beyond
    doubt (``1,234.50``, ``1,234,567``), and any of these behind a dollar sign.

    Args:
        text: what stands in the file.
        where: file, line and cell, for the message.

    Raises:
        PayoffFileError: it is no number, no finite one, or one that could be read in two ways.

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
            f"{where}: {shown(text)} could be read in more than one way; "
            "write it with a point for decimals and nothing between thousands, as 1234.5"
        )
    else:
        advice = "write its minus as -" if DASHED.match(bare) else "every payoff must be one"
        raise PayoffFileError(f"{where}: {shown(text)} is no number; {advice}")
    if not usable(value):
        size = "small" if abs(value) < 1 else "large"
        finite = min(max(value, -LARGEST * 2), LARGEST * 2)
        raise PayoffFileError(
            f"{where}: {shown(text)} is too {size} a number; {beyond_reckoning(finite)}"
        )
    return value


def written(value: float) -> int | float:
    """A payoff as a file holds it: no digit is lost, and a whole number stays one.

    >>> written(60.0), written(0.1)
    (60, 0.1)
    """
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def check_names(names: Sequence[str], what: str, where: str) -> tuple[str, ...]:
    """Names of strategies or players, once they are seen to be there and to differ.

    Args:
        names: in order.
        what: what they name, in the singular: ``strategy``.
        where: file and line, for the message.

    Raises:
        PayoffFileError: there is none, one is empty, or two are alike.
    """
    if not names:
        raise PayoffFileError(f"{where}: there is no {what}; name at least one")
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise PayoffFileError(
            f"{where}: the {what} {shown(twice[0])} is there more than once; rename one of them"
        )
    if "" in names:
        place = list(names).index("") + 1
        raise PayoffFileError(f"{where}: {what} {place} has no name; give it one")
    return tuple(names)
