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
"""How near 1 a leverage is to count as 1: the row is then fitted exactly, whatever its outcome."""
MANY = 20
"""Clusters with each level, and its reference, from which on CR1 is as good as CR2, and faster."""
BLOCK = 32
"""Sums of coefficients whose degrees of freedom are found at once, so that memory stays flat."""


@dataclass(frozen=True, eq=False)
class Covariance:
    """How uncertain coefficients are.

    Attributes:
        matrix: of the design's columns, whose numbers are standardised; shape (columns, columns).
        freedom: degrees of freedom of Student's t; 0 where nothing is left to judge by.
        unknown: the columns whose error cannot be estimated.
        why: what makes them so.
        method: how they were made, in words.
        clusters: those by which they are robust; None where errors are not clustered.
    """

    matrix: FloatArray
    freedom: int
    unknown: NDArray[np.bool_]
    method: str
    why: str = ""
    clusters: "Clusters | None" = None

    @property
    def reduced(self) -> bool:
        """Whether its bias is reduced, so that each sum has degrees of freedom of its own."""
        return self.clusters is not None and self.clusters.few

    def freedoms(self, weights: FloatArray) -> FloatArray:
        """The degrees of freedom of sums of coefficients, by their weights (sums, columns)."""
        if self.reduced and self.clusters is not None and self.freedom:
            return self.clusters.freedom(weights)
        return np.full(len(weights), float(self.freedom))


def classical(design: Design, residuals: FloatArray) -> Covariance:
    """One variance for all rows: sum of squared residuals / (n - p), times (X'X)^-1."""
    freedom = len(residuals) - design.rank
    variance = residuals @ residuals / max(freedom, 1)
    unknown = np.zeros(design.width, dtype=bool)
    return Covariance(variance * design.inverse, freedom, unknown, "classical")


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
        "HC3",
        "a level that one row has alone is fitted exactly, and HC3 then knows no error",
    )


@dataclass(frozen=True, eq=False)
class Clusters:
    """Which rows of a design share a cluster, and how far each cluster decides its own fit.

    Attributes:
        design: of all rows.
        codes: each row's cluster, from 0.
    """

    design: Design
    codes: NDArray[np.int64]

    @cached_property
    def count(self) -> int:
        """How many clusters there are."""
        return int(self.codes.max()) + 1

    @cached_property
    def spread(self) -> NDArray[np.int64]:
        """In how many clusters each column's level occurs, or its reference level if fewer."""
        return _spread(self.design, self.codes, self.count)

    @cached_property
    def few(self) -> bool:
        """Whether a level, or its reference, is in fewer clusters than CR1 takes."""
        return bool((self.spread < MANY).any())

    @cached_property
    def leverages(self) -> list[tuple[FloatArray, FloatArray]]:
        """The leverages of each cluster, and their directions among the basis's columns.

        With X_g the rows of cluster g, L the design's basis and X_g L = U diag(d) V', the matrix
        H_g = X_g (X'X)^-1 X_g' is U diag(d ** 2) U': the leverages are d ** 2, in [0, 1], shape
        (k,), and their directions V', shape (k, rank).
        """
        order = np.argsort(self.codes, kind="stable")
        matrix, ends = self.design.matrix[order], np.cumsum(np.bincount(self.codes))
        found = []
        for start, end in zip([0, *ends[:-1]], ends, strict=True):
            own = matrix[start:end] @ self.design.basis
            wide = own.shape[0] < own.shape[1]
            leverage, along = eigh(own @ own.T if wide else own.T @ own, check_finite=False)
            kept = leverage > EXACT
            leverage, along = np.minimum(leverage[kept], 1.0), along[:, kept].T
            found.append((leverage, along @ own / np.sqrt(leverage)[:, None] if wide else along))
        return found

    @cached_property
    def alone(self) -> NDArray[np.bool_]:
        """The columns whose effects rest on what one cluster alone shows, fitted exactly."""
        directions = np.vstack([along[leverage > 1 - EXACT] for leverage, along in self.leverages])
        found = np.abs(directions @ self.design.basis.T) > EXACT
        return np.asarray(found.any(axis=0) | (self.spread == 1))

    def adjusted(self, scores: FloatArray) -> FloatArray:
        """L' X_g' A_g e_g of each cluster, from X_g' e_g; A_g = (I - H_g) ** -1/2."""
        found = scores @ self.design.basis
        for row, (leverage, along) in zip(found, self.leverages, strict=True):
            row += ((_raised(leverage) - 1) * (along @ row)) @ along
        return found

    def freedom(self, weights: FloatArray) -> FloatArray:
        """Satterthwaite's degrees of freedom of sums of coefficients, by weights (sums, columns).

        The variance of a sum c'b is estimated as the sum of (B_g' e_g) ** 2 with
        B_g = A_g X_g (X'X)^-1 c. Were outcomes independent and of equal variance, it would be
        distributed as the sum of chi-squares weighted by the eigenvalues of the matrix P with
        P_gh = [g = h] B_g' B_g - W_g' W_h and W_g = L' X_g' B_g. There are
        trace(P) ** 2 / trace(P ** 2) degrees of freedom (Bell and McCaffrey 2002, section 4).
        """
        blocks = [weights[at : at + BLOCK] for at in range(0, len(weights), BLOCK)]
        return np.concatenate([self._freedom(block @ self.design.basis) for block in blocks])

    def _freedom(self, sums: FloatArray) -> FloatArray:
        own, crossed = np.empty((len(sums), self.count)), np.empty((*sums.shape, self.count))
        for at, (leverage, along) in enumerate(self.leverages):
            part, raised = sums @ along.T, _raised(leverage)
            own[:, at] = part**2 @ (leverage * raised**2)
            crossed[..., at] = (part * leverage * raised) @ along
        lost = (crossed**2).sum(axis=1)
        short = crossed if sums.shape[1] < self.count else crossed.transpose(0, 2, 1)
        pairs = np.array([((one @ one.T) ** 2).sum() for one in short])
        squares = (own**2 - 2 * own * lost).sum(axis=1) + pairs
        trace = (own - lost).sum(axis=1)
        return np.where(squares > 0, trace**2 / np.where(squares > 0, squares, 1), 0.0)


