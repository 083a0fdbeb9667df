"""Benchmark of other solvers of symmetric games; run it in the reference environment.

It reads games as JSON from standard input. It prints a JSON object that maps the name and version
of each solver to its seconds and solution for each game. The solution is the maximum-entropy
mixture, or null if the solver does not compute it.
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

cp: Any = import_module("cvxpy")  # installed only in the reference environment
pygambit: Any = import_module("pygambit")

GRID = np.linspace(0, 1, 101)
"""Points at which the mixed-integer program's chords meet x ln x."""


def milp(payoffs: Any, solver: str) -> list[float]:
    """Compute the maximum-entropy equilibrium by a mixed-integer program (Li and Wellman 2024).

    A binary variable per strategy states that the strategy is unused. The function x ln x is
    approximated by 100 chords.
    """
    size = len(payoffs)
    share, bound, best = cp.Variable(size, nonneg=True), cp.Variable(size), cp.Variable()
    unused = cp.Variable(size, boolean=True)
    gains = payoffs @ share
    span = float(np.ptp(payoffs))
    heights = GRID * np.log(np.maximum(GRID, 1e-300))
    slopes = np.diff(heights) / np.diff(GRID)
    chords = [
        bound >= height + slope * (share - point)
        for point, height, slope in zip(GRID[:-1], heights[:-1], slopes, strict=True)
    ]
    tight = [gains <= best, best - gains <= span * unused, share <= 1 - unused, cp.sum(share) == 1]
    cp.Problem(cp.Minimize(cp.sum(bound)), tight + chords).solve(solver=solver)
    return [float(value) for value in share.value]


def gambit(payoffs: Any) -> None:
    """Compute all extreme equilibria of the bimatrix game, symmetric or not."""
    pygambit.nash.enummixed_solve(pygambit.Game.from_arrays(payoffs, payoffs.T), rational=False)


def timed(solve: Callable[[Any], Any], games: list[Any]) -> tuple[list[float], list[Any]]:
    """Solve games, and return the seconds and the solution of each."""
    seconds, solutions = [], []
    for payoffs in games:
        started = time.perf_counter()
        solutions.append(solve(payoffs))
        seconds.append(time.perf_counter() - started)
    return seconds, solutions


def main() -> None:
    """Time every solver; the slow enumeration of bimatrix equilibria runs on three games only."""
    games = [np.array(game) for game in json.load(sys.stdin)]
    cvxpy, results = version("cvxpy"), {}
    for solver in ("GLPK_MI", "HIGHS"):
        milp(games[0], solver)
        name = f"mixed-integer program, cvxpy {cvxpy} with {solver}"
        results[name] = timed(partial(milp, solver=solver), games)
    results[f"pygambit {version('pygambit')}, enummixed"] = timed(gambit, games[:3])
    json.dump(results, sys.stdout)


main()
