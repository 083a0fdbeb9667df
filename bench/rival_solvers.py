"""Run by the anchors' own interpreter: seconds that other solvers take for symmetric games.

Reads games as JSON from standard input and prints, for each solver, its name and version, its
seconds for each game, and the mixture of most entropy where it gives one.
"""

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np

cp: Any = import_module("cvxpy")  # only the anchors' environment has these two
pygambit: Any = import_module("pygambit")

GRID = np.linspace(0, 1, 101)
"""Where the mixed-integer program's chords touch x ln x."""


def milp(payoffs: Any, solver: str) -> list[float]:
    """The equilibrium of most entropy by a mixed-integer program (Li and Wellman 2024).

    A binary variable a strategy says that it has no share; x ln x is bounded from below by 100
    chords.
    """
    size = len(payoffs)
    share, least, best = cp.Variable(size, nonneg=True), cp.Variable(size), cp.Variable()
    unused = cp.Variable(size, boolean=True)
    gains = payoffs @ share
    span = float(np.ptp(payoffs))
    heights = GRID * np.log(np.maximum(GRID, 1e-300))
    slopes = np.diff(heights) / np.diff(GRID)
    chords = [
        least >= height + slope * (share - at)
        for at, height, slope in zip(GRID[:-1], heights[:-1], slopes, strict=True)
    ]
    tight = [gains <= best, best - gains <= span * unused, share <= 1 - unused, cp.sum(share) == 1]
    cp.Problem(cp.Minimize(cp.sum(least)), tight + chords).solve(solver=solver)
    return [float(one) for one in share.value]


def gambit(payoffs: Any) -> None:
    """All extreme equilibria of the bimatrix game, symmetric or not."""
    pygambit.nash.enummixed_solve(pygambit.Game.from_arrays(payoffs, payoffs.T), rational=False)


def timed(solve: Callable[[Any], Any], games: list[Any]) -> tuple[list[float], list[Any]]:
    """Seconds and answers, game by game."""
    seconds, answers = [], []
    for payoffs in games:
        started = time.perf_counter()
        answers.append(solve(payoffs))
        seconds.append(time.perf_counter() - started)
    return seconds, answers


def main() -> None:
    """Time every solver; enumeration of all bimatrix equilibria takes seconds, so on few games."""
    games = [np.array(game) for game in json.load(sys.stdin)]
    cvxpy, found = version("cvxpy"), {}
    for solver in ("GLPK_MI", "HIGHS"):
        milp(games[0], solver)
        name = f"mixed-integer program, cvxpy {cvxpy} with {solver}"
        found[name] = timed(partial(milp, solver=solver), games)
    found[f"pygambit {version('pygambit')}, enummixed"] = timed(gambit, games[:3])
    json.dump(found, sys.stdout)


main()
