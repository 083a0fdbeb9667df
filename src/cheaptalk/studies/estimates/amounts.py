"""Ranges of calls, tokens and dollars, from a low to a high estimate."""

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from cheaptalk.records.costs import Cost
from cheaptalk.rules import counted
from cheaptalk.text import duration, money

MILLION = 1_000_000


class Range(NamedTuple):
    """A range from a low to a high estimate of a quantity."""

    low: float
    high: float

    def plus(self, other: "Range") -> "Range":
        return Range(self.low + other.low, self.high + other.high)

    def times(self, count: float) -> "Range":
        return Range(count * self.low, count * self.high)

    def without(self, amount: float) -> "Range":
        """Return the range with an amount subtracted from its low end only."""
        return Range(max(0.0, self.low - amount), self.high)

    def within(self, other: "Range") -> "Range":
        """Return the range with both of its ends clamped to another range."""
        low, high = (min(max(end, other.low), other.high) for end in self)
        return Range(low, high)

    def or_more(self, other: "Range") -> "Range":
        """Return the range of the maximum of two quantities, given their ranges."""
        return Range(max(self.low, other.low), max(self.high, other.high))


NOTHING = Range(0, 0)


@dataclass(frozen=True)
class Amounts:
    """Estimated calls, tokens and cost; ``dollars`` is None if the price is unknown."""

    calls: Range = NOTHING
    input_tokens: Range = NOTHING
    output_tokens: Range = NOTHING
    reasoning_tokens: Range = NOTHING
    dollars: Range | None = NOTHING

    def plus(self, other: "Amounts") -> "Amounts":
        """Return the sum of two usage estimates, counting an unknown cost as zero."""
        return Amounts(*map(Range.plus, self._known(), other._known()))

    def or_more(self, other: "Amounts") -> "Amounts":
        """Return the larger of two estimates, separately for calls, tokens and dollars."""
        return Amounts(*map(Range.or_more, self._known(), other._known()))

    def _known(self) -> list[Range]:
        return [amount or NOTHING for amount in vars(self).values()]

    def without(self, cost: Cost, dollars: float) -> "Amounts":
        """Subtract recorded usage and cost from the low ends of the estimated ranges."""
        used = cost.usage
        counts = (cost.calls, used.input_tokens, used.output_tokens, used.reasoning_tokens, dollars)
        pairs = zip(vars(self).values(), counts, strict=True)
        return Amounts(*(value and value.without(amount) for value, amount in pairs))

    def scaled(self, low: float, high: float) -> "Amounts":
        """Scale the low ends of the estimated ranges by ``low`` and the high ends by ``high``."""
        ranges = vars(self).values()
        return Amounts(*(value and Range(value.low * low, value.high * high) for value in ranges))

    @property
    def tokens(self) -> Range:
        """Estimated number of input and output tokens together."""
        return self.input_tokens.plus(self.output_tokens)

    @property
    def line(self) -> str:
        """The estimated usage as one line of text."""
        dollars = "unknown price" if self.dollars is None else dollars_shown(self.dollars)
        output = f"{shown(self.output_tokens)} out"
        if self.reasoning_tokens.high:
            output += f" ({shown(self.reasoning_tokens)} of them reasoning)"
        inputs = f"{shown(self.calls, 'call')}, {shown(self.input_tokens, 'token')} in"
        return f"{inputs}, {output}, {dollars}"

    def as_json(self) -> dict[str, Any]:
        """Return the estimated usage as plain data, with each range as [low, high]."""
        return {
            name: None if value is None else [round(part, 6) for part in value]
            for name, value in asdict(self).items()
        }


def duration_shown(seconds: Range) -> str:
    """Format a range of durations, given in seconds.

    >>> duration_shown(Range(20, 5_000)), duration_shown(Range(600, 610))
    ('20 s to 1 h 23 min', '10 min')
    """
    low, high = (duration(end) for end in seconds)
    return low if low == high else f"{low} to {high}"


def shown(amount: Range, unit: str = "") -> str:
    """Format a range of whole numbers, optionally with a unit.

    >>> shown(Range(5, 5)), shown(Range(1_234, 56_789)), shown(Range(2e6, 3.5e6), "token")
    ('5', '1,234 to 56,789', '2.00 to 3.50 million tokens')
    >>> shown(Range(1, 1), "call"), shown(Range(1, 2), "call")
    ('1 call', '1 to 2 calls')
    """
    units = f" {counted(round(amount.high), unit).partition(' ')[2]}" if unit else ""
    if amount.low >= MILLION:
        return f"{amount.low / MILLION:,.2f} to {amount.high / MILLION:,.2f} million{units}"
    low, high = round(amount.low), round(amount.high)
    return (f"{low:,}" if low == high else f"{low:,} to {high:,}") + units


def dollars_shown(amount: Range) -> str:
    """Format a range of dollars.

    >>> dollars_shown(Range(0.5, 2)), dollars_shown(Range(0, 0))
    ('$0.50 to $2.00', '$0.00')
    """
    low, high = money(amount.low), money(amount.high)
    return low if low == high else f"{low} to {high}"
