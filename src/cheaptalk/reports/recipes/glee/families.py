"""GLEE's three families of games: their metrics, and their parameters as factors."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import inf
from operator import itemgetter
from typing import Any, NamedTuple

from cheaptalk.reports.pages import readable

METRICS = {
    "efficiency": "efficiency",
    "fairness": "fairness",
    "alice_gain": "Alice's gain",
    "bob_gain": "Bob's gain",
}
"""The four metrics of each family (GLEE section 2), by measure."""
ROLES = {"alice": "Alice", "bob": "Bob"}
REFERENCE = "gemini-1.5-flash"
"""The player that others are compared with in the paper."""
GAINS = {"alice": "alice_gain", "bob": "bob_gain"}
"""The metric that is a role's own."""


def _same(value: Any) -> Any:
    return value


class Term(NamedTuple):
    """A parameter of a family as a factor.

    Attributes:
        name: its short name in the paper, and the column of its levels.
        title: what it is.
        parameter: the game's parameter that it is read off.
        default: the reference level of the paper (Table 8).
        market: whether it is one of those that the paper joins into the factor "market".
        read: its value, given the parameter's.
    """

    name: str
    title: str
    parameter: str
    default: Any
    market: bool = False
    read: Callable[[Any], Any] = _same


def _rounds(horizon: Mapping[str, Any]) -> float:
    """How many rounds the players know of; infinite where they are not told."""
    return inf if horizon["hidden"] else horizon["rounds"]


def _informed(parameter: str) -> Term:
    return Term("CI", "complete information", parameter, True, market=True)


def _ends(default: float, *, market: bool = True) -> Term:
    title = "rounds, as far as players know"
    return Term("T", title, "horizon", default, market, _rounds)


SPOKEN = Term("MA", "messages allowed", "messages", False, market=True)


@dataclass(frozen=True)
class Family:
    """A family of games.

    Attributes:
        game: its name.
        terms: its parameters.
    """

    game: str
    terms: tuple[Term, ...]

    @property
    def market(self) -> tuple[Term, ...]:
        """The parameters that make a market."""
        return tuple(term for term in self.terms if term.market)


FAMILIES = (
    Family(
        "bargaining",
        (
            _informed("complete_information"),
            SPOKEN,
            _ends(inf),
            Term("δ_A", "Alice's discount factor", "discounts", 0.9, read=itemgetter(0)),
            Term("δ_B", "Bob's discount factor", "discounts", 0.9, read=itemgetter(1)),
            Term("M", "money to divide, in dollars", "money", 10_000),
        ),
    ),
    Family(
        "negotiation",
        (
            _informed("complete_information"),
            SPOKEN,
            _ends(1),
            Term("F_A", "worth to the seller, in multiples of M", "seller_factor", 1),
            Term("F_B", "worth to the buyer, in multiples of M", "buyer_factor", 1),
            Term("M", "scale of values and prices, in dollars", "scale", 10_000),
        ),
    ),
    Family(
        "persuasion",
        (
            _informed("seller_knows_values"),
            Term("MT", "what Alice sends", "signal", "binary", market=True),
            Term("MY", "myopic buyers", "myopic", False, market=True),
            Term("p", "share of good products", "prior", 0.5, read=partial(round, ndigits=3)),
            Term("v", "worth of a good product, in prices", "value", 1.25),
            Term("M", "price, in dollars", "price", 10_000),
            _ends(20, market=False),
            Term("p known", "whether buyers know p", "buyer_knows_prior", True),
            Term("buyer speaks", "whether buyers can send words", "buyer_messages", False),
        ),
    ),
)
"""Parameters as in Table 1 of the paper; of persuasion also two that its older data vary."""


def level(value: Any) -> str:
    """A parameter's value as a level is called.

    >>> level(inf), level(True), level(1e6), level("text")
    ('∞', 'yes', '1,000,000', 'text')
    """
    return "∞" if value == inf else readable(value)
