"""Where to play next: which cells' matches would make an equilibrium most certain.

To first order, with the support of the equilibrium x as it is, an error dA in the payoffs moves x
and its payoff v by the solution of ``A dx - 1 dv = -dA x, 1' dx = 0`` on the support. What deal t
adds to what is aimed at, through cell c, is then e_ct / d_c, where d_c is the number of deals of
the cell, and the variance is a sum over pairs of cells of their covariance a deal, times the number
of deals that they share, over d_c d_c'.

Where every cell has deals of its own, only a_c / d_c is left, and the sum is least for a given
number of matches where d_c is proportional to the square root of a_c over the matches that a deal
takes (Neyman's allocation; Cochran 1977, Sampling Techniques, section 5.5), but for cells that have
more than that already. Where cells share deals, new deals are taken to be shared as well: the same
ones go to the cell that varies most, to the two that do, or to more, whatever is best, and to all
cells that tie with these by rule.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import polars as pl
from scipy.linalg import block_diag
from scipy.optimize import brentq
from scipy.sparse.csgraph import connected_components

from cheaptalk.equilibrium.empirical.bootstrap import SHARE, check_samples, shares_deals
from cheaptalk.equilibrium.empirical.cells import GameSample
from cheaptalk.equilibrium.empirical.empirical_games import EmpiricalGame
from cheaptalk.equilibrium.solvers.payoffs import TIE, Floats, Integers
from cheaptalk.equilibrium.solvers.symmetric import mene_mixtures
from cheaptalk.rules import CheaptalkError
from cheaptalk.rules.display import Printed

ROUNDING = 1e-12
"""The share of the cells' own variances up to which what is left of them all is rounding."""
Target = Literal["payoff", "mixture", "regret"]
QUANTITY: dict[Target, str] = {
    "payoff": "the payoff",
    "mixture": "the mixture (root of the variances summed over strategies)",
    "regret": "all regrets (root of the variances summed over strategies)",
}
"""What the standard error is of, by target."""


@dataclass(frozen=True, eq=False, repr=False)
class NextCells(Printed):
    """How to spread matches over cells, and what is gained by it.

    Attributes:
        target: what becomes more certain.
        cells: one row a cell, the most matches first: ``row``, ``column``, ``sample``, ``deals``
            and ``matches`` (so far), ``variance`` (of the target if this cell alone were
            uncertain, as a share of the sum of these), ``add_deals`` and ``add_matches``
            (proposed), ``even_matches`` (of the even design).
        error: the target's standard error now, in payoff units; of a mixture or of regrets the
            root of the variances summed over strategies.
        planned: what it is expected to be after the proposed matches.
        even: the same after as many matches spread evenly: the same number of deals in all cells.
        even_matches: how many evenly spread matches would make it what is ``planned``.
        paired: whether cells share deals, and new deals are the same for all cells that get them.
    """

    target: Target
    cells: pl.DataFrame
    error: float
    planned: float
    even: float
    even_matches: float
    paired: bool

    def __str__(self) -> str:
        """The gain in one line, then the cells to play."""
        total = int(self.cells["add_matches"].sum())
        gain = (
            f"Standard error of {QUANTITY[self.target]}: {self.error:.4g} now, "
            f"{self.planned:.4g} after "
            f"{total:,} matches as proposed, {self.even:.4g} if spread evenly "
            f"(which would need {self.even_matches:,.0f})"
        )
        lines = [gain]
        for cell in self.cells.filter(pl.col("add_deals") > 0).iter_rows(named=True):
            place = f" in {cell['sample']}" if cell["sample"] else ""
            lines.append(
                f"{cell['row']} / {cell['column']}{place}: {cell['add_matches']:,} matches"
            )
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class TargetVariance:
    """What is known of a target's variance from the deals played.

    Attributes:
        covariances: of what one deal adds through each two cells, summed over targets, shape
            (cells, cells); 0 for cells that do not share deals. The diagonal is of each cell alone.
        shared: how many deals each two cells share, of the same shape.
        deals: of each cell, shape (cells,).
    """

    covariances: Floats
    shared: Floats
    deals: Integers

    @classmethod
    def of(cls, game: EmpiricalGame, influence: Floats, *, paired: bool) -> "TargetVariance":
        """What the cells of all samples say of targets that move so with payoffs."""
        parts = [
            _covariances(sample, weight * influence, paired)
            for sample, weight in zip(game.samples, game.weights, strict=True)
        ]
        covariances, shared = (block_diag(*blocks) for blocks in zip(*parts, strict=True))
        return cls(covariances, shared, np.diag(shared).astype(np.int64))

    def error(self, more: Floats | Integers) -> float:
        """The standard error once each cell has so many deals more, the same for all that do."""
        total = self.deals + more
        shared = self.shared + np.minimum.outer(more, more)
        parts = self.covariances * shared / np.multiply.outer(total, total)
        variance = float(parts.sum())
        return float(np.sqrt(variance)) if variance > ROUNDING * np.trace(parts) else 0.0


