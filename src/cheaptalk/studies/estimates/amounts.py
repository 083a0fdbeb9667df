"""Amounts that are known as ranges: calls, tokens and dollars, from low to high."""

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from cheaptalk.records.costs import Cost
from cheaptalk.rules import counted
from cheaptalk.text import duration, money

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

    def without(self, amount: float) -> "Range":
        """The range where so much may be there already: only the low end counts on it."""
        return Range(max(0.0, self.low - amount), self.high)

    def within(self, other: "Range") -> "Range":
        """The part of the range that lies within another; an end of it where none does."""
        low, high = (min(max(end, other.low), other.high) for end in self)
        return Range(low, high)

    def or_more(self, other: "Range") -> "Range":
        """The range of the larger of two."""
        return Range(max(self.low, other.low), max(self.high, other.high))


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
        return Amounts(*map(Range.plus, self._known(), other._known()))

    def or_more(self, other: "Amounts") -> "Amounts":
        """The larger amount of two, in each unit by itself."""
        return Amounts(*map(Range.or_more, self._known(), other._known()))

    def _known(self) -> list[Range]:
        return [one or NOTHING for one in vars(self).values()]

    def without(self, taken: Cost, dollars: float) -> "Amounts":
        """The amounts where some calls may be there already: only the low ends count on them.

        Args:
            dollars: what these calls would cost.
        """
        used = taken.usage
        there = (taken.calls, used.input_tokens, used.output_tokens, used.reasoning_tokens, dollars)
        pairs = zip(vars(self).values(), there, strict=True)
        return Amounts(*(one and one.without(amount) for one, amount in pairs))

    def scaled(self, low: float, high: float) -> "Amounts":
        """The amounts with their low and high ends so many times as large."""
        pairs = (one and Range(one.low * low, one.high * high) for one in vars(self).values())
        return Amounts(*pairs)

    def times(self, count: int) -> "Amounts":
        """The amounts of so many."""
        return Amounts(*(one and one.times(count) for one in vars(self).values()))

    @property
    def tokens(self) -> Range:
        """Input and output tokens together."""
        return self.input_tokens.plus(self.output_tokens)

    @property
    def line(self) -> str:
        """The amounts in one line."""
        dollars = "price not known" if self.dollars is None else dollars_shown(self.dollars)
        out = f"{shown(self.output_tokens)} out"
        if self.reasoning_tokens.high:
            out += f" ({shown(self.reasoning_tokens)} of them reasoning)"
        asked = f"{shown(self.calls, 'call')}, {shown(self.input_tokens, 'token')} in"
        return f"{asked}, {out}, {dollars}"

    def as_json(self) -> dict[str, Any]:
        """The amounts as plain data: [low, high] each."""
        return {
            name: None if value is None else [round(part, 6) for part in value]
            for name, value in asdict(self).items()
        }


def duration_shown(seconds: Range) -> str:
    """A range of seconds, as people read it.

    >>> duration_shown(Range(20, 5_000)), duration_shown(Range(600, 610))
    ('20 s to 1 h 23 min', '10 min')
    """
    low, high = (duration(end) for end in seconds)
    return low if low == high else f"{low} to {high}"


def shown(amount: Range, of: str = "") -> str:
    """A range of whole numbers, as people read it, of something.

    >>> shown(Range(5, 5)), shown(Range(1_234, 56_789)), shown(Range(2e6, 3.5e6), "token")
    ('5', '1,234 to 56,789', '2.00 to 3.50 million tokens')
    >>> shown(Range(1, 1), "call"), shown(Range(1, 2), "call")
    ('1 call', '1 to 2 calls')
    """
    things = f" {counted(round(amount.high), of).partition(' ')[2]}" if of else ""
    if amount.low >= MILLION:
        return f"{amount.low / MILLION:,.2f} to {amount.high / MILLION:,.2f} million{things}"
    low, high = round(amount.low), round(amount.high)
    return (f"{low:,}" if low == high else f"{low:,} to {high:,}") + things


def dollars_shown(amount: Range) -> str:
    """A range of dollars.

    >>> dollars_shown(Range(0.5, 2)), dollars_shown(Range(0, 0))
    ('$0.50 to $2.00', '$0.00')
    """
    low, high = money(amount.low), money(amount.high)
    return low if low == high else f"{low} to {high}"
