"""Simulated comparison of an even sampling design and one planned for the equilibrium."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from cheaptalk.equilibrium.empirical.cells import Cell, Key
from cheaptalk.equilibrium.empirical.empirical_games import EmpiricalGame
from cheaptalk.equilibrium.empirical.metrics import at_equilibrium
from cheaptalk.equilibrium.empirical.next_cells import Target, propose_cells
from cheaptalk.equilibrium.solvers.payoffs import Floats, symmetric_payoffs
from cheaptalk.equilibrium.solvers.symmetric import mene_mixtures
from cheaptalk.rules import counted
from cheaptalk.rules.display import brief


@dataclass(frozen=True)
class Designs:
    """The errors of two simulated sampling designs with the same number of matches.

    Attributes:
        even, planned: the root mean squared error of the equilibrium payoff with an even design,
            and with the design of :func:`.propose_cells`.
        even_mixture, planned_mixture: the same for the mixture, as Euclidean distance.
        switched: the share of pilots whose equilibrium lacked the true support.
    """

    matches: int
    even: float
    planned: float
    even_mixture: float
    planned_mixture: float
    switched: float

    def __repr__(self) -> str:
        errors = f"error {self.planned:.4g} as planned, {self.even:.4g} if spread evenly"
        return brief(self, f"{counted(self.matches, 'match')}, {errors}")

    @property
    def even_matches(self) -> float:
        """Return how many matches an even design needs to reach the planned design's payoff error.

        The error is assumed to decrease with the square root of the number of matches.
        """
        return self.matches * (self.even / self.planned) ** 2


def compare_designs(
    payoffs: npt.ArrayLike,
    deviations: npt.ArrayLike,
    *,
    pilot: int,
    budget: int,
    studies: int = 200,
    seed: int = 0,
    target: Target = "payoff",
) -> Designs:
    """Compare an even and a planned sampling design by simulating studies of a known game.

    Each study plays ``pilot`` matches in every cell, then ``budget`` more: evenly, or as
    :func:`.propose_cells` proposes after the pilot. Payoffs are normal and independent.

    Args:
        payoffs: the true means, shape (n, n).
        deviations: the standard deviations of one match's payoffs, shape (n, n), or a common one.
        pilot: the initial number of matches in every cell, >= 2.

    Raises:
        ValueError: the payoffs aren't a square matrix of finite numbers, or a number is invalid.
    """
    truth = symmetric_payoffs(payoffs)
    spread = np.broadcast_to(np.asarray(deviations, dtype=np.float64), truth.shape)
    if pilot < 2 or studies < 1 or not (spread >= 0).all():
        raise ValueError("pilot must be 2 or more, studies 1 or more, and deviations 0 or more")
    draw = np.random.default_rng(seed)
    game = EmpiricalGame.of_payoffs(truth)
    means = np.empty((2, studies, *truth.shape))
    pilots = np.empty((studies, *truth.shape))
    for study in range(studies):
        begun = _played(game, dict.fromkeys(game.keys, pilot), truth, spread, draw)
        even, remainder = divmod(budget, len(game.keys))
        evenly = {key: even + (index < remainder) for index, key in enumerate(game.keys)}
        proposed = propose_cells(begun, budget, target=target, paired=False).cells
        planned = {
            (game.labels.index(row), game.labels.index(column)): added
            for row, column, added in proposed.select("row", "column", "add_instances").iter_rows()
        }
        pilots[study] = begun.payoffs()
        for index, design in enumerate((evenly, planned)):
            extra = _played(game, design, truth, spread, draw)
            counts = begun.counts(), extra.counts()
            gained = np.where(counts[1] > 0, extra.payoffs(), 0)
            total_payoffs = counts[0] * begun.payoffs() + counts[1] * gained
            means[index, study] = total_payoffs / (counts[0] + counts[1])
    true = mene_mixtures(truth[None])
    worth = at_equilibrium(truth, true[0])
    equilibria = [mene_mixtures(design_payoffs) for design_payoffs in means]
    differences = [
        *(payoff - worth for payoff in map(at_equilibrium, means, equilibria)),
        *(np.linalg.norm(x - true, axis=1) for x in equilibria),
    ]
    switched = ((mene_mixtures(pilots) > 0) != (true > 0)).any(axis=1).mean()
    total = pilot * len(game.keys) + budget
    errors = [float(np.sqrt(np.mean(difference**2))) for difference in differences]
    return Designs(total, errors[0], errors[1], errors[2], errors[3], float(switched))


def _played(
    game: EmpiricalGame,
    matches: Mapping[Key, int],
    truth: Floats,
    spread: Floats,
    draw: np.random.Generator,
) -> EmpiricalGame:
    """Simulate matches in every cell, each on its own instance."""
    cells = {}
    for (row, column), size in matches.items():
        pair = [(row, column), (column, row)]
        sums = np.column_stack([draw.normal(truth[key], spread[key], size) for key in pair])
        if row == column:
            sums[:, 1] = sums[:, 0]
        cells[row, column] = Cell(sums, np.ones((size, 2)), np.arange(size), size)
    return replace(game, samples=(replace(game.samples[0], cells=cells),))
