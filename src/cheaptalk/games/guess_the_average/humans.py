"""What people chose in laboratory and classroom, to compare first rounds with."""

from fractions import Fraction
from typing import NamedTuple


class Baseline(NamedTuple):
    """The mean number that people chose from 0 to 100 for one ratio.

    Attributes:
        ratio: what the average was multiplied by.
        mean: the mean of their first choices.
        subjects: how many chose; in Nagel's experiments the least and most of a group.
        source: where the figure is from, as GAMA-Bench (section 4.3) cites it.
    """

    ratio: Fraction
    mean: float
    subjects: tuple[int, int]
    source: str


NAGEL = "Nagel (1995), Unraveling in Guessing Games, American Economic Review 85(5)"
RUBINSTEIN = "Rubinstein (2007), Instinctive and Cognitive Reasoning, Economic Journal 117(523)"

BASELINES = (
    Baseline(Fraction(1, 2), 27.05, (15, 18), NAGEL),
    Baseline(Fraction(2, 3), 36.73, (15, 18), NAGEL),
    Baseline(Fraction(4, 3), 60.12, (15, 18), NAGEL),
    Baseline(Fraction(2, 3), 36.2, (2_423, 2_423), RUBINSTEIN),
)
