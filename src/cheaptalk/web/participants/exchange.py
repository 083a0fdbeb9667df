"""What participants read about the exchange rate between results of games and money."""

from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple

from cheaptalk.styles.writing import POINTS, plural
from cheaptalk.web.rooms.languages import Language

MONEY = "dollars"
"""The unit of results that are amounts of money, shown in the study's currency or in points."""
COUNTED = {
    "points": POINTS,
    "tokens": ("%(num)s token", "%(num)s tokens"),
    "gold coins": ("%(num)s gold coin", "%(num)s gold coins"),
}
"""Units of results with a singular and a plural."""
CLEAR = 100
"""Amounts of money from which an example with a larger result is no clearer."""


class Example(NamedTuple):
    """An example of an exchange rate.

    Attributes:
        result: a result, a power of ten.
        cents: the bonus for this result, in cents.
        exact: whether the bonus is not rounded.
    """

    result: int
    cents: int
    exact: bool


def example_of(rate: float) -> Example:
    """Return the smallest power of ten whose bonus is whole cents, or else a rounded one.

    >>> example_of(0.25), example_of(0.0002)
    (Example(result=1, cents=25, exact=True), Example(result=100, cents=2, exact=True))
    >>> example_of(1 / 3)
    Example(result=10, cents=333, exact=False)
    """
    exact, result = 100 * Decimal(str(rate)), 1
    rounded = None
    while True:
        cents = exact * result
        if cents == int(cents):
            return Example(result, int(cents), exact=True)
        if rounded is None and abs(cents) >= CLEAR:
            rounded = Example(result, int(cents.to_integral_value(ROUND_HALF_UP)), exact=False)
        if rounded is not None and abs(cents) >= CLEAR**2:
            return rounded
        result *= 10


def result_text(language: Language, value: float, unit: str) -> str:
    """Return a result with its unit, such as "31 tokens"; without a noun, only the number."""
    if unit == MONEY:
        return language.writing.dollars(value)
    number = language.writing.number(value)
    if unit not in COUNTED:
        return number
    return language.counted(*COUNTED[unit], plural(value), num=number)


def rate_text(language: Language, rate: float, unit: str) -> str:
    """Return a sentence about an exchange rate, such as "100 points are worth $2.00."."""
    _ = language.text
    example = example_of(rate)
    result, money = result_text(language, example.result, unit), language.paid(example.cents)
    if not example.exact:
        money = _("about %(money)s") % {"money": money}
    if unit in COUNTED or (unit == MONEY and language.writing.points is not None):
        return language.counted(
            "%(amount)s is worth %(money)s.",
            "%(amount)s are worth %(money)s.",
            example.result,
            amount=result,
            money=money,
        )
    return _("A result of %(amount)s is worth %(money)s.") % {"amount": result, "money": money}
