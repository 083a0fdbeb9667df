"""Costs of model calls: number of calls, tokens by kind, and dollars."""

from collections.abc import Mapping
from dataclasses import dataclass
from operator import add
from typing import Any

from cheaptalk.models import Usage
from cheaptalk.printing.printout import Printed, Printout
from cheaptalk.rules import counted
from cheaptalk.text import money, plain

NO_TOKENS = Usage()
COUNTS = ("unpriced", "uncounted", "implausible")


@dataclass(frozen=True, repr=False)
class Cost(Printed):
    """Cost of model calls. Cached responses cost nothing and are not counted.

    Attributes:
        calls: attempts that reached a server, whatever their result.
        usage: token usage, as far as reported.
        dollars: cost at the prices of the time, as far as known.
        unpriced: calls without a known price or token count.
        unresolved: calls without a recorded response, either in flight or lost when a run was
            killed; they may have incurred a cost.
        unreached: attempts that reached no server and cost nothing.
        uncounted: calls without a token count that the server did not reject, such as timeouts.
        implausible: calls with implausible reported tokens, for which cheaptalk's own counts are
            used.
    """

    calls: int = 0
    usage: Usage = NO_TOKENS
    dollars: float = 0.0
    unpriced: int = 0
    unresolved: int = 0
    unreached: int = 0
    uncounted: int = 0
    implausible: int = 0

    def printout(self) -> Printout:
        dollars = self.dollars_known
        cost = "unknown cost" if dollars is None else money(dollars)
        title = f"{counted(self.calls, 'call')}, {counted(self.tokens, 'token')}, {cost}"
        rows = [(plain(name), value) for name, value in self.as_json().items() if value]
        return Printout(title, ["", "number"], rows)

    @property
    def sendings(self) -> int:
        """Number of attempts, including those that reached no server."""
        return self.calls + self.unreached

    @property
    def tokens(self) -> int:
        """Sum of input and output tokens."""
        return self.usage.input_tokens + self.usage.output_tokens

    @property
    def dollars_known(self) -> float | None:
        """Cost in dollars; None if no price is known."""
        unknown = self.unpriced or (self.calls and self.calls == self.unresolved)
        return None if unknown and not self.dollars else self.dollars

    @property
    def unknown(self) -> bool:
        """Whether some calls may have used more tokens than were counted."""
        return bool(self.unresolved or self.uncounted)

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(*map(add, vars(self).values(), vars(other).values()))

    @property
    def columns(self) -> dict[str, Any]:
        """The cost as columns of the tables of matches and purchases."""
        counts = {name: getattr(self, name) for name in COUNTS}
        return self.usage.model_dump() | {"calls": self.calls, "dollars": self.dollars} | counts

    @classmethod
    def from_columns(cls, columns: Mapping[str, Any]) -> "Cost":
        """Return a cost, given its :attr:`columns`."""
        usage = Usage(**{name: columns[name] for name in Usage.model_fields})
        counts = {name: columns[name] for name in COUNTS}
        return cls(columns["calls"], usage, float(columns["dollars"]), **counts)

    def as_json(self) -> dict[str, Any]:
        """Return the cost as plain data with tokens by kind; dollars are None if unknown."""
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
    """Return the cost of a call, given its recorded response; pass None if there is no response."""
    if reply is None:
        return Cost(calls=1, unresolved=1)
    if reply.get("cached"):
        return Cost()
    if reply.get("unreached"):
        return Cost(unreached=1)
    usage = Usage.model_validate(reply.get("usage", {}))
    dollars = reply.get("dollars")
    uncounted = not usage.input_tokens and reply.get("status") is None
    implausible = int(reply.get("reported") is not None)
    counts = {"uncounted": int(uncounted), "implausible": implausible}
    return Cost(1, usage, dollars or 0.0, int(dollars is None), **counts)
