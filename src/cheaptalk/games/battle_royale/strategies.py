"""Scripted shooters. Each knows who lives and how well they shoot."""

from cheaptalk.games.battle_royale.events import Shot, Turn
from cheaptalk.games.battle_royale.theory import MOST, Solution, solve
from cheaptalk.games.tactics import Share
from cheaptalk.rules import Action, Asked, strategy

MISS = Shot(action="miss", target=None)


def shoot(target: str) -> Shot:
    """A shot at a player."""
    return Shot(action="shoot", target=target)


def others(asked: Asked) -> list[str]:
    """The living players but this one, the best shot last."""
    turn: Turn = asked.event
    return [seat for seat, _ in turn.living if seat != asked.seat]


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
    solution = _solution(turn)
    if solution is None:
        return shoot(others(asked)[-1])
    place = [seat for seat, _ in turn.living].index(asked.seat)
    if not asked.chance("aim", asked.request).happens(solution.aims[place]):
        return MISS
    return shoot(turn.living[solution.targets[place]][0])


def _solution(turn: Turn) -> Solution | None:
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
