"""Scripted strategies of battle royale, and the theory of truels and larger duels.

Shooters take turns, have unlimited bullets, and only want to be the last survivor (Kilgour 1975,
1977; Kilgour and Brams 1997). A strategy depends only on the living players. The solutions of the
smaller games after a hit determine each shooter's best target. The solver then determines which
players shoot, and which players miss deliberately and let other players shoot.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations, product
from typing import NamedTuple

from cheaptalk.games.battle_royale.rules import Shot, Turn
from cheaptalk.games.tactics import Share
from cheaptalk.rules import Action, DecisionRequest, strategy

MAX_SHOOTERS = 7
"""Maximum number of shooters in a solvable game; each additional shooter triples the time."""
SLACK = 1e-12
"""Tolerance in comparisons of winning probabilities."""
STARTS = (0.5, 0.1, 0.9)
"""Starting points of the search for mixed strategies, as shares of the hit rates."""
STEPS = 30
"""Maximum number of Newton steps from each starting point."""

Chances = tuple[float, ...]
"""The winning probability of each living shooter."""


class Solution(NamedTuple):
    """The optimal play of each living shooter, with shooters numbered from 0 in shooting order.

    Attributes:
        targets: the best target of each shooter.
        aims: the probability that each shooter shoots instead of missing deliberately.
        wins: the winning probabilities of all shooters at each shooter's turn.
    """

    targets: tuple[int, ...]
    aims: tuple[float, ...]
    wins: tuple[Chances, ...]


@cache
def solve(rates: tuple[float, ...]) -> Solution:
    """Return a stationary subgame-perfect equilibrium with exact winning probabilities.

    Among several equilibria, the result has the fewest deliberate misses. A shooter who is
    indifferent between targets shoots at the best shot; among equals, at the last in order. If all
    players missed forever, no player would win, so this is never an equilibrium.

    Args:
        rates: each living shooter's hit rate, in (0, 1], in shooting order.

    Raises:
        ValueError: there are more than :data:`MAX_SHOOTERS` shooters, or no stationary equilibrium
            was found (there may be none).

    >>> truel = solve((0.3, 0.5, 1.0))  # the best strategy of the worst shot is to miss
    >>> truel.aims, [round(chance, 4) for chance in truel.wins[0]]
    ((0.0, 1.0, 1.0), [0.3808, 0.2692, 0.35])
    """
    if not 1 <= len(rates) <= MAX_SHOOTERS:
        raise ValueError(f"expected 1 to {MAX_SHOOTERS} shooters, not {len(rates)}")
    if len(rates) == 1:
        return Solution((0,), (0.0,), ((1.0,),))
    targets = tuple(_best_target(rates, shooter) for shooter in range(len(rates)))
    after_hit = [
        _chances_after_hit(rates, shooter, target) for shooter, target in enumerate(targets)
    ]
    for hits in _candidates(rates, after_hit):
        if _is_equilibrium(rates, hits, after_hit):
            aims = tuple(hit / rate for hit, rate in zip(hits, rates, strict=True))
            return Solution(targets, aims, _wins(hits, after_hit))
    raise ValueError(f"found no equilibrium for the hit rates {rates}")


def _best_target(rates: tuple[float, ...], shooter: int) -> int:
    def worth(target: int) -> tuple[float, float, int]:
        return round(_chances_after_hit(rates, shooter, target)[shooter], 12), rates[target], target

    return max((index for index in range(len(rates)) if index != shooter), key=worth)


def _chances_after_hit(rates: tuple[float, ...], shooter: int, target: int) -> Chances:
    """Return the winning probabilities of all shooters after one hits another."""
    survivors = (*rates[:target], *rates[target + 1 :])
    chances = solve(survivors).wins[(shooter + 1 - (target < shooter)) % len(survivors)]
    return (*chances[:target], 0.0, *chances[target:])


def _wins(hits: Sequence[float], after_hit: Sequence[Chances]) -> tuple[Chances, ...]:
    """Return all winning probabilities at each shooter's turn, given all hit probabilities.

    V_i = h_i * A_i + (1 - h_i) * V_(i + 1) at the turn of i, where A_i is the continuation after a
    hit. Substitution over one cycle of turns gives an equation for V_i.
    """
    wins = []
    for first in range(len(hits)):
        no_hit, total = 1.0, [0.0] * len(hits)
        for turn in (*range(first, len(hits)), *range(first)):
            weight = no_hit * hits[turn]
            total = [
                chance + weight * chance_after
                for chance, chance_after in zip(total, after_hit[turn], strict=True)
            ]
            no_hit *= 1 - hits[turn]
        wins.append(tuple(chance / (1 - no_hit) for chance in total))
    return tuple(wins)


def _gain_from_missing(shooter: int, hits: Sequence[float], after_hit: Sequence[Chances]) -> float:
    """Return a shooter's gain from a deliberate miss, times the chance that another shooter hits.

    The gain has the sign of V_(i + 1) - A_i. It is linear in the other shooters' probabilities of
    hits, and does not depend on the shooter's own probability.
    """
    gain, no_hit = 0.0, 1.0
    for turn in (*range(shooter + 1, len(hits)), *range(shooter)):
        gain += no_hit * hits[turn] * (after_hit[turn][shooter] - after_hit[shooter][shooter])
        no_hit *= 1 - hits[turn]
    return gain


def _is_equilibrium(
    rates: Sequence[float], hits: Sequence[float], after_hit: Sequence[Chances]
) -> bool:
    """Return whether no shooter gains by shooting more or less often."""
    for shooter, (rate, hit) in enumerate(zip(rates, hits, strict=True)):
        gain = _gain_from_missing(shooter, hits, after_hit) / sum(hits)
        if (hit > 0 and gain > SLACK) or (hit < rate and gain < -SLACK):
            return False
    return True


def _candidates(rates: Sequence[float], after_hit: Sequence[Chances]) -> Iterator[list[float]]:
    """Yield hit probabilities of candidate equilibria, pure strategies before mixed ones."""
    choices = sorted(product((1, 0), repeat=len(rates)), key=sum, reverse=True)[:-1]
    pure = [[aim * rate for aim, rate in zip(aims, rates, strict=True)] for aims in choices]
    yield from pure
    for count in range(2, len(rates) + 1):
        for mixing in combinations(range(len(rates)), count):
            for hits in pure:
                if all(hits[shooter] for shooter in mixing):
                    yield from _indifferent(mixing, hits, rates, after_hit)


def _indifferent(
    mixing: Sequence[int],
    hits: Sequence[float],
    rates: Sequence[float],
    after_hit: Sequence[Chances],
) -> Iterator[list[float]]:
    """Yield hit probabilities that make the mixing shooters indifferent, by Newton's method."""
    for start in STARTS:
        current = [hit * (start if shooter in mixing else 1) for shooter, hit in enumerate(hits)]
        for _ in range(STEPS):
            gains = [_gain_from_missing(shooter, current, after_hit) for shooter in mixing]
            if max(map(abs, gains)) < SLACK * sum(current):
                yield current
                break
            slopes = [
                [_slope(row, column, current, after_hit) for column in mixing] for row in mixing
            ]
            step = _solution(slopes, gains)
            if step is None:
                break
            for shooter, change in zip(mixing, step, strict=True):
                current[shooter] -= change
            if not all(0 < current[shooter] < rates[shooter] for shooter in mixing):
                break


