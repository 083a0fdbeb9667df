"""Numbers of all matches with what bootstrap draws say of them."""

from typing import NamedTuple

from cheaptalk.equilibrium.empirical.bootstrap import summary
from cheaptalk.equilibrium.solvers.payoffs import Floats

LEVEL = 0.95
"""What share of the draws an interval holds."""


class Spread(NamedTuple):
    """A number with what the bootstrap says of it.

    Attributes:
        estimate: of all matches; None where it is undefined.
        mean, error: the mean and the standard deviation over draws; None without draws.
        low, high: the ends of the percentile interval; None without draws.
    """

    estimate: float | None
    mean: float | None = None
    error: float | None = None
    low: float | None = None
    high: float | None = None


def spreads(estimate: Floats, drawn: Floats, *, sure: bool) -> list[Spread]:
    """Numbers of all matches with those of the draws.

    Args:
        estimate: shape (numbers,).
        drawn: shape (draws, numbers).
        sure: whether there are draws; without, ``drawn`` does not count.
    """
    rows = summary(estimate, drawn, level=LEVEL).select(Spread._fields).iter_rows()
    found = [Spread(*row) for row in rows]
    return found if sure else [Spread(one.estimate) for one in found]
