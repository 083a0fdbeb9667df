"""Symmetric equilibria in rational arithmetic: slow, and independent of the solver."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

Point = tuple[Fraction, ...]
Game = Sequence[Sequence[int | Fraction]]


def solve(rows: list[list[Fraction]]) -> Point | None:
    """Solve a square system whose last column is the right side; return None if it is singular."""
    rows = [list(row) for row in rows]
    for at in range(len(rows)):
        pivot = next((row for row in rows[at:] if row[at]), None)
        if pivot is None:
            return None
        rows.remove(pivot)
        rows.insert(at, [value / pivot[at] for value in pivot])
        for number, row in enumerate(rows):
            if number != at and row[at]:
                rows[number] = [a - row[at] * b for a, b in zip(row, rows[at], strict=True)]
    return tuple(row[-1] for row in rows)


def against(game: Game, mixture: Point) -> list[Fraction]:
    """Return the payoff of each strategy against a mixture."""
    return [sum((a * x for a, x in zip(row, mixture, strict=True)), Fraction(0)) for row in game]


def labels(game: Game, mixture: Point) -> tuple[frozenset[int], frozenset[int]]:
    """Return the strategies without a share, and the best responses."""
    gains = against(game, mixture)
    absent = frozenset(strategy for strategy, share in enumerate(mixture) if not share)
    return absent, frozenset(strategy for strategy, gain in enumerate(gains) if gain == max(gains))


def extreme_equilibria(game: Game) -> set[Point]:
    """Return the equilibria that are vertices of the polyhedron of mixtures and best payoffs.

    Each such vertex solves the equations of as many best responses as it has shares.
    """
    size = len(game)
    vertices = set()
    for count in range(1, size + 1):
        for shares in combinations(range(size), count):
            for best in combinations(range(size), count):
                rows = [[Fraction(game[i][j]) for j in shares] for i in best]
                system = [[*row, Fraction(-1), Fraction(0)] for row in rows]
                solved = solve([*system, [Fraction(1)] * count + [Fraction(0), Fraction(1)]])
                if solved is None or min(solved[:-1]) < 0:
                    continue
                given = dict(zip(shares, solved, strict=False))
                mixture = tuple(given.get(strategy, Fraction(0)) for strategy in range(size))
                absent, replies = labels(game, mixture)
                if replies.issuperset(best) and len(absent | replies) == size:
                    vertices.add(mixture)
    return vertices


def exact_components(game: Game) -> list[set[Point]]:
    """Return the components of the extreme equilibria.

    Two are joined by a segment of equilibria if and only if they share a label of each strategy.
    """
    waiting = {point: labels(game, point) for point in extreme_equilibria(game)}
    components = []
    while waiting:
        point, point_labels = waiting.popitem()
        component, border = {point}, [point_labels]
        while border:
            absent, best = border.pop()
            near = [
                other
                for other, (gone, replies) in waiting.items()
                if len(absent & gone | best & replies) == len(game)
            ]
            border += [waiting.pop(other) for other in near]
            component.update(near)
        components.append(component)
    return components
