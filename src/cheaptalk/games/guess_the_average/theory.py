"""What theory says about numbers to choose: pure functions that rules and strategies rest on.

R is the ratio, N the number of players; numbers are whole and lie from ``minimum`` to ``maximum``.
"""

from collections.abc import Collection
from fractions import Fraction


def winning_numbers(choices: Collection[int], ratio: Fraction) -> tuple[int, ...]:
    """The numbers nearest to R times the average of all: one, or the two that are equally near.

    >>> winning_numbers((30, 40, 50), Fraction(2, 3))
    (30,)
    """
    scale, target = len(choices) * ratio.denominator, sum(choices) * ratio.numerator
    distances = {number: abs(number * scale - target) for number in sorted(set(choices))}
    least = min(distances.values())
    return tuple(number for number, distance in distances.items() if distance == least)


def rounded(number: Fraction, minimum: int, maximum: int) -> int:
    """The whole number nearest to this one (halves go up), kept within the range."""
    return min(max(int((number + Fraction(1, 2)) // 1), minimum), maximum)


def level_k(level: int, minimum: int, maximum: int, ratio: Fraction) -> int:
    """What a player of level k chooses: R ** k times the middle of the range (Nagel 1995).

    Level 0 chooses at random, on average the middle; level k + 1 takes all others for level k and
    leaves out its own weight in the average, and steps beyond the range stop at its edge.

    >>> [level_k(level, 0, 100, Fraction(2, 3)) for level in range(4)]
    [50, 33, 22, 15]
    """
    return rounded(Fraction(minimum + maximum, 2) * ratio**level, minimum, maximum)


def equilibrium(minimum: int, maximum: int, ratio: Fraction) -> int:
    """The number that everybody chooses in equilibrium for this ratio, whatever N is.

    The least number where R < 1: undercutting never ends before it (GAMA-Bench section 2.1). The
    greatest where R > 1. With R = 1 every number is an equilibrium when all choose it; the middle
    of the range is taken, which is what GAMA-Bench's score rewards (appendix E).

    >>> [equilibrium(0, 100, Fraction(ratio)) for ratio in ("2/3", "1", "4/3")]
    [0, 50, 100]
    """
    if ratio == 1:
        return (minimum + maximum) // 2
    return minimum if ratio < 1 else maximum


def nearest_to_target(
    others: int, players: int, minimum: int, maximum: int, ratio: Fraction
) -> int:
    """The number that hits the target, its own weight counted, if the others' sum is this.

    It solves c = R * (others + c) / N, hence c = R * others / (N - R), and is the edge of the
    range that the target runs away to where R >= N.

    >>> nearest_to_target(450, 10, 0, 100, Fraction(2, 3))
    32
    """
    if ratio >= players:
        return maximum
    return rounded(ratio * others / (players - ratio), minimum, maximum)
