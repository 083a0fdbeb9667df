"""Scripted shooters, and the theory of truels and larger duels that the equilibrium rests on.

Each shooter knows who lives and how well they shoot. In theory shooters take turns, bullets never
run out, and each wants nothing but to be the last one left (Kilgour 1975, 1977; Kilgour and Brams
1997). What a shooter does depends only on who lives. After a hit the game is a smaller one, whose
solution decides whom each would shoot at; what is left is who shoots and who misses on purpose, to
let the others do the work.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations, product
from typing import NamedTuple

from cheaptalk.games.battle_royale.events import Shot, Turn
from cheaptalk.games.tactics import Share
from cheaptalk.rules import Action, Asked, strategy

MOST = 7
"""Shooters that can be solved for; each one more makes three times the work."""
SLACK = 1e-12
"""Winning chances as near as this count as the same."""

STARTS = (0.5, 0.1, 0.9)
"""Where the search for mixed play starts, as shares of the hit rates."""
STEPS = 30
"""Newton steps from each start."""

Chances = tuple[float, ...]
"""The chance of each living shooter to be the last one left."""


class Solution(NamedTuple):
    """Optimal play among some living shooters, numbered from 0 in shooting order.

    Attributes:
        targets: whom each shoots at if it shoots.
        aims: the chance that each shoots, rather than missing on purpose.
        wins: the chances of all when it is the turn of each.
    """

    targets: tuple[int, ...]
    aims: tuple[float, ...]
    wins: tuple[Chances, ...]


@cache
def solve(rates: tuple[float, ...]) -> Solution:
    """A stationary subgame-perfect equilibrium, with exact winning chances.

    Of several equilibria it is one with the fewest who miss on purpose. A shooter who gains the
    same from several targets takes the best shot among them, and the last of equal ones. That
    all miss for ever is none: nobody would win.

    Args:
        rates: the chance of each living shooter to hit, in (0, 1], in shooting order.

    Raises:
        ValueError: there are more than :data:`MOST` shooters, or no stationary equilibrium was
            found. There need be none, since all chances drop to 0 where nobody shoots any more.

    >>> truel = solve((0.3, 0.5, 1.0))  # the weakest does best to miss on purpose
    >>> truel.aims, [round(chance, 4) for chance in truel.wins[0]]
    ((0.0, 1.0, 1.0), [0.3808, 0.2692, 0.35])
    """
    if not 1 <= len(rates) <= MOST:
        raise ValueError(f"from 1 to {MOST} shooters can be solved for, not {len(rates)}")
    if len(rates) == 1:
        return Solution((0,), (0.0,), ((1.0,),))
    targets = tuple(_best_target(rates, shooter) for shooter in range(len(rates)))
    after = [_after(rates, shooter, target) for shooter, target in enumerate(targets)]
    for hits in _candidates(rates, after):
        if _is_equilibrium(rates, hits, after):
            aims = tuple(hit / rate for hit, rate in zip(hits, rates, strict=True))
            return Solution(targets, aims, _wins(hits, after))
    raise ValueError(f"no equilibrium was found for the hit rates {rates}")


def _best_target(rates: tuple[float, ...], shooter: int) -> int:
    def worth(target: int) -> tuple[float, float, int]:
        return round(_after(rates, shooter, target)[shooter], 12), rates[target], target

    return max((one for one in range(len(rates)) if one != shooter), key=worth)


def _after(rates: tuple[float, ...], shooter: int, target: int) -> Chances:
    """The chances of all once a shooter has hit a target."""
    left = (*rates[:target], *rates[target + 1 :])
    turn = (shooter + 1 - (target < shooter)) % len(left)
    chances = solve(left).wins[turn]
    return (*chances[:target], 0.0, *chances[target:])


def _wins(hits: Sequence[float], after: Sequence[Chances]) -> tuple[Chances, ...]:
    """The chances of all at each one's turn, where ``hits`` are the chances to hit.

    At the turn of i they are V_i = h_i * A_i + (1 - h_i) * V_(i + 1), with A_i what follows a hit.
    Going around once gives V_i as a multiple of itself.
    """
    found = []
    for first in range(len(hits)):
        nobody_hits, total = 1.0, [0.0] * len(hits)
        for turn in (*range(first, len(hits)), *range(first)):
            weight = nobody_hits * hits[turn]
            total = [
                chance + weight * later for chance, later in zip(total, after[turn], strict=True)
            ]
            nobody_hits *= 1 - hits[turn]
        found.append(tuple(chance / (1 - nobody_hits) for chance in total))
    return tuple(found)


def _gain_of_missing(shooter: int, hits: Sequence[float], after: Sequence[Chances]) -> float:
    """What a shooter gains if another hits before its next turn instead of it now.

    It has the sign of V_(i + 1) - A_i, does not depend on the shooter's own chance to hit, and is
    linear in each other's.
    """
    gain, nobody_hits = 0.0, 1.0
    for turn in (*range(shooter + 1, len(hits)), *range(shooter)):
        gain += nobody_hits * hits[turn] * (after[turn][shooter] - after[shooter][shooter])
        nobody_hits *= 1 - hits[turn]
    return gain


def _is_equilibrium(
    rates: Sequence[float], hits: Sequence[float], after: Sequence[Chances]
) -> bool:
    """Whether who shoots does not gain by missing, and who misses loses nothing by it."""
    for shooter, (rate, hit) in enumerate(zip(rates, hits, strict=True)):
        gain = _gain_of_missing(shooter, hits, after) / sum(hits)
        if (hit > 0 and gain > SLACK) or (hit < rate and gain < -SLACK):
            return False
    return True


def _candidates(rates: Sequence[float], after: Sequence[Chances]) -> Iterator[list[float]]:
    """Chances to hit: where all shoot or miss, fewest misses first, then where some mix."""
    choices = sorted(product((1, 0), repeat=len(rates)), key=sum, reverse=True)[:-1]
    pure = [[aim * rate for aim, rate in zip(aims, rates, strict=True)] for aims in choices]
    yield from pure
    for count in range(2, len(rates) + 1):
        for mixing in combinations(range(len(rates)), count):
            for hits in pure:
                if all(hits[shooter] for shooter in mixing):
                    yield from _indifferent(mixing, hits, rates, after)


def _indifferent(
    mixing: Sequence[int], hits: Sequence[float], rates: Sequence[float], after: Sequence[Chances]
) -> Iterator[list[float]]:
    """The chances to hit at which all of the mixing may as well miss, if Newton finds them."""
    for start in STARTS:
        found = [hit * (start if shooter in mixing else 1) for shooter, hit in enumerate(hits)]
        for _ in range(STEPS):
            gains = [_gain_of_missing(shooter, found, after) for shooter in mixing]
            if max(map(abs, gains)) < SLACK * sum(found):  # near 0 all gains are small
                yield found
                break
            slopes = [[_slope(one, other, found, after) for other in mixing] for one in mixing]
            step = _solution(slopes, gains)
            if step is None:
                break
            for shooter, change in zip(mixing, step, strict=True):
                found[shooter] -= change
            if not all(0 < found[shooter] < rates[shooter] for shooter in mixing):
                break


def _slope(shooter: int, other: int, hits: Sequence[float], after: Sequence[Chances]) -> float:
    """How the gain of missing grows with another's chance to hit."""
    never, always = (
        _gain_of_missing(shooter, [*hits[:other], hit, *hits[other + 1 :]], after)
        for hit in (0.0, 1.0)
    )
    return always - never


