"""Gambit's files of strategic games (.nfg), of two players, in both forms.

The payoff form lists both players' payoffs for each pair of strategies, the outcome form the number
of one of the outcomes listed before; in both the row player's strategy changes fastest (Gambit
documentation, File formats, The strategic game (.nfg) file format).
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from cheaptalk.equilibrium.tables import PayoffFileError, PayoffTable, check_names, number, written
from cheaptalk.rules import counted
from cheaptalk.rules.errors import shown

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]|[^\s{},"]+|"', re.DOTALL)
HEAD = "NFG 1 R"
MOST = 10_000
"""The most strategies of a player."""


class Token(NamedTuple):
    """A word, a brace or a text in quotes, and the line that it begins on."""

    text: str
    line: int

    @property
    def quoted(self) -> bool:
        return len(self.text) > 1 and self.text.startswith('"')

    @property
    def unquoted(self) -> str:
        return re.sub(r"\\(.)", r"\1", self.text[1:-1], flags=re.DOTALL)


def parse_nfg(text: str, name: str) -> PayoffTable:
    """The game in the text of an .nfg file.

    Args:
        text: all of the file.
        name: the file's name, for messages.

    Raises:
        PayoffFileError: it is no such file, not of two players, or something is missing from it.
    """
    return _Reader(text, name).game()


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


class _Reader:
    """Reads the tokens of a file one after the other."""

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
        if [self.next().text for _ in range(2)] != ["NFG", "1"] or self.next().text not in {
            "R",
            "D",
        }:
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
        read = self.by_outcome if self.peek().text == "{" else self.by_payoff
        pairs = np.array(read(cells))
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

    def by_payoff(self, cells: list[str]) -> list[list[float]]:
        return [self.pair(cell) for cell in cells]

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
        return self.next().unquoted

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
