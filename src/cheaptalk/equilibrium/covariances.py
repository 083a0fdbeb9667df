"""How what deals add to the cells of a game varies, and goes together where cells share deals."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.linalg import block_diag
from scipy.sparse.csgraph import connected_components

from cheaptalk.equilibrium.cells import Integers, Sample
from cheaptalk.equilibrium.games import EmpiricalGame
from cheaptalk.equilibrium.payoffs import Floats

ROUNDING = 1e-12
"""The share of the cells' own variances up to which what is left of them all is rounding."""

TIE = 1e-9
"""Payoffs are tied if they differ by no more than this share of the largest."""


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of a target's variance from the deals played.

    Attributes:
        covariances: of what one deal adds through each two cells, summed over targets, shape
            (cells, cells); 0 for cells that do not share deals.
        shared: how many deals each two cells share, of the same shape.
        deals: of each cell, shape (cells,).
    """

    covariances: Floats
    shared: Floats
    deals: Integers

    @classmethod
    def of(cls, game: EmpiricalGame, influence: Floats, *, paired: bool) -> "Known":
        """What the cells of all samples say of targets that move so with payoffs."""
        parts = [
            _covariances(sample, weight * influence, paired)
            for sample, weight in zip(game.samples, game.weights, strict=True)
        ]
        covariances, shared = (block_diag(*blocks) for blocks in zip(*parts, strict=True))
        return cls(covariances, shared, np.diag(shared).astype(np.int64))

    @property
    def variances(self) -> Floats:
        """What one deal adds to the variance through each cell alone, shape (cells,)."""
        return np.diag(self.covariances)

    def error(self, more: Floats | Integers) -> float:
        """The standard error once each cell has so many deals more, the same for all that do."""
        total = self.deals + more
        shared = self.shared + np.minimum.outer(more, more)
        parts = self.covariances * shared / np.multiply.outer(total, total)
        variance = float(parts.sum())
        return float(np.sqrt(variance)) if variance > ROUNDING * np.trace(parts) else 0.0


def _covariances(sample: Sample, influence: Floats, paired: bool) -> tuple[Floats, Floats]:
    """The covariances and shared deals of the cells of one sample; see :class:`Known`."""
    size = len(sample.cells)
    parts = [
        cell.deviations[:, :2] @ _slopes(influence, *key).T for key, cell in sample.cells.items()
    ]
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


def _slopes(influence: Floats, row: int, column: int) -> Floats:
    """Derivatives of the targets by both payoffs of a cell; a player by itself has one payoff."""
    other = influence[:, column, row] * (row != column)
    return np.column_stack([influence[:, row, column], other])


def tied_cells(sample: Sample) -> Integers:
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
    groups: Integers = connected_components(tied, directed=False)[1].astype(np.int64)
    return groups


def torn_cells(sample: Sample) -> int:
    """How many cells tie with another that was not played on the same deals."""
    groups, played = tied_cells(sample), sample.played
    firsts = {group: played[at] for at, group in reversed(list(enumerate(groups)))}
    apart = {g for at, g in enumerate(groups) if (played[at] != firsts[g]).any()}
    return sum(group in apart for group in groups)
