"""What calls to models took: calls, tokens by kind, dollars, and what nobody knows the price of."""

from collections.abc import Mapping
from dataclasses import dataclass
from operator import add
from typing import Any

from cheaptalk.models import Usage

NO_TOKENS = Usage()


@dataclass(frozen=True)
class Cost:
    """What some calls to models took. Replies from a cache took nothing and are not counted.

    Attributes:
        calls: sendings that reached a server, whatever came of them.
        usage: their tokens, as far as they came back.
        dollars: what they cost at the prices of the time, as far as these were known.
        unpriced: calls that cost what nobody knows: no price, or no count of tokens.
        unresolved: calls whose reply is not in the record, be they under way or lost at a kill;
            they may have cost something too.
        unreached: attempts that reached no server; they are no calls and took nothing.
        uncounted: calls that brought no count of tokens and were not turned away, as those that
            timed out.
        implausible: calls whose server reported tokens that cannot be true; ours are counted.
    """

    calls: int = 0
    usage: Usage = NO_TOKENS
    dollars: float = 0.0
    unpriced: int = 0
    unresolved: int = 0
    unreached: int = 0
    uncounted: int = 0
    implausible: int = 0

    @property
    def sendings(self) -> int:
        """Calls, and attempts that reached no server."""
        return self.calls + self.unreached

    @property
    def tokens(self) -> int:
        """Input and output tokens together."""
        return self.usage.input_tokens + self.usage.output_tokens

    @property
    def dollars_known(self) -> float | None:
        """The dollars; None where no price is known at all."""
        unknown = self.unpriced or (self.calls and self.calls == self.unresolved)
        return None if unknown and not self.dollars else self.dollars

    @property
    def unknown(self) -> bool:
        """Whether some calls may have taken more than was counted."""
        return bool(self.unresolved or self.uncounted)

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(*map(add, vars(self).values(), vars(other).values()))

    def as_json(self) -> dict[str, Any]:
        """The cost as plain data, tokens by kind; dollars None where no price is known."""
        return {
            "calls": self.calls,
            **self.usage.model_dump(),
            "uncounted_calls": self.uncounted,
            "dollars": self.dollars_known,
            "unpriced_calls": self.unpriced,
            "unresolved_calls": self.unresolved,
            "unreached": self.unreached,
            "implausible_calls": self.implausible,
        }


def cost_of(reply: Mapping[str, Any] | None) -> Cost:
    """What one call took, by its reply as recorded; None where none came."""
    if reply is None:
        return Cost(calls=1, unresolved=1)
    if reply.get("cached"):
        return Cost()
    if reply.get("unreached"):
        return Cost(unreached=1)
    usage = Usage.model_validate(reply.get("usage", {}))
    dollars = reply.get("dollars")
    uncounted = not usage.input_tokens and reply.get("status") is None
    return Cost(
        1, usage, dollars or 0.0, int(dollars is None), uncounted=int(uncounted),
        implausible=int(reply.get("reported") is not None),
    )  # fmt: skip
