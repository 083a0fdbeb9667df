"""Covariances of regression coefficients: classical, HC3 and cluster-robust."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh

from cheaptalk.statistics.columns import FloatArray
from cheaptalk.statistics.design_matrix import Design, one_hot

EXACT = 1e-9
"""Tolerance for a leverage of 1, at which the regression fits any outcome of a row exactly."""
MANY = 20
"""Minimum number of clusters per level, and per reference level, for CR1 instead of CR2."""
BLOCK = 32
"""Number of sums of coefficients processed together, which limits memory."""


@dataclass(frozen=True, eq=False)
class Covariance:
    """The estimated covariance of coefficients, for the design's standardised columns.

    ``freedom``, the degrees of freedom of Student's t, is 0 if there are none. ``unknown`` masks
    the columns with an error that cannot be estimated, for the reason ``why``.
    """

    matrix: FloatArray
    freedom: int
    unknown: NDArray[np.bool_]
    method: str
    why: str = ""
    clusters: "Clusters | None" = None

    @property
    def reduced(self) -> bool:
        """Whether the estimator is CR2, whose degrees of freedom differ between estimates."""
        return self.clusters is not None and self.clusters.needs_cr2

    def freedoms(self, weights: FloatArray) -> FloatArray:
        """Return the degrees of freedom of weighted sums of coefficients, shape (sums,)."""
        if self.reduced and self.clusters is not None and self.freedom:
            return self.clusters.freedom(weights)
        return np.full(len(weights), float(self.freedom))


def classical(design: Design, residuals: FloatArray) -> Covariance:
    """Return the covariance RSS / (n - p) (X'X)^-1, which assumes equal variances."""
    freedom = len(residuals) - design.rank
    variance = residuals @ residuals / max(freedom, 1)
    unknown = np.zeros(design.width, dtype=bool)
    return Covariance(variance * design.inverse, freedom, unknown, "classical")


def hc3(design: Design, residuals: FloatArray) -> Covariance:
    """Return the HC3 covariance, which divides each residual by 1 minus its leverage.

    MacKinnon and White (1985), Journal of Econometrics 29(3). A row with leverage 1 contains no
    information on its variance, so errors of effects that depend on such a row are unknown.
    """
    leverage = _leverage(design)
    exact = leverage > 1 - EXACT
    scaled = np.where(exact, 0, residuals / np.where(exact, 1, 1 - leverage))
    unknown = (np.abs(design.matrix[exact] @ design.inverse) > EXACT).any(axis=0)
    return Covariance(
        _sandwich(design, design.matrix * scaled[:, None]),
        len(residuals) - design.rank,
        unknown,
        "HC3",
        "HC3 cannot estimate the error of a level that occurs in only one row",
    )


@dataclass(frozen=True, eq=False)
class Clusters:
    """The clusters of a design's rows, numbered from 0, with the leverages of each cluster."""

    design: Design
    codes: NDArray[np.int64]

    @cached_property
    def count(self) -> int:
        return int(self.codes.max()) + 1

    @cached_property
    def spread(self) -> NDArray[np.int64]:
        """The number of clusters with each column's level or reference, whichever is smaller."""
        return _spread(self.design, self.codes, self.count)

    @cached_property
    def needs_cr2(self) -> bool:
        """Whether CR1 is unreliable because a level or its reference occurs in too few clusters."""
        return bool((self.spread < MANY).any())

    @cached_property
    def leverages(self) -> list[tuple[FloatArray, FloatArray]]:
        """Each cluster's leverages, shape (k,), and their eigenvectors, shape (k, rank).

        With X_g the rows of cluster g and L the design's basis, X_g L = U diag(d) V'. The leverages
        d ** 2, in [0, 1], are the eigenvalues of H_g = X_g (X'X)^-1 X_g'; their directions are V'.
        """
        order = np.argsort(self.codes, kind="stable")
        matrix, ends = self.design.matrix[order], np.cumsum(np.bincount(self.codes))
        pairs = []
        for start, end in zip([0, *ends[:-1]], ends, strict=True):
            block = matrix[start:end] @ self.design.basis
            wide = block.shape[0] < block.shape[1]
            leverage, along = eigh(block @ block.T if wide else block.T @ block, check_finite=False)
            nonzero = leverage > EXACT
            leverage, along = np.minimum(leverage[nonzero], 1.0), along[:, nonzero].T
            pairs.append((leverage, along @ block / np.sqrt(leverage)[:, None] if wide else along))
        return pairs

    @cached_property
    def single_cluster(self) -> NDArray[np.bool_]:
        """A mask of the columns whose effect depends on a single, exactly fitted cluster."""
        directions = np.vstack([along[leverage > 1 - EXACT] for leverage, along in self.leverages])
        affected = np.abs(directions @ self.design.basis.T) > EXACT
        return np.asarray(affected.any(axis=0) | (self.spread == 1))

    def adjusted(self, scores: FloatArray) -> FloatArray:
        """Return the clusters' scores after CR2's correction, as coordinates of the basis."""
        rotated = scores @ self.design.basis
        for row, (leverage, along) in zip(rotated, self.leverages, strict=True):
            row += ((_raised(leverage) - 1) * (along @ row)) @ along
        return rotated

    def freedom(self, weights: FloatArray) -> FloatArray:
        """Return the Satterthwaite degrees of freedom of coefficient sums with the given weights.

        The variance of a sum c'b is estimated as the sum of (B_g' e_g) ** 2, with
        B_g = A_g X_g (X'X)^-1 c. For independent outcomes of equal variance, the estimate is
        distributed as a sum of chi-squares, weighted by the eigenvalues of the matrix P with
        P_gh = [g = h] B_g' B_g - W_g' W_h and W_g = L' X_g' B_g. The degrees of freedom are
        trace(P) ** 2 / trace(P ** 2) (Bell and McCaffrey 2002, section 4).
        """
        blocks = [weights[start : start + BLOCK] for start in range(0, len(weights), BLOCK)]
        return np.concatenate([self._freedom(block @ self.design.basis) for block in blocks])

    def _freedom(self, sums: FloatArray) -> FloatArray:
        diagonal, crossed = np.empty((len(sums), self.count)), np.empty((*sums.shape, self.count))
        for index, (leverage, along) in enumerate(self.leverages):
            part, raised = sums @ along.T, _raised(leverage)
            diagonal[:, index] = part**2 @ (leverage * raised**2)
            crossed[..., index] = (part * leverage * raised) @ along
        correction = (crossed**2).sum(axis=1)
        short = crossed if sums.shape[1] < self.count else crossed.transpose(0, 2, 1)
        pairs = np.array([((block @ block.T) ** 2).sum() for block in short])
        squares = (diagonal**2 - 2 * diagonal * correction).sum(axis=1) + pairs
        trace = (diagonal - correction).sum(axis=1)
        return np.where(squares > 0, trace**2 / np.where(squares > 0, squares, 1), 0.0)


def _raised(leverage: FloatArray) -> FloatArray:
    """Return (1 - leverage) ** -1/2, or 0 for leverage 1 (a generalised inverse)."""
    exact = leverage > 1 - EXACT
    return np.where(exact, 0, 1 / np.sqrt(np.where(exact, 1, 1 - leverage)))


def clustered(residuals: FloatArray, clusters: Clusters) -> Covariance:
    """Return the cluster-robust covariance: CR2 if a level is in few clusters, otherwise CR1.

    CR1 (Cameron and Miller 2015, section II) is G / (G - 1) * (n - 1) / (n - p) times the sum over
    clusters of the outer product of X_g' e_g, between two (X'X)^-1, with G - 1 degrees of freedom.
    For a level in 5 of 80 clusters, CR1's interval is far too narrow. CR2 multiplies e_g by
    A_g = (I - H_g) ** -1/2, the bias-reduced linearization of Bell and McCaffrey (2002, Bias
    Reduction in Standard Errors for Linear Regression with Multi-Stage Samples, Survey Methodology
    28(2)), generalised by Pustejovsky and Tipton (2018, Journal of Business & Economic Statistics
    36(4)). The error of an effect that depends on a single cluster is unknown, because the effect
    cannot be distinguished from the cluster's random variation.
    """
    design, rows, count = clusters.design, len(residuals), clusters.count
    scores = cluster_scores(design, residuals, clusters.codes)
    if clusters.needs_cr2:
        turned = design.basis @ clusters.adjusted(scores.toarray()).T
        method, matrix, unknown = "CR2", turned @ turned.T, clusters.single_cluster
    else:
        small = count / max(count - 1, 1) * (rows - 1) / max(rows - design.rank, 1)
        method, matrix = "CR1", small * _sandwich(design, scores)
        unknown = np.zeros(design.width, dtype=bool)
    return Covariance(
        matrix,
        count - 1 if rows > design.rank else 0,
        unknown,
        method,
        "the effect of a level in only one cluster cannot be separated from that cluster's noise",
        clusters,
    )


def cluster_scores(
    design: Design, residuals: FloatArray, clusters: NDArray[np.int64]
) -> sparse.csr_array:
    """Return the score X_g' e_g of each cluster g, shape (clusters, columns)."""
    return one_hot(clusters, int(clusters.max()) + 1).T @ (design.matrix * residuals[:, None])


def _sandwich(design: Design, scores: sparse.csr_array) -> FloatArray:
    return np.asarray(design.inverse @ (scores.T @ scores).toarray() @ design.inverse)


def _leverage(design: Design) -> FloatArray:
    """Return the leverage of each row, the diagonal of X (X'X)^-1 X'."""
    if design.covariates:
        return np.asarray(((design.matrix @ design.basis) ** 2).sum(axis=1))
    padded = np.pad(design.inverse, (0, 1))
    active = design.active
    parts = (padded[active[:, [column]], active].sum(axis=1) for column in range(active.shape[1]))
    return np.asarray(np.sum(list(parts), axis=0))


def _spread(design: Design, clusters: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return the number of clusters with each column's level or reference, whichever is smaller.

    The constant represents all reference levels. For a covariate, count the clusters with a value
    other than the most common one.
    """
    spread = np.full(design.width, count)
    for position, factor in enumerate(design.factors, start=1):
        columns = np.array(design.columns(factor.name))
        levels = np.where(design.active[:, position] < design.width, design.active[:, position], 0)
        pairs = np.unique(levels * count + clusters) // count
        within = np.bincount(pairs, minlength=design.width)
        reference = within[0] or count
        spread[0] = min(spread[0], reference)
        spread[columns] = np.minimum(within[columns], reference)
    for column, values in enumerate(design.numbers.T, start=design.levels):
        pairs = np.unique(np.column_stack([values, clusters]), axis=0)
        common, sharing = np.unique(pairs[:, 0], return_counts=True)
        spread[column] = len(np.unique(pairs[pairs[:, 0] != common[sharing.argmax()], 1]))
    return spread
