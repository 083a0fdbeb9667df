"""How often bootstrap intervals cover the truth: ``python -m bench.bootstrap_coverage`` (minutes).

Simulates studies of known games, bootstraps each, and counts how often the 95 % interval of the
equilibrium payoff holds the true one: where the equilibrium is well separated from any other, with
instances that differ in how generous they are, and near a switch of equilibrium.
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
    """A game to simulate studies of.

    Attributes:
        payoffs: true means.
        generosity: standard deviation of what an instance adds to all its payoffs.
        paired: how the bootstrap is to draw.
        more: instances that the first cell has more than the others, which then lack a tenth of
            theirs.
        instances: of each cell.
        skewed: whether payoffs are the exponentials of normal numbers, on the same means.
    """

    payoffs: NDArray[np.float64]
    generosity: float
    paired: bool
    more: int = 0
    instances: int = INSTANCES
    skewed: bool = False


SEPARATED = np.array([[300.0, 360, 280], [340, 320, 280], [250, 250, 250]])
"""Half of each of the first two, with a payoff of 330; the third loses 80."""
ON_THE_EDGE = np.array([[300.0, 360, 340], [340, 320, 280], [329, 329, 250]])
"""The same, but the third loses only 1: less than the standard error of that."""
BY_A_THREAD = np.array([[330.0, 300], [329, 310]])
"""10/11 of the first with a payoff of 327, or only the second with 310 once 330 is under 329."""
DOMINATED = np.array([[100.0, 120], [20, 30]])
"""All of the first with a payoff of 100."""
GAMES = {
    "well separated, instances of their own": Known(SEPARATED, 0.0, paired=False),
    "well separated, shared instances, paired": Known(SEPARATED, 60.0, paired=True),
    "well separated, shared instances, drawn apart": Known(SEPARATED, 60.0, paired=False),
    "a third strategy on the edge": Known(ON_THE_EDGE, 0.0, paired=False),
    "an equilibrium that hangs by a thread": Known(BY_A_THREAD, 0.0, paired=False),
    "well separated, partly shared instances, paired": Known(SEPARATED, 60.0, paired=True,
    more=400),
    "well separated, partly shared instances, drawn apart": Known(
        SEPARATED, 60.0, paired=False, more=400
    ),
} | {
    f"well separated, {instances} shared instances, paired": Known(
        SEPARATED, 60.0, paired=True, instances=instances
    )
    for instances in (3, 5, 10, 20)
} | {
    f"one strategy best, lognormal, {instances} instances": Known(
        DOMINATED, 0.0, paired=True, instances=instances, skewed=True
    )
    for instances in (10, 26, 50, 200)
}  # fmt: skip


def simulated(known: Known, draw: np.random.Generator) -> EmpiricalGame:
    """One study: pairs on the same instances, payoffs with a standard deviation of 60 a match."""
    truth, size, total = known.payoffs, len(known.payoffs), known.instances + known.more
    gift = (
        draw.normal(0, known.generosity, (total, 1)) if known.generosity else np.zeros((total, 1))
    )
    cells = {}
    for row in range(size):
        for column in range(row, size):
            means = np.array([truth[row, column], truth[column, row]])
            instances = np.arange(total if row == column == 0 else known.instances)
            if known.more and row + column > 0:
                instances = np.sort(draw.permutation(instances)[: known.instances * 9 // 10])
            off = draw.normal(size=(len(instances), 2))
            sums = means * np.exp(off - 0.5) if known.skewed else means + 60 * off + gift[instances]
            if row == column:
                sums[:, 1] = sums[:, 0]
            cells[row, column] = Cell(sums, np.ones_like(sums), instances, len(instances))
    names = tuple(f"s{number}" for number in range(size))
    return EmpiricalGame(names, names, (), (GameSample("", total, cells),), (1.0,))


def covered(name: str, study: int) -> tuple[bool, bool]:
    """Whether one study's interval holds the true payoff, and has the true support itself."""
    known = GAMES[name]
    game = simulated(known, np.random.default_rng([study, list(GAMES).index(name)]))
    drawn = bootstrap_equilibrium(game, draws=DRAWS, seed=study, paired=known.paired)
    low, high = drawn.overall().select("low", "high").row(0)
    true = mene_mixtures(known.payoffs[None])
    estimate = mene_mixtures(game.payoffs()[None])
    inside = bool(low <= at_equilibrium(known.payoffs, true[0]) <= high)
    return inside, bool(((estimate > 0) == (true > 0)).all())


def main(studies: int, only: str = "") -> None:
    """Print the coverage of each game whose name holds a text."""
    for name in filter(lambda one: only in one, GAMES):
        found = np.array([covered(name, study) for study in range(studies)])
        share, same = found.mean(axis=0)
        error = np.sqrt(share * (1 - share) / studies)
        said = f"{share:.1%} ± {error:.1%} covered; {same:.0%} have the true support"
        print(f"{name}: {said}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else STUDIES, *sys.argv[2:])
