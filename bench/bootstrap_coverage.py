"""Coverage of bootstrap intervals of equilibrium payoffs: ``python -m bench.bootstrap_coverage``.

The benchmark simulates studies of games with known payoffs, bootstraps each study, and counts how
often the 95 % interval contains the true equilibrium payoff. Its cases include well-separated
equilibria, instances that raise or lower all payoffs, and games near a change of equilibrium. It
takes several minutes.
"""

import sys
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cheaptalk.equilibrium.empirical.bootstrap import bootstrap_equilibrium
from cheaptalk.equilibrium.empirical.cells import Cell, GameSample
from cheaptalk.equilibrium.empirical.empirical_games import EmpiricalGame
from cheaptalk.equilibrium.empirical.metrics import at_equilibrium
from cheaptalk.equilibrium.solvers.symmetric import mene_mixtures

STUDIES = 2_000
INSTANCES = 200
DRAWS = 1_000


class Known(NamedTuple):
    """A game with known payoffs whose studies are simulated.

    Attributes:
        payoffs: the true mean payoffs.
        generosity: the standard deviation of an instance's effect on all its payoffs.
        paired: whether the bootstrap resamples the instances of all cells together.
        more: the number of extra instances in the first cell; if positive, every other cell lacks
            a tenth of its instances.
        instances: the number of instances in each cell.
        skewed: whether payoffs are lognormal; the means stay the same.
    """

    payoffs: NDArray[np.float64]
    generosity: float
    paired: bool
    more: int = 0
    instances: int = INSTANCES
    skewed: bool = False


SEPARATED = np.array([[300.0, 360, 280], [340, 320, 280], [250, 250, 250]])
"""Equilibrium: strategies 1 and 2 with half each, payoff 330; strategy 3 earns 80 less."""
ON_THE_EDGE = np.array([[300.0, 360, 340], [340, 320, 280], [329, 329, 250]])
"""The same equilibrium, but strategy 3 earns only 1 less: under the standard error."""
BY_A_THREAD = np.array([[330.0, 300], [329, 310]])
"""Equilibrium: 10/11 of strategy 1, payoff 327. Strategy 2 alone (310) if 330 falls below 329."""
DOMINATED = np.array([[100.0, 120], [20, 30]])
"""Equilibrium: strategy 1 only, with a payoff of 100."""
GAMES = {
    "well separated, separate instances": Known(SEPARATED, 0.0, paired=False),
    "well separated, shared instances, paired": Known(SEPARATED, 60.0, paired=True),
    "well separated, shared instances, unpaired": Known(SEPARATED, 60.0, paired=False),
    "third strategy almost as good": Known(ON_THE_EDGE, 0.0, paired=False),
    "near a change of equilibrium": Known(BY_A_THREAD, 0.0, paired=False),
    "well separated, partly shared instances, paired": Known(SEPARATED, 60.0, paired=True,
    more=400),
    "well separated, partly shared instances, unpaired": Known(
        SEPARATED, 60.0, paired=False, more=400
    ),
} | {
    f"well separated, {instances} shared instances, paired": Known(
        SEPARATED, 60.0, paired=True, instances=instances
    )
    for instances in (3, 5, 10, 20)
} | {
    f"one dominant strategy, lognormal, {instances} instances": Known(
        DOMINATED, 0.0, paired=True, instances=instances, skewed=True
    )
    for instances in (10, 26, 50, 200)
}  # fmt: skip


def simulated(known: Known, draw: np.random.Generator) -> EmpiricalGame:
    """Simulate a study; the standard deviation of a match's payoff within an instance is 60."""
    truth, size, total = known.payoffs, len(known.payoffs), known.instances + known.more
    effects = (
        draw.normal(0, known.generosity, (total, 1)) if known.generosity else np.zeros((total, 1))
    )
    cells = {}
    for row in range(size):
        for column in range(row, size):
            means = np.array([truth[row, column], truth[column, row]])
            instances = np.arange(total if row == column == 0 else known.instances)
            if known.more and row + column > 0:
                instances = np.sort(draw.permutation(instances)[: known.instances * 9 // 10])
            noise = draw.normal(size=(len(instances), 2))
            sums = (
                means * np.exp(noise - 0.5)
                if known.skewed
                else means + 60 * noise + effects[instances]
            )
            if row == column:
                sums[:, 1] = sums[:, 0]
            cells[row, column] = Cell(sums, np.ones_like(sums), instances, len(instances))
    names = tuple(f"s{number}" for number in range(size))
    return EmpiricalGame(names, names, (), (GameSample("", total, cells),), (1.0,))


def covered(name: str, study: int) -> tuple[bool, bool]:
    """Return whether a study's interval contains the true payoff, and if its support is right."""
    known = GAMES[name]
    game = simulated(known, np.random.default_rng([study, list(GAMES).index(name)]))
    drawn = bootstrap_equilibrium(game, draws=DRAWS, seed=study, paired=known.paired)
    low, high = drawn.overall().select("low", "high").row(0)
    true = mene_mixtures(known.payoffs[None])
    estimate = mene_mixtures(game.payoffs()[None])
    inside = bool(low <= at_equilibrium(known.payoffs, true[0]) <= high)
    return inside, bool(((estimate > 0) == (true > 0)).all())


def main(studies: int, only: str = "") -> None:
    """Print the coverage of each game whose name contains ``only``."""
    for name in filter(lambda name: only in name, GAMES):
        results = np.array([covered(name, study) for study in range(studies)])
        share, same = results.mean(axis=0)
        error = np.sqrt(share * (1 - share) / studies)
        coverage = f"coverage {share:.1%} ± {error:.1%}"
        print(f"{name}: {coverage}; {same:.0%} have the true support", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else STUDIES, *sys.argv[2:])
