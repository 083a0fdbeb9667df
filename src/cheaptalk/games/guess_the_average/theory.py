"""Theoretical results for the guess-the-average game, used by its rules and strategies.

R is the ratio, and N is the number of players; numbers are integers from ``minimum`` to
``maximum``.
"""

from collections.abc import Collection
from fractions import Fraction


def winning_numbers(choices: Collection[int], ratio: Fraction) -> tuple[int, ...]:
    """Return the choice closest to the ratio times the average, or both choices if two tie.

    >>> winning_numbers((30, 40, 50), Fraction(2, 3))
    (30,)
    """
    scale, target = len(choices) * ratio.denominator, sum(choices) * ratio.numerator
    distances = {number: abs(number * scale - target) for number in sorted(set(choices))}
    smallest = min(distances.values())
    return tuple(number for number, distance in distances.items() if distance == smallest)


def rounded(number: Fraction, minimum: int, maximum: int) -> int:
    """Return the nearest integer in the range; halves are rounded up."""
    return min(max(int((number + Fraction(1, 2)) // 1), minimum), maximum)


def level_k(level: int, minimum: int, maximum: int, ratio: Fraction) -> int:
    """Return the choice of a player of level k: R ** k times the middle of the range (Nagel 1995).

    Level 0 chooses at random, with the middle as the average. Level k + 1 assumes that all other
    players are of level k, and ignores its own number in the average.

    >>> [level_k(level, 0, 100, Fraction(2, 3)) for level in range(4)]
    [50, 33, 22, 15]
    """
    return rounded(Fraction(minimum + maximum, 2) * ratio**level, minimum, maximum)


def equilibrium(minimum: int, maximum: int, ratio: Fraction) -> int:
    """Return the number that all players choose in equilibrium, for any number of players.

    The equilibrium is the minimum if R < 1 (GAMA-Bench section 2.1), and the maximum if R > 1. With
    R = 1, every number is an equilibrium; the result is the middle of the range, which GAMA-Bench's
    score rewards (appendix E).

    >>> [equilibrium(0, 100, Fraction(ratio)) for ratio in ("2/3", "1", "4/3")]
    [0, 50, 100]
    """
    if ratio == 1:
        return (minimum + maximum) // 2
    return minimum if ratio < 1 else maximum


def nearest_to_target(
    opponent_sum: int, players: int, minimum: int, maximum: int, ratio: Fraction
) -> int:
    """Return the number that hits the target, given the sum of the other players' numbers.

    c = R * (others + c) / N, so c = R * others / (N - R). If R >= N, the result is the maximum.

    >>> nearest_to_target(450, 10, 0, 100, Fraction(2, 3))
    32
    """
    if ratio >= players:
        return maximum
    return rounded(ratio * opponent_sum / (players - ratio), minimum, maximum)
