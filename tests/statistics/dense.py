"""Bias-reduced errors computed from dense matrices, as a reference for the package."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


def bias_reduced(x: Numbers, y: Numbers, clusters: NDArray[Any]) -> tuple[Numbers, Numbers]:
    """Return CR2 errors of coefficients and their Satterthwaite degrees of freedom.

    Bell and McCaffrey (2002, section 4): residuals of each cluster are multiplied by the inverse
    square root of its block of I - H; outcomes are independent and of equal variance.
    """
    inverse = np.linalg.inv(x.T @ x)
    rest = np.eye(len(x)) - x @ inverse @ x.T
    sides = []
    for cluster in np.unique(clusters):
        members = np.flatnonzero(clusters == cluster)
        values, vectors = np.linalg.eigh(rest[np.ix_(members, members)])
        raised = np.where(values > 1e-10, np.abs(values).clip(1e-10) ** -0.5, 0)
        sides.append(rest[:, members] @ ((vectors * raised) @ vectors.T) @ x[members] @ inverse)
    made = np.array(sides)  # (clusters, rows, columns)
    products = np.einsum("gic,hic->cgh", made, made, optimize=True)
    trace = np.trace(products, axis1=1, axis2=2)
    errors = np.sqrt((np.einsum("gic,i->gc", made, y) ** 2).sum(axis=0))
    return errors, trace**2 / (products**2).sum(axis=(1, 2))
