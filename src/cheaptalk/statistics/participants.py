"""Variances of means over matches that share instances or participants."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars.selectors as cs
from numpy.typing import NDArray
from scipy.sparse import csr_array

from cheaptalk.statistics.columns import FloatArray

PEOPLE = "people"
"""The column that lists the participants of each match."""
ANY_PEOPLE = cs.by_name(PEOPLE, require_all=False)
"""Selects this column, if the frame has it."""


def people_variances(
    values: FloatArray,
    listed: NDArray[Any],
    cell: NDArray[np.int64],
    stratum: NDArray[np.int64],
    unit: NDArray[np.int64],
) -> tuple[FloatArray, FloatArray]:
    """Return the variance of each cell's mean for participants who played several matches.

    Matches are dependent if they share an instance or a participant. With e a match's deviation
    over the number of matches, the variance is the sum of e * e' over all pairs of dependent
    matches (Cameron, Gelbach and Miller 2011, Robust Inference with Multiway Clustering, Journal of
    Business & Economic Statistics 29(2); for several participants in one match, Aronow, Samii and
    Assenova 2015, Cluster-Robust Variance Estimation for Dyadic Data, Political Analysis 23(4)),
    times G / (G - 1). G is the number of instances or participants, whichever is smaller. The
    result is at least the variance of clustering by participant. Participants who played exactly
    the same matches count as one.

    Deviations from the mean of a stratum's n matches are too small by a factor of (n - 1) / n,
    because each match also moves the mean. Except for the part that G / (G - 1) corrects, they are
    divided by this factor, as in the jackknife (CR3 of Bell and McCaffrey 2002, Survey Methodology
    28(2)). Without this correction, 95 % intervals of participants in many small strata would cover
    the true mean in only 84 % of studies.

    ``cell``, ``stratum`` and ``unit`` number each match's cell (from 0), stratum and instance. The
    degrees of freedom follow the variances; both are NaN in cells without participants.
    """
    matches, every = np.bincount(stratum)[stratum], np.bincount(cell)[cell]
    moved = matches / np.maximum(matches - 1, 1) * (1 - 1 / every)
    mean = (np.bincount(stratum, values) / np.maximum(np.bincount(stratum), 1))[stratum]
    off = (values - mean) * np.where(matches < every, moved, 1.0) / every
    results = np.full((2, int(cell.max(initial=-1)) + 1), np.nan)
    order = np.argsort(cell, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(cell[order])) + 1):
        names = [[] if people is None else [*dict.fromkeys(people)] for people in listed[rows]]
        if any(names):
            results[:, cell[rows[0]]] = _of_cell(off[rows], names, unit[rows])
    return results[0], results[1]


def _of_cell(
    deviations: FloatArray, listed: Sequence[Sequence[str]], unit: NDArray[np.int64]
) -> tuple[float, float]:
    """Return the variance of a cell's mean, clustered by participant, and degrees of freedom."""
    played_by: dict[str, list[int]] = {}
    for match, names in enumerate(listed):
        for name in names:
            played_by.setdefault(name, []).append(match)
    groups = list(dict.fromkeys(map(tuple, played_by.values())))
    group, count = np.repeat(np.arange(len(groups)), list(map(len, groups))), len(groups)
    entries = np.ones(len(group)), (np.concatenate(groups), group)
    by_person = csr_array(entries, shape=(len(listed), count))
    units, unit = np.unique(unit, return_inverse=True)
    by_unit = csr_array((np.ones(len(unit)), (np.arange(len(unit)), unit)))
    shared = by_person @ by_person.T + by_unit @ by_unit.T
    shared.data[:] = 1.0
    smallest_count = min(count, len(units))
    if smallest_count < 2:
        return 0.0, 0.0
    combined = smallest_count / (smallest_count - 1) * float(deviations @ (shared @ deviations))
    by_participant = count / (count - 1) * float(((by_person.T @ deviations) ** 2).sum())
    played = np.asarray(by_person.sum(axis=0)).ravel()
    freedom = freedom_of_sizes(played, np.zeros(count, dtype=np.int64), 1)
    return max(combined, by_participant), float(freedom[0])


def freedom_of_sizes(sizes: FloatArray, group: NDArray[np.int64], groups: int) -> FloatArray:
    """Return Satterthwaite's degrees of freedom of each group's mean over clusters of these sizes.

    The variance is the sum of share ** 2 times the squared deviations of cluster means from the
    group's mean, with share a cluster's share of the group's matches. The terms are those of the
    deviations' covariance for equal variances.
    """

    def total(numbers: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(group, numbers, groups), dtype=np.float64)

    count, share = np.bincount(group, minlength=groups), sizes / total(sizes)[group]
    squares, cubes, fourths = total(share**2), total(share**3), total(share**4)
    diagonal = share**2 * (1 - 2 * share + squares[group])
    crossed = squares**4 - 4 * squares**2 * cubes + 2 * squares * fourths + 2 * cubes**2
    rest = total(diagonal**2 - (share**2 * (squares[group] - 2 * share)) ** 2) + crossed
    unequal = total(np.abs(sizes * count[group] - total(sizes)[group])) > 0
    freedom: FloatArray = np.divide(total(diagonal) ** 2, rest, out=count - 1.0, where=unequal)
    return freedom
