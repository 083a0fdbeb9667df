"""Variances of means over matches that share instances or participants."""

from collections.abc import Sequence
from itertools import chain

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from cheaptalk.statistics.columns import FloatArray

PEOPLE = "people"
"""The column that lists the participants of each match."""


def clustered_by_people(
    long: pl.DataFrame, cells: pl.DataFrame, cell: Sequence[str], inside: Sequence[str],
    cluster: Sequence[str],
) -> pl.DataFrame:  # fmt: skip
    """Return cells whose variances account for participants who played several matches.

    Matches are dependent if they share an instance or a participant. With e a match's deviation
    over the number of matches, the variance is the sum of e * e' over all pairs of dependent
    matches (Cameron, Gelbach and Miller 2011, Robust Inference with Multiway Clustering, Journal of
    Business & Economic Statistics 29(2); for several participants in one match, Aronow, Samii and
    Assenova 2015, Cluster-Robust Variance Estimation for Dyadic Data, Political Analysis 23(4)),
    times G / (G - 1). G is the number of instances or participants, whichever is smaller. The
    result is at least the variance of each clustering, and has the smaller degrees of freedom.

    Deviations from the mean of a stratum's n matches are too small by a factor of (n - 1) / n,
    because each match also moves the mean. Except for the part that G / (G - 1) corrects, they are
    divided by this factor, as in the jackknife (CR3 of Bell and McCaffrey 2002, Survey Methodology
    28(2)). Without this correction, 95 % intervals of participants in many small strata would cover
    the true mean in only 84 % of studies.

    Args:
        long: one row per match and cell, with ``value`` and the list :data:`PEOPLE`.
        cells: cells with ``variance`` and ``freedom`` by instance, and ``cubes``.
        cell: the columns that identify cells.
        inside: the columns that identify strata of cells.
        cluster: the columns that identify instances.
    """
    people = pl.col(PEOPLE).list.len().fill_null(0)
    matches, every = (pl.len().over(keys).cast(pl.Int64) for keys in (inside, cell))
    moved = (matches / pl.max_horizontal(matches - 1, 1)) * (1 - 1 / every)
    keys = long.filter((people > 0).any().over(cell)).with_columns(
        off=(pl.col("value") - pl.col("value").mean().over(inside))
        * pl.when(matches < every).then(moved).otherwise(1.0)
        / pl.len().over(cell),
        unit=pl.struct(cluster).rank("dense").over(cell) - 1,
    )
    rows = [(*key, *_of_cell(part)) for key, part in keys.group_by(cell, maintain_order=True)]
    if not rows:
        return cells
    kinds = {name: cells.schema[name] for name in cell}
    schema = kinds | {"by_people": pl.Float64(), "people_freedom": pl.Float64()}
    joined = cells.join(
        pl.DataFrame(rows, schema, orient="row"), on=list(cell), how="left", nulls_equal=True,
        validate="1:1", maintain_order="left",
    )  # fmt: skip
    raised = (pl.col("by_people") > pl.col("variance")).fill_null(value=False)
    return joined.with_columns(
        variance=pl.max_horizontal("variance", "by_people"),
        freedom=pl.min_horizontal("freedom", "people_freedom"),
        cubes=pl.when(raised).then(0.0).otherwise("cubes"),
    ).drop("by_people", "people_freedom")


def _of_cell(part: pl.DataFrame) -> tuple[float, float]:
    """Return the variance of a cell's mean, clustered by participant, and degrees of freedom."""
    deviations = part["off"].to_numpy()
    listed = [[*dict.fromkeys(names or ())] for names in part[PEOPLE].to_list()]
    codes = {name: code for code, name in enumerate(dict.fromkeys(chain(*listed)))}
    match = np.repeat(np.arange(len(listed)), [len(names) for names in listed])
    person = np.array([codes[name] for names in listed for name in names], dtype=np.int64)
    by_person = csr_array((np.ones(len(match)), (match, person)), shape=(len(listed), len(codes)))
    unit = part["unit"].to_numpy().astype(np.int64)
    by_unit = csr_array((np.ones(len(unit)), (np.arange(len(unit)), unit)))
    shared = by_person @ by_person.T + by_unit @ by_unit.T
    shared.data[:] = 1.0
    count, units = len(codes), int(unit.max()) + 1
    smallest_count = min(count, units)
    if smallest_count < 2:
        return 0.0, 0.0
    combined = smallest_count / (smallest_count - 1) * float(deviations @ (shared @ deviations))
    by_participant = count / (count - 1) * float(((by_person.T @ deviations) ** 2).sum())
    played = np.asarray(by_person.sum(axis=0)).ravel()
    return max(combined, by_participant), _freedom(played / played.sum())


def _freedom(share: FloatArray) -> float:
    centred = np.eye(len(share)) - share
    quadratic_form = centred.T @ np.diag(share**2) @ centred
    return float(np.trace(quadratic_form) ** 2 / np.trace(quadratic_form @ quadratic_form))
