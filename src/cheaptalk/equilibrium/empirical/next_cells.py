"""Selection of the cells in which further matches most reduce an equilibrium's uncertainty.

To first order, for a fixed support of the equilibrium x, an error dA in the payoffs changes x and
its payoff v by the solution of ``A dx - 1 dv = -dA x, 1' dx = 0`` on the support. The contribution
of instance t to the target through cell c is then e_ct / d_c, where d_c is the number of instances
of the cell. The variance is the sum over pairs of cells of their covariance per instance, times the
number of shared instances, over d_c d_c'.

If every cell has separate instances, the variance is the sum of a_c / d_c. For a given number of
matches, it is minimal if d_c is proportional to the square root of a_c over the matches per
instance (Neyman's allocation; Cochran 1977, Sampling Techniques, section 5.5), except for cells
that already have more. If cells share instances, new instances are also shared: the best design
among those that add the same instances to the k most variable cells, and to all cells that tie with
these by rule.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.linalg import block_diag
from scipy.optimize import brentq
from scipy.sparse.csgraph import connected_components

from cheaptalk.equilibrium.empirical.bootstrap import SHARE, check_samples, shares_instances
from cheaptalk.equilibrium.empirical.cells import Cell, CellName, GameSample, Key
from cheaptalk.equilibrium.empirical.empirical_games import EmpiricalGame
from cheaptalk.equilibrium.empirical.metrics import at_equilibrium
from cheaptalk.equilibrium.solvers.payoffs import (
    TIE,
    Floats,
    Integers,
    as_numbers,
    symmetric_payoffs,
)
from cheaptalk.equilibrium.solvers.symmetric import mene_mixtures
from cheaptalk.printing.printout import Printed, Printout
from cheaptalk.rules import CheaptalkError, WrongValue, counted
from cheaptalk.rules.display import brief

ROUNDING = 1e-12
"""A total variance below this share of the cells' variances counts as a rounding error."""
Target = Literal["payoff", "mixture", "regret"]
QUANTITY: dict[Target, str] = {
    "payoff": "the payoff",
    "mixture": "the mixture (root of the variances summed over strategies)",
    "regret": "all regrets (root of the variances summed over strategies)",
}
"""The quantity of the standard error, by target."""


@dataclass(frozen=True, eq=False, repr=False)
class NextCells(Printed):
    """A proposed allocation of matches to cells, and its expected gain.

    Attributes:
        cells: one row per cell, the most matches first: ``row``, ``column``, ``sample``,
            ``instances`` and ``matches`` (so far), ``variance`` (of the target if only this cell
            were uncertain, as a share of the sum), ``add_instances`` and ``add_matches``
            (proposed), ``even_matches`` (in the even design).
        error: the target's current standard error, in payoff units; for a mixture or regrets, the
            root of the sum of variances over strategies.
        planned: the expected standard error after the proposed matches.
        even: the same after an even design, with equal numbers of instances in all cells.
        even_matches: the size of an even design that reaches ``planned``.
    """

    target: Target
    cells: pl.DataFrame
    error: float
    planned: float
    even: float
    even_matches: float
    paired: bool

    def printout(self) -> Printout:
        return Printout.of(str(self).partition("\n")[0], self.cells)

    def __str__(self) -> str:
        total = int(self.cells["add_matches"].sum())
        gain = (
            f"Standard error of {QUANTITY[self.target]}: {self.error:.4g} now, "
            f"{self.planned:.4g} after {total:,} matches as proposed, {self.even:.4g} if spread "
            f"evenly (which would need {self.even_matches:,.0f})"
        )
        cells = self.cells.filter(pl.col("add_instances") > 0)
        names = map(CellName._make, cells.select(CellName._fields).iter_rows())
        lines = zip(names, cells["add_matches"], strict=True)
        return "\n".join([gain, *(f"{cell}: {matches:,} matches" for cell, matches in lines)])


@dataclass(frozen=True, eq=False)
class TargetVariance:
    """The variance of an estimate as a function of the number of instances in each cell.

    ``covariances`` are those of an instance's contributions through each pair of cells, summed over
    targets; 0 for cells that share no instances. ``shared`` contains the numbers of instances that
    the cells share. Both have shape (cells, cells).
    """

    covariances: Floats
    shared: Floats
    instances: Integers

    @classmethod
    def of_game(cls, game: EmpiricalGame, influence: Floats, *, paired: bool) -> "TargetVariance":
        """Estimate the variance from the target's derivatives with respect to the payoffs."""
        parts = [
            _covariances(sample, weight * influence, paired)
            for sample, weight in zip(game.samples, game.weights, strict=True)
        ]
        covariances, shared = (block_diag(*blocks) for blocks in zip(*parts, strict=True))
        return cls(covariances, shared, np.diag(shared).astype(np.int64))

    def error(self, added: Floats | Integers) -> float:
        """Return the estimate's standard error after adding instances to the cells."""
        total = self.instances + added
        shared = self.shared + np.minimum.outer(added, added)
        parts = self.covariances * shared / np.multiply.outer(total, total)
        variance = float(parts.sum())
        return float(np.sqrt(variance)) if variance > ROUNDING * np.trace(parts) else 0.0


