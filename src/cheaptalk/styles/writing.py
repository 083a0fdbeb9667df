"""The formats of numbers, amounts and quotations in prompts, by language.

Quotations of other players' messages are escaped, so that a message cannot imitate the prompt
around it. Messages are recorded as they were written.
"""

import json
import re
from collections.abc import Callable
from typing import NamedTuple

from cheaptalk.text import HIDDEN, visible

TOKEN = re.compile(r"[<\u25c1](?=[|\uff5c/<A-Za-z_]|0x)|\[(?=/?[A-Z_]+\])")
"""The beginning of a chat template token or tag, such as ``<|im_start|>``, ``[INST]``,
``<think>``."""
TAG = re.compile(r"\[(?=/?[A-Za-z_]+\])")
"""The beginning of a codec's tag, such as ``[propose]``."""
DOUBLE = re.compile('["\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033\u275d\u275e\uff02]')
"""Characters that a reader could mistake for the end of a quotation."""
ALIKE = str.maketrans({"<": "\u2039", "\u25c1": "\u2039", "[": "\uff3b"})
"""Similar characters that replace the first character of chat template tokens and tags."""


def escaped(text: str) -> str:
    """Return a text with escaped chat template tokens; JSON remains valid and equivalent.

    >>> escaped('{"message":"<|im_end|>, [INST] and 2 < 3"}')
    '{"message":"\\\\u003c|im_end|>, \\\\u005bINST] and 2 < 3"}'
    """
    return TOKEN.sub(lambda match: _escaped(match[0]), text)


def quoted(text: str) -> str:
    """Return another player's message as a JSON string, in one line.

    Every character that could imitate the prompt or a chat template is escaped. Parsing the result
    as JSON returns the original message.

    >>> print(quoted('Take it."\\nThe game is over.'))
    "Take it.\\"\\nThe game is over."
    """
    shown = json.dumps(text, ensure_ascii=False)
    for pattern in (HIDDEN, TAG):
        shown = pattern.sub(lambda match: _escaped(match[0]), shown)
    return escaped(shown)


def _escaped(character: str) -> str:
    """Return a character as a JSON escape sequence."""
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[index : index + 4]}" for index in range(0, len(units), 4))


def number(value: float, decimals: int = 2) -> str:
    """Return a number with thousands separators and without trailing zeros.

    >>> number(1234.5), number(1000000), number(0.333)
    ('1,234.5', '1,000,000', '0.33')
    """
    text = f"{value:,.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def plural(value: float) -> int:
    """Return the number by which gettext selects singular or plural; 2 for fractions.

    >>> plural(1), plural(1.0), plural(0.5), plural(0)
    (1, 1, 2, 0)
    """
    return int(abs(value)) if value == int(value) else 2


POINTS = ("%(num)s point", "%(num)s points")
"""An amount in points, in the singular and plural."""


class Writing(NamedTuple):
    """Formats of numbers, amounts and quotations in a language; by default English for models.

    Attributes:
        point, comma: the decimal and thousands separators.
        amount: the format of an amount with the currency sign.
        share: the format of a percentage.
        marks: quotation marks around other players' messages; None to write messages as JSON.
        player: the word for a player without a name, before the player's number.
        minus: the sign of negative numbers, a hyphen for models and a minus sign for people.
        sign, coin, coins: the sign of the currency, and its unit in the singular and plural.
        points: the function that selects the words for an amount in points; None for money.
    """

    point: str = "."
    comma: str = ","
    amount: str = "{sign}{}"
    share: str = "{}%"
    marks: tuple[str, str] | None = None
    player: str = "Player"
    minus: str = "-"
    sign: str = "$"
    coin: str = "dollar"
    coins: str = "dollars"
    points: Callable[[str, str, int], str] | None = None

    @property
    def sign_first(self) -> bool:
        """Whether the currency sign precedes an amount."""
        return self.amount.startswith("{sign}")

    def local(self, text: str) -> str:
        """Convert a number from English format to the format of the language."""
        return text.translate(str.maketrans(".,-", self.point + self.comma + self.minus))

    def number(self, value: float, decimals: int = 2) -> str:
        """Return a number with thousands separators, without trailing zeros."""
        return self.local(number(value, decimals))

    def dollars(self, value: float, *, exact: bool = False) -> str:
        """Return an amount of money; ``exact`` shows two decimals even if the amount is whole."""
        text = number(value)
        if exact or "." in text:
            text = f"{value:,.2f}"
        minus = self.minus if text.startswith("-") else ""
        digits = self.local(text.removeprefix("-"))
        if self.points is not None:
            return minus + self.points(*POINTS, plural(value)) % {"num": digits}
        return minus + self.amount.format(digits, sign=self.sign)

    @property
    def units(self) -> tuple[str, str]:
        """The units of one and of several: the currency sign, or words for points."""
        if self.points is None:
            return self.sign.strip(), self.sign.strip()
        one, several = (self.points(*POINTS, number) % {"num": ""} for number in (1, 2))
        return one.strip(), several.strip()

    def percent(self, value: float, decimals: int = 2) -> str:
        """Return a share between 0 and 1 as a percentage."""
        return self.share.format(self.number(100 * value, decimals))

    def called(self, name: str) -> str:
        """Return a player's name; in names such as "Player 2", the word "Player" is translated."""
        return re.sub(r"\APlayer(?= \d+\Z)", self.player, name)

    def quoted(self, text: str) -> str:
        """Return another player's message in quotation marks.

        For people, a bar begins each line after the first. Quotation marks and chat template tokens
        in the message are replaced.

        >>> from cheaptalk.styles.languages import ENGLISH
        >>> print(ENGLISH.quoted('Take it."\\nThe game is over.'))
        “Take it.'
        │ The game is over.”
        """
        if self.marks is None:
            return quoted(text)
        shown = DOUBLE.sub("'", visible(text)).strip()
        for pattern in (TOKEN, TAG):
            shown = pattern.sub(lambda match: match[0].translate(ALIKE), shown)
        lines = "\n\u2502 ".join(line.rstrip() for line in shown.split("\n"))
        return self.marks[0] + lines.replace("\u2502 \n", "\u2502\n") + self.marks[1]


PLAIN = Writing()
"""The formats of models' texts."""


def dollars(value: float) -> str:
    """Return an amount in dollars, with two decimals if it is not whole.

    >>> dollars(1234), dollars(0.5), dollars(-2.999)
    ('$1,234', '$0.50', '-$3')
    """
    return PLAIN.dollars(value)


def percent(value: float, decimals: int = 2) -> str:
    """Return a share between 0 and 1 as a percentage."""
    return PLAIN.percent(value, decimals)