def propose_cells(
    game: EmpiricalGame, budget: int, *, target: Target = "payoff", paired: bool | None = None
) -> NextCells:
    """The cells whose matches reduce most the uncertainty of the maximum-entropy equilibrium.

    The support is taken to be the true one. ``payoff`` and ``mixture`` therefore propose nothing
    for strategies outside it; ``regret`` also asks how sure it is that they do not belong to it.

    Args:
        budget: matches to spread, >= 1; only whole deals are proposed.
        target: ``payoff`` at equilibrium, the ``mixture``, or the ``regret`` of all strategies.
        paired: whether equal deals of several cells are the same, so that what they add to one
            cell goes with what they add to the next, and new deals are to be shared too; None: as
            in :func:`.bootstrap_equilibrium`.

    Raises:
        CheaptalkError: a cell is missing or thin, the game has no samples, or no deal moves the
            target.
        ValueError: the budget is less than 1.
    """
    if budget < 1:
        raise ValueError(f"A budget is at least 1 match, not {budget}")
    check_samples(game)
    together = shares_deals(game) if paired is None else paired
    places = [(at, *key) for at, sample in enumerate(game.samples) for key in sample.cells]
    cells = [game.samples[at].cells[row, column] for at, row, column in places]
    known = TargetVariance.of(game, gradients(game.payoffs(), target), paired=together)
    variances, deals = np.diag(known.covariances), known.deals
    if not known.error(np.zeros(len(cells))):
        raise CheaptalkError(
            "The equilibrium is known exactly: no deal moves it, through no cell or through "
            "several that cancel out"
        )
    costs = np.ceil([cell.matches / len(cell.deals) for cell in cells]).astype(np.int64)
    if together:
        groups = [tied_cells(sample) + 1_000_000 * at for at, sample in enumerate(game.samples)]
        designs = shared_designs(variances, costs, budget, np.concatenate(groups))
        added = min(designs, key=known.error)
    else:
        added = allocated(variances, deals, costs, budget)

    def evenly(matches: float) -> Floats:
        return np.full(len(cells), matches / costs.sum())

    error, planned = known.error(np.zeros(len(cells))), known.error(added)
    table = pl.DataFrame(
        {
            "row": [game.labels[row] for _, row, _ in places],
            "column": [game.labels[column] for _, _, column in places],
            "sample": [game.samples[at].name for at, _, _ in places],
            "deals": deals,
            "matches": [cell.matches for cell in cells],
            "variance": variances / deals / (variances / deals).sum(),
            "add_deals": added,
            "add_matches": added * costs,
            "even_matches": evenly(budget) * costs,
        }
    ).sort("add_matches", "variance", descending=True, maintain_order=True)
    return NextCells(
        target, table, error, planned, known.error(evenly(budget)),
        _needed(lambda matches: known.error(evenly(matches)) - planned, budget), together,
    )  # fmt: skip


def _needed(excess: Callable[[float], float], budget: int) -> float:
    """The budget at which an error that falls with it to 0 reaches what is wanted."""
    if excess(0.0) <= 0:
        return 0.0
    top = float(budget)
    while excess(top) > 0:
        top *= 2
    return float(brentq(excess, 0.0, top))


