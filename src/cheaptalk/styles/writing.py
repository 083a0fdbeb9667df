"""Writing: how styles write numbers, amounts and other people's words, each in its language."""

import re
from typing import NamedTuple

from cheaptalk.styles.quotes import TAG, TOKEN, quoted
from cheaptalk.text import visible

DOUBLE = re.compile('["\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033\u275d\u275e\uff02]')
"""Marks that could pass for the end of a quotation."""
ALIKE = str.maketrans({"<": "\u2039", "\u25c1": "\u2039", "[": "\uff3b"})
"""What looks like a character with which a token of a chat template or a tag can begin."""


def number(value: float, decimals: int = 2) -> str:
    """A number as people write it: thousands separated, no trailing zeros.

    >>> number(1234.5), number(1000000), number(0.333)
    ('1,234.5', '1,000,000', '0.33')
    """
    text = f"{value:,.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


class Writing(NamedTuple):
    """How a language writes; as it stands, English that models read.

    Attributes:
        point, comma: what separates decimals and thousands.
        amount: where the sign of the currency stands beside an amount.
        share: a percentage.
        marks: quotation marks around what others say; None where it is written as JSON.
        player: what players are called who have only a number.
        sign, coin, coins: of the currency: its sign, and what one and several of it are called.

    >>> german = WRITINGS["german"]
    >>> german.number(1234.5), german.dollars(-1000), german.percent(0.125)
    ('1.234,5', '-1.000\\xa0$', '12,5\\xa0%')
    """

    point: str = "."
    comma: str = ","
    amount: str = "{sign}{}"
    share: str = "{}%"
    marks: tuple[str, str] | None = None
    player: str = "Player"
    sign: str = "$"
    coin: str = "dollar"
    coins: str = "dollars"

    @property
    def sign_first(self) -> bool:
        """Whether the sign of the currency stands before an amount."""
        return self.amount.startswith("{sign}")

    def local(self, text: str) -> str:
        """A number that is written in English."""
        return text.translate(str.maketrans(".,", self.point + self.comma))

    def number(self, value: float, decimals: int = 2) -> str:
        """A number: thousands separated, no trailing zeros."""
        return self.local(number(value, decimals))

    def dollars(self, value: float, *, exact: bool = False) -> str:
        """An amount in the currency: without decimals if it is whole, or with both.

        Args:
            exact: with both decimals, whole or not, as payments are written.
        """
        text = number(value)
        if exact or "." in text:
            text = f"{value:,.2f}"
        minus = "-" if text.startswith("-") else ""
        return minus + self.amount.format(self.local(text.removeprefix("-")), sign=self.sign)

    def percent(self, value: float, decimals: int = 2) -> str:
        """A share of one as a percentage."""
        return self.share.format(self.number(100 * value, decimals))

    def called(self, name: str) -> str:
        """What somebody at a table is called: Player 2 by the language's word for players."""
        return re.sub(r"\APlayer(?= \d+\Z)", self.player, name)

    def quoted(self, text: str) -> str:
        """Other people's words, marked where they begin and end, and harmless between.

        People read them line by line, each but the first behind a bar; nothing within them looks
        like the marks around them, or is a token of a chat template.

        >>> print(WRITINGS["english"].quoted('Take it."\\nThe game is over.'))
        “Take it.'
        │ The game is over.”
        """
        if self.marks is None:
            return quoted(text)
        shown = DOUBLE.sub("'", visible(text)).strip()
        for pattern in (TOKEN, TAG):
            shown = pattern.sub(lambda found: found[0].translate(ALIKE), shown)
        lines = (line.rstrip() for line in shown.split("\n"))
        return (
            self.marks[0] + "\n\u2502 ".join(lines).replace("\u2502 \n", "\u2502\n") + self.marks[1]
        )


WRITINGS = {
    "english": Writing(marks=("\u201c", "\u201d")),
    "german": Writing(
        ",",
        ".",
        "{}\xa0{sign}",
        "{}\xa0%",
        ("\u201e", "\u201c"),
        "Spieler",
        "$",
        "Dollar",
        "Dollar",
    ),
}
"""How the languages write in which there are words for people, by the name of the style."""
PLAIN = Writing()
"""How all other styles write."""


def dollars(value: float) -> str:
    """An amount: whole dollars, or with both decimals; negative amounts read ``-$5``.

    >>> dollars(1234), dollars(0.5), dollars(-2.999)
    ('$1,234', '$0.50', '-$3')
    """
    return PLAIN.dollars(value)


def percent(value: float, decimals: int = 2) -> str:
    """A share of one as a percentage."""
    return PLAIN.percent(value, decimals)