def _slope(shooter: int, rival: int, hits: Sequence[float], after_hit: Sequence[Chances]) -> float:
    """Return how much a shooter's gain from missing changes with a rival's hit probability."""
    never, always = (
        _gain_from_missing(shooter, [*hits[:rival], hit, *hits[rival + 1 :]], after_hit)
        for hit in (0.0, 1.0)
    )
    return always - never


def _solution(matrix: list[list[float]], constants: list[float]) -> list[float] | None:
    """Return the solution of a linear system (Gauss-Jordan); None if the matrix is singular."""
    rows = [[*row, value] for row, value in zip(matrix, constants, strict=True)]
    for column in range(len(rows)):
        pivot = max(range(column, len(rows)), key=lambda row: abs(rows[row][column]))
        rows[column], rows[pivot] = rows[pivot], rows[column]
        if abs(rows[column][column]) < SLACK:
            return None
        rows[column] = [value / rows[column][column] for value in rows[column]]
        for index in range(len(rows)):
            if index != column:
                factor = rows[index][column]
                rows[index] = [
                    a - factor * b for a, b in zip(rows[index], rows[column], strict=True)
                ]
    return [row[-1] for row in rows]


MISS = Shot(action="miss", target=None)


@cache
def shoot(target: str) -> Shot:
    """Return the action that shoots at a player."""
    return Shot(action="shoot", target=target)


def opponents(request: DecisionRequest) -> list[str]:
    """Return the other living players, sorted by increasing accuracy."""
    return [seat for seat, _ in request.event.living if seat != request.actor]


@strategy("player")
def strongest(request: DecisionRequest) -> Action:
    """Shoot at the most accurate opponent, which GAMA-Bench scores as correct (section 3.3)."""
    return shoot(opponents(request)[-1])


@strategy("player")
def weakest(request: DecisionRequest) -> Action:
    """Shoot at the least accurate opponent (the opposite of ``strongest``; section 3.3)."""
    return shoot(opponents(request)[0])


@strategy("player")
def equilibrium(request: DecisionRequest) -> Action:
    """Play the subgame-perfect equilibrium, missing on purpose if that is best (Kilgour 1977).

    If there are too many players, or no equilibrium is found, shoot at the best shot.
    """
    turn: Turn = request.event
    try:
        solution = solve(tuple(rate for _, rate in turn.living))
    except ValueError:
        return shoot(opponents(request)[-1])
    index = [seat for seat, _ in turn.living].index(request.actor)
    if not request.chance("aim", request.number).happens(solution.aims[index]):
        return MISS
    return shoot(turn.living[solution.targets[index]][0])


@strategy("player")
def fixed(request: DecisionRequest, *, target: str | None = None) -> Action:
    """Shoot at the same player while it is living, then miss (GAMA-Bench appendix G).

    Args:
        target: the player, such as player_10; by default, always miss on purpose.
    """
    names = [seat for seat, _ in request.briefing.shooters]
    if target is None or target in names:
        return shoot(target) if target in opponents(request) else MISS
    raise ValueError(f'fixed: no player "{target}"; the players are {", ".join(names)}')


@strategy("player")
def random(request: DecisionRequest, *, misses: Share = 0.1) -> Action:
    """Shoot at a random other player, or miss on purpose with a fixed probability."""
    draw = request.chance("move", request.number)
    return MISS if draw.happens(misses) else shoot(draw.pick(opponents(request)))