def propose_cells(
    game: EmpiricalGame, budget: int, *, target: Target = "payoff", paired: bool | None = None
) -> NextCells:
    """Propose the cells whose matches most reduce the uncertainty of the equilibrium.

    The support is assumed to be the true one. Therefore ``payoff`` and ``mixture`` propose nothing
    for strategies outside it, while ``regret`` also tests whether they belong to it.

    Args:
        budget: the number of further matches, >= 1; only complete instances are proposed.
        target: ``payoff`` at equilibrium, the ``mixture``, or the ``regret`` of all strategies.
        paired: whether cells share instances, including the new ones; the default is that of
            :func:`.bootstrap_equilibrium`.

    Raises:
        CheaptalkError: a cell is missing or has fewer than two instances, the game has no samples,
            or the target has no variance.
        WrongValue: the budget is less than 1.
    """
    if budget < 1:
        raise WrongValue(f"budget must be at least 1 match, not {budget}")
    check_samples(game)
    is_paired = shares_instances(game) if paired is None else paired
    positions = [(index, *key) for index, sample in enumerate(game.samples) for key in sample.cells]
    cells = [game.samples[index].cells[row, column] for index, row, column in positions]
    variance = TargetVariance.of_game(game, gradients(game.payoffs(), target), paired=is_paired)
    variances, instances = np.diag(variance.covariances), variance.instances
    if not variance.error(np.zeros(len(cells))):
        raise CheaptalkError(
            "The equilibrium is known exactly: its estimate does not depend on the instances, so "
            "further matches cannot improve it"
        )
    costs = np.ceil([cell.matches / len(cell.instances) for cell in cells]).astype(np.int64)
    if is_paired:
        groups = [tied_cells(sample) + 1_000_000 * i for i, sample in enumerate(game.samples)]
        designs = shared_designs(variances, costs, budget, np.concatenate(groups))
        added = min(designs, key=variance.error)
    else:
        added = allocated(variances, instances, costs, budget)

    def evenly(matches: float) -> Floats:
        return np.full(len(cells), matches / costs.sum())

    error, planned = variance.error(np.zeros(len(cells))), variance.error(added)
    table = pl.DataFrame(
        {
            "row": [game.labels[row] for _, row, _ in positions],
            "column": [game.labels[column] for _, _, column in positions],
            "sample": [game.samples[index].name for index, _, _ in positions],
            "instances": instances,
            "matches": [cell.matches for cell in cells],
            "variance": variances / instances / (variances / instances).sum(),
            "add_instances": added,
            "add_matches": added * costs,
            "even_matches": evenly(budget) * costs,
        }
    ).sort("add_matches", "variance", descending=True, maintain_order=True)
    return NextCells(
        target,
        table,
        error,
        planned,
        variance.error(evenly(budget)),
        _needed(lambda matches: variance.error(evenly(matches)) - planned, budget),
        is_paired,
    )


def _needed(excess: Callable[[float], float], budget: int) -> float:
    """Return the budget at which ``excess``, a decreasing function of the budget, is zero."""
    if excess(0.0) <= 0:
        return 0.0
    top = float(budget)
    while excess(top) > 0:
        top *= 2
    return float(brentq(excess, 0.0, top))


def gradients(payoffs: Floats, target: Target) -> Floats:
    """Return the targets' derivatives by ``payoffs[i, j]``, for a fixed support; (targets, n, n).

    There is one target for the payoff, and one per strategy for mixture and regret.

    Raises:
        CheaptalkError: the equilibrium is one of a continuum, so that it has no derivative.
    """
    size = len(payoffs)
    x = mene_mixtures(payoffs[None])[0]
    inside = np.flatnonzero(x > SHARE)
    count = len(inside)
    system = np.zeros((count + 1, count + 1))
    system[:count, :count] = payoffs[np.ix_(inside, inside)]
    system[:count, count], system[count, :count] = -1, 1
    if np.linalg.matrix_rank(system) <= count:
        raise CheaptalkError("The equilibrium is one of a continuum; it has no standard error")
    moved = np.zeros((size + 1, size))  # of x, then v, by a shortfall of each strategy's payoff
    moved[np.ix_(np.append(inside, size), inside)] = -np.linalg.inv(system)[:, :count]
    by_target = {
        "payoff": moved[-1:],
        "mixture": moved[:-1],
        "regret": moved[-1] - payoffs @ moved[:-1] - np.eye(size),
    }
    return np.asarray(by_target[target][:, :, None] * x)