def _raised(leverage: FloatArray) -> FloatArray:
    """(1 - leverage) ** -1/2, and 0 where nothing is left of a residual (a generalised inverse)."""
    exact = leverage > 1 - EXACT
    return np.where(exact, 0, 1 / np.sqrt(np.where(exact, 1, 1 - leverage)))


def clustered(residuals: FloatArray, clusters: Clusters) -> Covariance:
    """A variance for each cluster: CR2 where some level is in few clusters, else CR1.

    The sum over clusters of the outer product of X_g' e_g, between two (X'X)^-1, times
    G / (G - 1) * (n - 1) / (n - p), is CR1 (Cameron and Miller 2015, section II), with G - 1
    degrees of freedom. A level in 5 of 80 clusters has an interval that is far too narrow then.
    CR2 multiplies e_g by A_g = (I - H_g) ** -1/2, the bias-reduced linearization of Bell and
    McCaffrey (2002, Bias Reduction in Standard Errors for Linear Regression with Multi-Stage
    Samples, Survey Methodology 28(2)), generalised by Pustejovsky and Tipton (2018, Journal of
    Business & Economic Statistics 36(4)). What one cluster alone shows cannot be told from that
    cluster's own luck, so the error of an effect that rests on it is unknown.
    """
    design, rows, count = clusters.design, len(residuals), clusters.count
    scores = cluster_scores(design, residuals, clusters.codes)
    if clusters.few:
        turned = design.basis @ clusters.adjusted(scores.toarray()).T
        method, matrix, unknown = "CR2", turned @ turned.T, clusters.alone
    else:
        small = count / max(count - 1, 1) * (rows - 1) / max(rows - design.rank, 1)
        method, matrix = "CR1", small * _sandwich(design, scores)
        unknown = np.zeros(design.width, dtype=bool)
    return Covariance(
        matrix,
        count - 1 if rows > design.rank else 0,
        unknown,
        method,
        "what one cluster alone shows of a level cannot be told from that cluster's own luck",
        clusters,
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
    if design.covariates:
        return np.asarray(((design.matrix @ design.basis) ** 2).sum(axis=1))
    padded = np.pad(design.inverse, (0, 1))
    active = design.active
    parts = (padded[active[:, [at]], active].sum(axis=1) for at in range(active.shape[1]))
    return np.asarray(np.sum(list(parts), axis=0))


def _spread(design: Design, clusters: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """In how many clusters each column's level occurs, or its factor's reference level if fewer.

    The constant stands for all reference levels. For a covariate it is the number of clusters with
    another value than the one that most clusters share: those that show its effect.
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
    for column, values in enumerate(design.numbers.T, start=design.levels):
        pairs = np.unique(np.column_stack([values, clusters]), axis=0)
        common, sharing = np.unique(pairs[:, 0], return_counts=True)
        found[column] = len(np.unique(pairs[pairs[:, 0] != common[sharing.argmax()], 1]))
    return found
