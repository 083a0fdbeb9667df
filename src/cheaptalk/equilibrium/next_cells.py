"""Where to play next: which cells' matches would make an equilibrium most certain.

To first order, with the support of the equilibrium x as it is, an error dA in the payoffs moves x
and its payoff v by the solution of ``A dx - 1 dv = -dA x, 1' dx = 0`` on the support. The variance
of what is aimed at is then a sum over cells of a_c / d_c, where d_c is the number of deals in cell
c, and it is least for a given number of matches where d_c is proportional to the square root of
a_c over the matches that a deal takes (Neyman's allocation; Cochran 1977, Sampling Techniques,
section 5.5), but for cells that have more than that already.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from scipy.optimize import brentq

from cheaptalk.equilibrium.cells import Cell, Integers
from cheaptalk.equilibrium.drawing import check_samples
from cheaptalk.equilibrium.games import EmpiricalGame
from cheaptalk.equilibrium.payoffs import Floats
from cheaptalk.equilibrium.symmetric import mene_mixtures
from cheaptalk.rules import CheaptalkError

Target = Literal["payoff", "mixture", "regret"]
SHARE = 1e-9
"""Strategies played less than this are outside the support."""


@dataclass(frozen=True, eq=False)
class NextCells:
    """How to spread matches over cells, and what is gained by it.

    Attributes:
        target: what becomes more certain.
        cells: one row a cell, the most matches first: ``row``, ``column``, ``sample``, ``deals``
            and ``matches`` (so far), ``variance`` (its share of the target's), ``add_deals`` and
            ``add_matches`` (proposed).
        error: the target's standard error now, in payoff units; of a mixture or of regrets the
            root of the summed variances.
        planned: what it is expected to be after the proposed matches.
        even: the same after as many matches spread evenly over all cells.
        even_matches: how many evenly spread matches would make it what is ``planned``.
    """

    target: Target
    cells: pl.DataFrame
    error: float
    planned: float
    even: float
    even_matches: float

    def __str__(self) -> str:
        """The gain in one line, then the cells to play."""
        total = int(self.cells["add_matches"].sum())
        gain = (
            f"Standard error of the {self.target}: {self.error:.4g} now, {self.planned:.4g} after "
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


def propose_cells(game: EmpiricalGame, budget: int, *, target: Target = "payoff") -> NextCells:
    """The cells whose matches reduce most the uncertainty of the maximum-entropy equilibrium.

    Cells are taken to be independent, and the support to be the true one. ``payoff`` and
    ``mixture`` therefore propose nothing for strategies outside it; ``regret`` also asks how sure
    it is that they do not belong to it.

    Args:
        budget: matches to spread, >= 1; only whole deals are proposed.
        target: ``payoff`` at equilibrium, the ``mixture``, or the ``regret`` of all strategies.

    Raises:
        CheaptalkError: a cell is missing or thin, the game has no samples, or no cell that counts
            varies.
        ValueError: the budget is less than 1.
    """
    if budget < 1:
        raise ValueError(f"A budget is at least 1 match, not {budget}")
    check_samples(game)
    influence = gradients(game.payoffs(), target)
    places = [(at, *key) for at, sample in enumerate(game.samples) for key in sample.cells]
    cells = [game.samples[at].cells[row, column] for at, row, column in places]
    weights = [game.weights[at] for at, _, _ in places]
    variances = np.array(
        [
            _variance(cell, weight * _slopes(influence, row, column))
            for cell, weight, (_, row, column) in zip(cells, weights, places, strict=True)
        ]
    )
    if not variances.any():
        raise CheaptalkError("The equilibrium is known exactly: no cell that counts for it varies")
    deals = np.array([len(cell.deals) for cell in cells])
    costs = np.ceil([cell.matches / len(cell.deals) for cell in cells]).astype(np.int64)
    added = allocated(variances, deals, costs, budget)

    def error(more: Floats) -> float:
        return float(np.sqrt((variances / (deals + more)).sum()))

    def evenly(matches: float) -> Floats:
        return np.asarray(matches / (len(cells) * costs))

    planned = error(added.astype(float))
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
        }
    ).sort("add_matches", "variance", descending=True, maintain_order=True)
    return NextCells(
        target, table, error(np.zeros(len(cells))), planned, error(evenly(budget)),
        _needed(lambda matches: error(evenly(matches)) - planned, budget),
    )  # fmt: skip


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


def _slopes(influence: Floats, row: int, column: int) -> Floats:
    """Derivatives of the targets by both payoffs of a cell; a player by itself has one payoff."""
    other = influence[:, column, row] * (row != column)
    return np.column_stack([influence[:, row, column], other])


def _variance(cell: Cell, slopes: Floats) -> float:
    """What one deal of a cell contributes to the targets' variance, summed over targets."""
    return max(0.0, float(np.einsum("ki,ij,kj->", slopes, cell.spread[:2, :2], slopes)))


def _needed(excess: Callable[[float], float], budget: int) -> float:
    """The budget at which an error that falls with it to 0 reaches what is wanted."""
    top = float(budget)
    while excess(top) > 0:
        top *= 2
    return float(brentq(excess, 0.0, top))


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
