"""Krippendorff's alpha: the agreement of all raters that used a rubric."""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cheaptalk.judges.agreement import Interval, Verdicts, interval, valid_verdicts
from cheaptalk.judges.rubrics import Rubric
from cheaptalk.records import Store
from cheaptalk.records.judgements import instances_of, judges_of
from cheaptalk.rules.display import brief
from cheaptalk.studies.lookup import reads_study

Metric = Literal["nominal", "ordinal", "interval"]
"""The level of measurement of verdicts, which determines their distances."""
Tables = NDArray[np.float64]


@dataclass(frozen=True)
class Reliability:
    """The agreement of the raters that used a rubric.

    Attributes:
        rubric: the name of the rubric.
        raters: the judges' digests.
        metric: ``nominal`` for categories; ``interval`` and ``ordinal`` for a scale.
        items: number of items with valid verdicts of at least two raters.
        ratings: number of valid verdicts on these items.
        alpha: Krippendorff's alpha, 1 for full agreement and 0 for chance agreement.
    """

    rubric: str
    raters: tuple[str, ...]
    metric: Metric
    items: int
    ratings: int
    alpha: Interval

    def __repr__(self) -> str:
        alpha = "undefined" if self.alpha.value is None else f"{self.alpha.value:.3f}"
        return brief(self, f"{self.rubric}, {len(self.raters)} raters, {self.metric} alpha {alpha}")


@reads_study
def reliabilities(store: Store, study: str, *, seed: int = 0) -> list[Reliability]:
    """Return the agreement between all raters of each rubric, both models and people.

    Raters form a group if their rubrics have the same name and verdicts. Items with at least two
    valid verdicts count. A scale has two results: ``interval`` uses the distances between scores,
    and ``ordinal`` only their order. For the intervals, see :func:`.interval`.

    Args:
        seed: seed of the bootstrap.

    Raises:
        StoreError: the store has no study of this name.
    """
    store.study(study)
    groups: defaultdict[tuple[str, tuple[str, ...]], dict[str, Rubric]] = defaultdict(dict)
    for key, spec in judges_of(store, study).items():
        rubric = Rubric.model_validate(spec["rubric"])
        groups[rubric.name, tuple(rubric.labels)][key] = rubric
    instances, results = instances_of(store, study), []
    for (name, labels), judges in groups.items():
        if len(judges) < 2:
            continue
        verdicts = [valid_verdicts(store, study, key) for key in judges]
        tables, items = coincidences_by_instance(verdicts, labels, instances)
        if not items:
            continue
        scale = next(iter(judges.values())).scale
        metrics: tuple[Metric, ...] = ("nominal",) if scale is None else ("interval", "ordinal")
        for metric in metrics:
            statistic = partial(krippendorff_alpha, metric=metric)
            alpha = interval(tables, statistic, _ratings, seed)
            ratings = round(float(tables.sum()))
            results.append(Reliability(name, tuple(judges), metric, items, ratings, alpha))
    return results


def coincidences_by_instance(
    raters: Sequence[Verdicts], labels: Sequence[str], instances: Mapping[str, Hashable]
) -> tuple[Tables, int]:
    """Return the coincidence tables by instance, and the number of items with several verdicts.

    Each of an item's m verdicts is paired with the other m - 1; each pair counts 1 / (m - 1), so
    that an item's weight is the number of its verdicts. Shape (instances, labels, labels).

    Args:
        raters: the verdicts of each rater.
        labels: all possible verdicts.
        instances: the instance of each match.
    """
    positions = {label: position for position, label in enumerate(labels)}
    counts: dict[tuple[str, str], NDArray[np.float64]] = {}
    for verdicts in raters:
        for match, items in verdicts.items():
            for item, verdict in items.items():
                count = counts.setdefault((match, item), np.zeros(len(labels)))
                count[positions[verdict]] += 1
    shared = {key: count for key, count in sorted(counts.items()) if count.sum() > 1}
    tables: dict[Hashable, Tables] = {}
    for (match, _), count in shared.items():
        table = tables.setdefault(instances[match], np.zeros((len(labels), len(labels))))
        table += (np.outer(count, count) - np.diag(count)) / (count.sum() - 1)
    return np.array([*tables.values()]).reshape(-1, len(labels), len(labels)), len(shared)


def krippendorff_alpha(tables: NDArray[Any], metric: Metric) -> NDArray[np.float64]:
    """Return Krippendorff's alpha of each table of coincidences.

    With o_ck the coincidences of the verdicts c and k, n_c their sum over k, n the total, and
    d_ck the difference of c and k, alpha is

        1 - (n - 1) * sum of o_ck d_ck / sum of n_c n_k d_ck.

    d_ck is 1 for different categories (nominal); the squared difference (interval); or the
    squared number of verdicts between c and k in order, with half of those of c and k (ordinal).
    Source: Krippendorff 2019, Content Analysis (4th edition), chapter 12.

    Args:
        tables: shape (tables, verdicts, verdicts), verdicts in order, one unit apart.
        metric: see :data:`Metric`.

    Returns:
        Shape (tables,); NaN if all verdicts are the same.

    >>> table = np.array([[[20, 5], [5, 10]]])
    >>> round(float(krippendorff_alpha(table, "nominal")[0]), 4)
    0.48
    """
    totals = tables.sum(axis=2, dtype=float)
    if metric == "ordinal":
        below = totals.cumsum(axis=1) - totals / 2
        distances = (below[:, :, None] - below[:, None, :]) ** 2
    else:
        positions = np.arange(tables.shape[1], dtype=float)
        steps = positions[:, None] - positions[None, :]
        distances = (steps**2 if metric == "interval" else (steps != 0).astype(float))[None]
    observed = (tables * distances).sum(axis=(1, 2))
    expected = (totals[:, :, None] * totals[:, None, :] * distances).sum(axis=(1, 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        alpha: NDArray[np.float64] = 1 - (totals.sum(axis=1) - 1) * observed / expected
    return np.where(expected > 0, alpha, np.nan)


def _ratings(tables: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(tables.sum(axis=(1, 2), dtype=float))
