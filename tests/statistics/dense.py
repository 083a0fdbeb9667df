"""Bias-reduced errors by whole matrices of rows by rows, to hold our own against."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


def bias_reduced(x: Numbers, y: Numbers, clusters: NDArray[Any]) -> tuple[Numbers, Numbers]:
    """Errors of coefficients by CR2, and their degrees of freedom by Satterthwaite.

    Bell and McCaffrey (2002, section 4): residuals of a cluster are taken times the inverse square
    root of its part of I - H, and outcomes are independent and of equal variance.
    """
    inverse = np.linalg.inv(x.T @ x)
    rest = np.eye(len(x)) - x @ inverse @ x.T
    sides = []
    for one in np.unique(clusters):
        own = np.flatnonzero(clusters == one)
        values, vectors = np.linalg.eigh(rest[np.ix_(own, own)])
        raised = np.where(values > 1e-10, np.abs(values).clip(1e-10) ** -0.5, 0)
        sides.append(rest[:, own] @ ((vectors * raised) @ vectors.T) @ x[own] @ inverse)
    made = np.array(sides)  # (clusters, rows, columns)
    products = np.einsum("gic,hic->cgh", made, made, optimize=True)
    trace = np.trace(products, axis1=1, axis2=2)
    errors = np.sqrt((np.einsum("gic,i->gc", made, y) ** 2).sum(axis=0))
    return errors, trace**2 / (products**2).sum(axis=(1, 2))
