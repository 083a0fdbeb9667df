"""Amounts that are known as ranges: calls, tokens and dollars, from low to high."""

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from cheaptalk.studies.purse import money

MILLION = 1_000_000


class Range(NamedTuple):
    """Between a low and a high estimate."""

    low: float
    high: float

    def plus(self, other: "Range") -> "Range":
        """The range of a sum."""
        return Range(self.low + other.low, self.high + other.high)

    def times(self, count: float) -> "Range":
        """The range of so many of these."""
        return Range(count * self.low, count * self.high)


NOTHING = Range(0, 0)


@dataclass(frozen=True)
class Amounts:
    """What is going to be used: ``dollars`` is None where the price is not known."""

    calls: Range = NOTHING
    input_tokens: Range = NOTHING
    output_tokens: Range = NOTHING
    reasoning_tokens: Range = NOTHING
    dollars: Range | None = NOTHING

    def plus(self, other: "Amounts") -> "Amounts":
        """The amounts of two together; the dollars are those that are known."""
        return Amounts(
            self.calls.plus(other.calls),
            self.input_tokens.plus(other.input_tokens),
            self.output_tokens.plus(other.output_tokens),
            self.reasoning_tokens.plus(other.reasoning_tokens),
            (self.dollars or NOTHING).plus(other.dollars or NOTHING),
        )

    def times(self, count: int) -> "Amounts":
        """The amounts of so many."""
        return Amounts(
            self.calls.times(count),
            self.input_tokens.times(count),
            self.output_tokens.times(count),
            self.reasoning_tokens.times(count),
            self.dollars and self.dollars.times(count),
        )

    @property
    def line(self) -> str:
        """The amounts in one line."""
        dollars = "price not known" if self.dollars is None else dollars_shown(self.dollars)
        out = f"{shown(self.output_tokens)} out"
        if self.reasoning_tokens.high:
            out += f" ({shown(self.reasoning_tokens)} of them reasoning)"
        asked = f"{shown(self.calls)} calls, {shown(self.input_tokens)} tokens in"
        return f"{asked}, {out}, {dollars}"

    def as_json(self) -> dict[str, Any]:
        """The amounts as plain data: [low, high] each."""
        return {
            name: None if value is None else [round(part, 6) for part in value]
            for name, value in asdict(self).items()
        }


def shown(amount: Range) -> str:
    """A range of whole numbers, as people read it.

    >>> shown(Range(5, 5)), shown(Range(1_234, 56_789)), shown(Range(2e6, 3.5e6))
    ('5', '1,234 to 56,789', '2.00 to 3.50 million')
    """
    if amount.low >= MILLION:
        return f"{amount.low / MILLION:,.2f} to {amount.high / MILLION:,.2f} million"
    low, high = round(amount.low), round(amount.high)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def dollars_shown(amount: Range) -> str:
    """A range of dollars.

    >>> dollars_shown(Range(0.5, 2)), dollars_shown(Range(0, 0))
    ('$0.50 to $2.00', '$0.00')
    """
    low, high = money(amount.low), money(amount.high)
    return low if low == high else f"{low} to {high}"
