"""Covariances of regression coefficients: classical, HC3 and cluster-robust."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cheaptalk.statistics.columns import FloatArray
from cheaptalk.statistics.design_matrix import Design, one_hot

EXACT = 1e-9
"""How near 1 a leverage is to count as 1: the row is then fitted exactly, whatever its outcome."""


@dataclass(frozen=True, eq=False)
class Covariance:
    """How uncertain coefficients are.

    Attributes:
        matrix: shape (columns, columns).
        freedom: degrees of freedom of Student's t; 0 where nothing is left to judge by.
        unknown: the columns whose error cannot be estimated.
        why: what makes them so.
        spread: in how many clusters each column's level occurs, or its factor's reference level
            where that is in fewer; None where errors are not clustered.
    """

    matrix: FloatArray
    freedom: int
    unknown: NDArray[np.bool_]
    why: str = ""
    spread: NDArray[np.int64] | None = None


def classical(design: Design, residuals: FloatArray) -> Covariance:
    """One variance for all rows: sum of squared residuals / (n - p), times (X'X)^-1."""
    freedom = len(residuals) - design.rank
    variance = residuals @ residuals / max(freedom, 1)
    return Covariance(variance * design.inverse, freedom, np.zeros(design.width, dtype=bool))


def hc3(design: Design, residuals: FloatArray) -> Covariance:
    """A variance for each row: its residual over 1 less its leverage, squared.

    MacKinnon and White (1985), Journal of Econometrics 29(3). A row with leverage 1 shows nothing
    of its variance, so the errors of the effects that rest on it are unknown.
    """
    leverage = _leverage(design)
    alone = leverage > 1 - EXACT
    scaled = np.where(alone, 0, residuals / np.where(alone, 1, 1 - leverage))
    unknown = (np.abs(design.matrix[alone] @ design.inverse) > EXACT).any(axis=0)
    return Covariance(
        _sandwich(design, design.matrix * scaled[:, None]),
        len(residuals) - design.rank,
        unknown,
        "a level that one row has alone is fitted exactly, and HC3 then knows no error",
    )


def clustered(design: Design, residuals: FloatArray, clusters: NDArray[np.int64]) -> Covariance:
    """A variance for each cluster, CR1 of Cameron and Miller (2015), section II.

    The sum over clusters of the outer product of X_g' e_g, between two (X'X)^-1, is multiplied by
    G / (G - 1) * (n - 1) / (n - p). A level that occurs in one cluster alone cannot be told from
    that cluster's own luck, so its error is unknown.
    """
    rows, count = len(residuals), int(clusters.max()) + 1
    small = count / max(count - 1, 1) * (rows - 1) / max(rows - design.rank, 1)
    spread = _spread(design, clusters, count)
    return Covariance(
        small * _sandwich(design, cluster_scores(design, residuals, clusters)),
        count - 1 if rows > design.rank else 0,
        spread == 1,
        "a level that occurs in one cluster alone cannot be told from that cluster's own luck",
        spread,
    )


def cluster_scores(
    design: Design, residuals: FloatArray, clusters: NDArray[np.int64]
) -> sparse.csr_array:
    """X_g' e_g of each cluster g, shape (clusters, columns)."""
    return one_hot(clusters, int(clusters.max()) + 1).T @ (design.matrix * residuals[:, None])


def _sandwich(design: Design, scores: sparse.csr_array) -> FloatArray:
    return np.asarray(design.inverse @ (scores.T @ scores).toarray() @ design.inverse)


def _leverage(design: Design) -> FloatArray:
    """The diagonal of X (X'X)^-1 X', from the columns that are 1 in each row."""
    padded = np.pad(design.inverse, (0, 1))
    active = design.active
    parts = (padded[active[:, [at]], active].sum(axis=1) for at in range(active.shape[1]))
    return np.asarray(np.sum(list(parts), axis=0))


def _spread(design: Design, clusters: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """In how many clusters each column's level occurs, or its factor's reference level if fewer.

    The constant stands for all reference levels.
    """
    found = np.full(design.width, count)
    for place, factor in enumerate(design.factors, start=1):
        columns = np.array(design.columns(factor.name))
        levels = np.where(design.active[:, place] < design.width, design.active[:, place], 0)
        pairs = np.unique(levels * count + clusters) // count
        within = np.bincount(pairs, minlength=design.width)
        reference = within[0] or count
        found[0] = min(found[0], reference)
        found[columns] = np.minimum(within[columns], reference)
    return found
