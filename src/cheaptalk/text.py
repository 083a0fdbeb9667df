"""Formatting of names, numbers and amounts for display."""

import math
import re
from collections.abc import Collection, Mapping, Sequence

HIDDEN = re.compile(
    "[\x7f-\x9f\xad\u061c\u06dd\u070f\u08e2\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Characters that end lines, change the writing direction or are invisible, except joiners."""
COMMANDS = re.compile(f"[\x00-\x08\x0b-\x1f]|{HIDDEN.pattern}")
"""Hidden characters, and characters that a terminal interprets as commands."""
DECIMALS = 6
"""Maximum number of decimals of numbers without an exponent."""
LONG = 1e9
"""Minimum absolute value of numbers with an exponent."""


def money(dollars: float) -> str:
    """Return an amount in dollars, with more decimals if it is small.

    >>> money(1234.5), money(0.05), money(0.00123), money(0)
    ('$1,234.50', '$0.05', '$0.00123', '$0.00')
    """
    cents = f"{dollars:,.2f}"
    if abs(dollars) >= 0.1 or float(cents) == round(dollars, 9):
        return f"${cents}"
    return f"${dollars:.3g}" if dollars >= 1e-4 else f"${dollars:.6f}"


def plain(name: object) -> str:
    """Return an identifier as words separated by spaces instead of underscores.

    >>> plain("alice_gain")
    'alice gain'
    """
    return str(name).replace("_", " ")


def visible(text: str) -> str:
    """Return a text with hidden and control characters replaced by their codes.

    >>> visible("red \\x1b[31m, \\u202ebackwards, \\tnew\\nline")
    'red \\\\x1b[31m, \\\\u202ebackwards, \\tnew\\nline'
    """
    return COMMANDS.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def capital(name: object) -> str:
    """Return an identifier as capitalized words, such as ``Alice gain``."""
    text = plain(name)
    return text[:1].upper() + text[1:]


def uncapitalized(title: str) -> str:
    """Return a title in lower case, except words that start with two capitals.

    >>> uncapitalized("GPT-2 pieces"), uncapitalized("Output tokens")
    ('GPT-2 pieces', 'output tokens')
    """
    return " ".join(word if word[:2].isupper() else word.lower() for word in title.split(" "))


def readable(value: object) -> str:
    """Format the value of a parameter, setting or field for display.

    >>> readable({"rounds": 12, "hidden": False}), readable([0.9, 0.95]), readable(1e6)
    ('rounds 12, hidden no', '0.9, 0.95', '1,000,000')
    """
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case int() | float():
            return f"{value:,.10g}"
        case Mapping():
            return ", ".join(f"{plain(key)} {readable(inner)}" for key, inner in value.items())
        case list() | tuple():
            return ", ".join(map(readable, value))
        case _:
            return str(value)


def fixed(value: float, decimals: int = 0) -> str:
    """Format a number with fixed decimals, thousands separators, and no minus sign before zero.

    Numbers from a billion, or with more than :data:`DECIMALS` decimals, have an exponent.

    >>> fixed(1234.5, 1), fixed(-0.0001, 3), fixed(7)
    ('1,234.5', '0.000', '7')
    >>> fixed(1e300, 2), fixed(2.5e-12, 14), fixed(0, 14)
    ('1.000e+300', '2.500e-12', '0')
    """
    if abs(value) >= LONG:
        return f"{value:.3e}"
    if decimals > DECIMALS:
        return f"{value:.3e}" if abs(value) >= 0.5 / 10.0**decimals else "0"
    text = f"{value:,.{decimals}f}"
    return text if text.strip("-0.,") else text.lstrip("-")


SMALL = 0.01
"""Maximum of numbers with at most two significant digits in three decimals."""
FEW_MARK = "†"
"""The mark of an interval that may be too narrow because it is based on few instances."""


def interval_text(
    mean: float, low: float, high: float, clusters: int | None, decimals: int, *, few: bool = False
) -> str:
    """Format a confidence interval of a mean, marked if it is based on ``few`` instances.

    The number of clusters is shown if all values equal a bound of their range; it is None if an end
    that equals the mean is not such a bound.

    >>> interval_text(0.5, 0.31, 0.69, 12, 2, few=True), interval_text(1, 0.741, 1, 10, 2)
    ('0.31 to 0.69 †', 'at least 0.74 (10 of 10)')
    >>> interval_text(2, 1, 2, None, 0)
    '1 to 2'
    """
    if clusters and low < mean == high:
        return f"at least {fixed(low, decimals)} ({clusters:,} of {clusters:,})"
    if clusters and low == mean < high:
        return f"at most {fixed(high, decimals)} ({clusters:,} of {clusters:,})"
    return f"{fixed(low, decimals)} to {fixed(high, decimals)}{f' {FEW_MARK}' if few else ''}"


def few_text(sufficient: int) -> str:
    """Return the footnote that explains the mark on intervals based on too few instances."""
    return (
        f"{FEW_MARK} Too few instances to estimate how skewed the values are: the interval may "
        f"be too narrow; {sufficient:,} would suffice."
    )


def decimals(values: Sequence[float], *, noise: float = 1e-9) -> int:
    """Return how many decimals to show, with at least three digits for the largest number.

    Numbers up to ``noise`` may be rounding errors of 0.

    >>> decimals([0.25, 0.5]), decimals([12.5]), decimals([10_000.0, 3.0]), decimals([0.00025])
    (3, 2, 0, 6)
    """
    largest = max(map(abs, values), default=0.0)
    if noise < largest < SMALL:
        return 2 - math.floor(math.log10(largest))
    return 3 if largest < 10 else 2 if largest < 100 else 1 if largest < 1_000 else 0


def aligned(rows: Sequence[Sequence[str]], left: Collection[int]) -> list[str]:
    """Return the lines of a table in fixed width, with left-aligned and right-aligned columns.

    >>> aligned([["Who", "Gets"], ["soft", "1.00"], ["walk", "23.50"]], {0})
    ['Who    Gets', 'soft   1.00', 'walk  23.50']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if index in left else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


DAY = 86_400
"""Seconds per day."""


def duration(seconds: float) -> str:
    """Format a duration in seconds.

    >>> duration(42), duration(600), duration(7300), duration(500_000)
    ('42 s', '10 min', '2 h 2 min', '5 d 19 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds >= 2 * DAY:
        days, hours = divmod(round(seconds / 3_600), 24)
        return f"{days:,} d {hours} h"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def steady(seconds: float) -> float:
    """Round a forecast time to ten seconds, or to 1, 5, 30 or 60 minutes, depending on its size.

    >>> [duration(steady(time)) for time in (47, 62, 200, 754, 7_300, 50_000)]
    ['50 s', '60 s', '3 min', '15 min', '2 h 0 min', '14 h 0 min']
    """
    steps = ((90, 10), (600, 60), (3_600, 300), (36_000, 1_800))
    step = next((step for limit, step in steps if seconds < limit), 3_600)
    return max(round(seconds / step) * step, 10)