def allocated(variances: Floats, instances: Integers, costs: Integers, budget: int) -> Integers:
    """Allocate a budget to cells to reduce variance; return the instances to add to each cell.

    ``variances`` (not all 0) and ``costs`` (in matches) are those of one instance of each cell, and
    ``instances`` (>= 1) the current numbers. The budget that remains after rounding goes to the
    cells that lost most by rounding.
    """
    weights = np.sqrt(variances / costs)
    full = np.divide(instances, weights, out=np.full(len(instances), np.inf), where=weights > 0)
    order = np.argsort(full, kind="stable")
    order = order[np.isfinite(full[order])]
    level = (budget + np.cumsum((costs * instances)[order])) / np.cumsum((costs * weights)[order])
    last = np.flatnonzero(full[order] < level)[-1]
    ideal = np.maximum(0, weights * level[last] - instances)
    added: Integers = np.floor(ideal + 1e-9).astype(np.int64)
    remaining = budget - int((added * costs).sum())
    for cell in np.argsort(added - ideal, kind="stable"):
        if ideal[cell] > added[cell] and costs[cell] <= remaining:
            added[cell] += 1
            remaining -= int(costs[cell])
    return added


def shared_designs(
    variances: Floats, costs: Integers, budget: int, groups: Integers
) -> list[Integers]:
    """Return a design for each k that adds the same instances to the k most variable cells.

    Cells that tie get the same instances, so that the tie persists. The remaining budget isn't
    spent, because instances that only some of the cells share can increase uncertainty.
    """
    order = np.argsort(-variances, kind="stable")[: np.count_nonzero(variances > 0)]
    designs = []
    for count in range(1, len(order) + 1):
        chosen = np.isin(groups, groups[order[:count]])
        added = np.zeros(len(costs), dtype=np.int64)
        added[chosen] = budget // costs[chosen].sum()
        designs.append(added)
    return designs


def _covariances(sample: GameSample, influence: Floats, paired: bool) -> tuple[Floats, Floats]:
    """Return the covariances between one sample's cells, and their numbers of shared instances."""
    size = len(sample.cells)
    parts = []
    for (row, column), cell in sample.cells.items():
        reverse = influence[:, column, row] * (row != column)  # by itself, a player has one payoff
        parts.append(cell.deviations[:, :2] @ np.stack([influence[:, row, column], reverse]))
    if not paired:
        sizes = np.array([len(part) for part in parts])
        variances = [np.square(part).sum() / (len(part) - 1) for part in parts]
        return np.diag(variances), np.diag(sizes).astype(float)
    added = np.zeros((size, sample.instances, len(influence)))
    for index, (cell, part) in enumerate(zip(sample.cells.values(), parts, strict=True)):
        added[index, cell.instances] = part
    flat = added.reshape(size, -1)
    shared = sample.played @ sample.played.T
    return flat @ flat.T / np.maximum(shared - 1, 1), shared


def tied_cells(sample: GameSample) -> Integers:
    """Return a group number for each cell; cells with tied payoffs have the same number.

    Two replies to a strategy tie if their payoffs are equal on all of at least two instances that
    their cells share. If the cells had different instances, the tie would break by chance.
    """
    size = len(sample.cells)
    replies: dict[int, list[tuple[int, Floats]]] = {}
    for index, ((row, column), cell) in enumerate(sample.cells.items()):
        payoffs = np.full((sample.instances, 2), np.nan)
        payoffs[cell.instances] = cell.sums[:, :2] / cell.weights[:, :2]
        replies.setdefault(column, []).append((index, payoffs[:, 0]))
        if row != column:
            replies.setdefault(row, []).append((index, payoffs[:, 1]))
    tied = np.zeros((size, size), dtype=bool)
    for cells in replies.values():
        for (cell_1, payoffs_1), (cell_2, payoffs_2) in combinations(cells, 2):
            gaps = np.abs(payoffs_1 - payoffs_2)
            gaps = gaps[np.isfinite(gaps)]
            tie = TIE * np.nanmax(np.abs(payoffs_1))
            tied[cell_1, cell_2] = len(gaps) >= 2 and gaps.max() <= tie
    return np.asarray(connected_components(tied, directed=False)[1].astype(np.int64))


def broken_ties(sample: GameSample) -> int:
    """Count the cells in groups of tied cells that were not all played on the same instances."""
    groups, played = tied_cells(sample), sample.played
    firsts = {group: played[index] for index, group in reversed(list(enumerate(groups)))}
    broken = {g for index, g in enumerate(groups) if (played[index] != firsts[g]).any()}
    return sum(group in broken for group in groups)


@dataclass(frozen=True, repr=False)
class Designs(Printed):
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
        WrongValue: the payoffs aren't a square matrix of finite numbers, or a number is invalid.
    """
    truth = symmetric_payoffs(payoffs)
    spread = np.broadcast_to(as_numbers(deviations, "deviations"), truth.shape)
    if pilot < 2 or studies < 1 or not (spread >= 0).all():
        raise WrongValue("pilot must be 2 or more, studies 1 or more, and deviations 0 or more")
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