def _solution(matrix: list[list[float]], right: list[float]) -> list[float] | None:
    """The x with matrix * x = right (Gauss and Jordan); None where the matrix is singular."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for column in range(len(rows)):
        pivot = max(range(column, len(rows)), key=lambda row: abs(rows[row][column]))
        rows[column], rows[pivot] = rows[pivot], rows[column]
        if abs(rows[column][column]) < SLACK:
            return None
        rows[column] = [value / rows[column][column] for value in rows[column]]
        for other in range(len(rows)):
            if other != column:
                factor = rows[other][column]
                rows[other] = [
                    a - factor * b for a, b in zip(rows[other], rows[column], strict=True)
                ]
    return [row[-1] for row in rows]


MISS = Shot(action="miss", target=None)


@cache
def shoot(target: str) -> Shot:
    """A shot at a player."""
    return Shot(action="shoot", target=target)


def others(asked: Asked) -> list[str]:
    """The living players but this one, the best shot last."""
    turn: Turn = asked.event
    me = asked.seat
    return [seat for seat, _ in turn.living if seat != me]


@strategy("player")
def strongest(asked: Asked) -> Action:
    """Shoot at the best shot among the others: what GAMA-Bench scores as right (section 3.3)."""
    return shoot(others(asked)[-1])


@strategy("player")
def weakest(asked: Asked) -> Action:
    """Shoot at the worst shot among the others (a foil; GAMA-Bench section 3.3)."""
    return shoot(others(asked)[0])


@strategy("player")
def equilibrium(asked: Asked) -> Action:
    """Play the subgame-perfect equilibrium, missing on purpose where that is best (Kilgour 1977).

    Among more players than it can be found for, or where there is none, shoot at the best shot.
    """
    turn: Turn = asked.event
    solution = _solved(turn)
    if solution is None:
        return shoot(others(asked)[-1])
    place = [seat for seat, _ in turn.living].index(asked.seat)
    if not asked.chance("aim", asked.request).happens(solution.aims[place]):
        return MISS
    return shoot(turn.living[solution.targets[place]][0])


def _solved(turn: Turn) -> Solution | None:
    if len(turn.living) > MOST:
        return None
    try:
        return solve(tuple(rate for _, rate in turn.living))
    except ValueError:
        return None


@strategy("player")
def fixed(asked: Asked, *, target: str | None = None) -> Action:
    """Shoot at one player while it is in, and miss on purpose otherwise.

    A fixed strategy as in GAMA-Bench, appendix G.

    Args:
        target: the player, such as player_10; without one, always miss.
    """
    known = [seat for seat, _ in asked.briefing.shooters]
    if target is None or target in known:
        return shoot(target) if target in others(asked) else MISS
    raise ValueError(f'fixed: no player "{target}"; the players are {", ".join(known)}')


@strategy("player")
def random(asked: Asked, *, misses: Share = 0.1) -> Action:
    """Shoot at another player picked at random, or miss on purpose.

    Args:
        misses: the probability of missing on purpose.
    """
    draw = asked.chance("move", asked.request)
    return MISS if draw.happens(misses) else shoot(draw.pick(others(asked)))
