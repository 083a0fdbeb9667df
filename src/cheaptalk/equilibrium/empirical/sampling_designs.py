"""Designs of a study compared on a game that is known: even, or aimed at the equilibrium."""

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
    """How far simulated studies of as many matches were from the truth.

    Attributes:
        matches: of each study.
        even, planned: root mean squared error of the equilibrium payoff with matches spread
            evenly, and with the budget spent as :func:`.propose_cells` proposes.
        even_mixture, planned_mixture: the same of the mixture, as Euclidean distance.
        switched: share of pilots whose equilibrium did not have the true support.
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
        """How many matches spread evenly give the planned design's error of the payoff.

        By the law that errors fall with the square root of the number of matches.
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
    """Simulate studies of a known game that begin alike and spend what is left in two ways.

    Each plays ``pilot`` matches in every cell, then ``budget`` more: spread evenly, or as
    :func:`.propose_cells` proposes from the pilot. Payoffs of a match are normal and independent.

    Args:
        payoffs: true means, shape (n, n).
        deviations: standard deviations of one match's payoffs, shape (n, n), or one for all.
        pilot: matches in every cell to begin with, >= 2.
        budget: matches to spend after that.
        studies: how many are simulated.
        seed: of the simulation.
        target: what the proposals aim at.

    Raises:
        ValueError: the payoffs are no square matrix of finite numbers, or a number makes no sense.
    """
    truth = symmetric_payoffs(payoffs)
    spread = np.broadcast_to(np.asarray(deviations, dtype=np.float64), truth.shape)
    if pilot < 2 or studies < 1 or not (spread >= 0).all():
        raise ValueError("Designs need a pilot of at least 2 matches, a study, deviations >= 0")
    draw = np.random.default_rng(seed)
    game = EmpiricalGame.of_payoffs(truth)
    means = np.empty((2, studies, *truth.shape))
    pilots = np.empty((studies, *truth.shape))
    for study in range(studies):
        begun = _played(game, dict.fromkeys(game.keys, pilot), truth, spread, draw)
        even, rest = divmod(budget, len(game.keys))
        evenly = {key: even + (at < rest) for at, key in enumerate(game.keys)}
        proposed = propose_cells(begun, budget, target=target, paired=False).cells
        planned = {
            (game.labels.index(row), game.labels.index(column)): added
            for row, column, added in proposed.select("row", "column", "add_deals").iter_rows()
        }
        pilots[study] = begun.payoffs()
        for at, design in enumerate((evenly, planned)):
            more = _played(game, design, truth, spread, draw)
            counts = begun.counts(), more.counts()
            gained = np.where(counts[1] > 0, more.payoffs(), 0)
            both = counts[0] * begun.payoffs() + counts[1] * gained
            means[at, study] = both / (counts[0] + counts[1])
    true = mene_mixtures(truth[None])
    worth = at_equilibrium(truth, true[0])
    found = [mene_mixtures(some) for some in means]
    off = [at_equilibrium(some, x) - worth for some, x in zip(means, found, strict=True)]
    apart = [np.linalg.norm(x - true, axis=1) for x in found]
    switched = ((mene_mixtures(pilots) > 0) != (true > 0)).any(axis=1).mean()
    total = pilot * len(game.keys) + budget
    errors = [float(np.sqrt(np.mean(one**2))) for one in (*off, *apart)]
    return Designs(total, errors[0], errors[1], errors[2], errors[3], float(switched))


def _played(
    game: EmpiricalGame,
    matches: Mapping[Key, int],
    truth: Floats,
    spread: Floats,
    draw: np.random.Generator,
) -> EmpiricalGame:
    """Simulated matches in every cell, each on a deal of its own."""
    cells = {}
    for (row, column), size in matches.items():
        pair = [(row, column), (column, row)]
        sums = np.column_stack([draw.normal(truth[at], spread[at], size) for at in pair])
        if row == column:
            sums[:, 1] = sums[:, 0]
        cells[row, column] = Cell(sums, np.ones((size, 2)), np.arange(size), size)
    return replace(game, samples=(replace(game.samples[0], cells=cells),))