def gradients(payoffs: Floats, target: Target) -> Floats:
    """How the targets move with each payoff, the support of the equilibrium held fixed.

    Args:
        payoffs: shape (n, n).
        target: see :func:`propose_cells`.

    Returns:
        The derivative of each target by ``payoffs[i, j]``, shape (targets, n, n): one target for
        the payoff, one a strategy for mixture and regret.

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


def allocated(variances: Floats, deals: Integers, costs: Integers, budget: int) -> Integers:
    """Deals to add to each cell so that the sum of variance / deals becomes least.

    Args:
        variances: what one deal contributes, shape (cells,), not all 0.
        deals: played so far, shape (cells,), >= 1.
        costs: matches that a deal takes, shape (cells,).
        budget: matches.

    Returns:
        Shape (cells,). What is left of the budget once deals are whole goes to the cells that lost
        most by it, as far as it lasts.
    """
    wanted = np.sqrt(variances / costs)
    full = np.divide(deals, wanted, out=np.full(len(deals), np.inf), where=wanted > 0)
    order = np.argsort(full, kind="stable")
    order = order[np.isfinite(full[order])]
    level = (budget + np.cumsum((costs * deals)[order])) / np.cumsum((costs * wanted)[order])
    last = np.flatnonzero(full[order] < level)[-1]
    ideal = np.maximum(0, wanted * level[last] - deals)
    added: Integers = np.floor(ideal + 1e-9).astype(np.int64)
    left = budget - int((added * costs).sum())
    for cell in np.argsort(added - ideal, kind="stable"):
        if ideal[cell] > added[cell] and costs[cell] <= left:
            added[cell] += 1
            left -= int(costs[cell])
    return added


def shared_designs(
    variances: Floats, costs: Integers, budget: int, groups: Integers
) -> list[Integers]:
    """The same new deals for the cell that varies most, for the two that do, and so on.

    With a cell go all that tie with it, so that the tie stays one.

    Args:
        variances, costs, budget: as for :func:`allocated`.
        groups: which cells tie, as of :func:`.tied_cells`, shape (cells,).

    Returns:
        Deals to add to each cell, for each number of cells. What is left of the budget is not
        spent: deals that some of the cells alone have may cost more certainty than they bring.
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
    """The covariances and shared deals of the cells of one sample; see :class:`TargetVariance`."""
    size = len(sample.cells)
    parts = []
    for (row, column), cell in sample.cells.items():
        other = influence[:, column, row] * (row != column)  # by itself, a player has one payoff
        parts.append(cell.deviations[:, :2] @ np.stack([influence[:, row, column], other]))
    if not paired:
        sizes = np.array([len(part) for part in parts])
        own = [np.square(part).sum() / (len(part) - 1) for part in parts]
        return np.diag(own), np.diag(sizes).astype(float)
    added = np.zeros((size, sample.deals, len(influence)))
    for at, (cell, part) in enumerate(zip(sample.cells.values(), parts, strict=True)):
        added[at, cell.deals] = part
    flat = added.reshape(size, -1)
    shared = sample.played @ sample.played.T
    return flat @ flat.T / np.maximum(shared - 1, 1), shared


def tied_cells(sample: GameSample) -> Integers:
    """Cells that tie by rule, as those of a player who walks away do, not by chance.

    Two replies to a strategy are tied if they get the same on every deal that their cells share,
    of two at least. Once their cells have different deals, the tie is lost to noise.

    Returns:
        The number of each cell's group, shape (cells,).
    """
    size = len(sample.cells)
    replies: dict[int, list[tuple[int, Floats]]] = {}
    for at, ((row, column), cell) in enumerate(sample.cells.items()):
        gets = np.full((sample.deals, 2), np.nan)
        gets[cell.deals] = cell.sums[:, :2] / cell.weights[:, :2]
        replies.setdefault(column, []).append((at, gets[:, 0]))
        if row != column:
            replies.setdefault(row, []).append((at, gets[:, 1]))
    tied = np.zeros((size, size), dtype=bool)
    for cells in replies.values():
        for (one, first), (other, second) in combinations(cells, 2):
            apart = np.abs(first - second)
            apart = apart[np.isfinite(apart)]
            tied[one, other] = len(apart) >= 2 and apart.max() <= TIE * np.nanmax(np.abs(first))
    return np.asarray(connected_components(tied, directed=False)[1].astype(np.int64))


def broken_ties(sample: GameSample) -> int:
    """How many cells tie with another that was not played on the same deals."""
    groups, played = tied_cells(sample), sample.played
    firsts = {group: played[at] for at, group in reversed(list(enumerate(groups)))}
    apart = {g for at, g in enumerate(groups) if (played[at] != firsts[g]).any()}
    return sum(group in apart for group in groups)
