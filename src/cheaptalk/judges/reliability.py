"""Krippendorff's alpha: how well all raters by a rubric agree, however many there are."""

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
from cheaptalk.records.judgements import deals_of, judges_of
from cheaptalk.rules.display import brief
from cheaptalk.studies.lookup import reads_study

Metric = Literal["nominal", "ordinal", "interval"]
"""What differences between verdicts mean: none but whether they differ, their order, their size."""
Tables = NDArray[np.float64]


@dataclass(frozen=True)
class Reliability:
    """How well the raters by a rubric agree.

    Attributes:
        rubric: its name.
        raters: the judges' digests.
        metric: ``nominal`` for categories; ``interval`` and ``ordinal`` for a scale.
        items: those with a valid verdict of two raters or more; others say nothing of agreement.
        ratings: the valid verdicts on these items.
        alpha: Krippendorff's alpha: 1 for full agreement, 0 for none beyond chance.
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
    """Return how well all raters by each rubric agree, models and people alike.

    Raters belong together whose rubrics have the same name and the same verdicts. Each item counts
    that two of them or more gave a valid verdict on, so that raters may lack items. Intervals are
    those of :func:`.interval`, over resamples of whole deals. For a scale there are two: one takes
    distances between scores as they are, as the means of scores do, the other only their order.

    Args:
        seed: of the bootstrap.

    Raises:
        StoreError: there is no such study.
    """
    store.study(study)
    groups: defaultdict[tuple[str, tuple[str, ...]], dict[str, Rubric]] = defaultdict(dict)
    for key, spec in judges_of(store, study).items():
        rubric = Rubric.model_validate(spec["rubric"])
        groups[rubric.name, tuple(rubric.labels)][key] = rubric
    deals, found = deals_of(store, study), []
    for (name, labels), judges in groups.items():
        if len(judges) < 2:
            continue
        verdicts = [valid_verdicts(store, study, key) for key in judges]
        tables, items = coincidences_by_deal(verdicts, labels, deals)
        if not items:
            continue
        scale = next(iter(judges.values())).scale
        metrics: tuple[Metric, ...] = ("nominal",) if scale is None else ("interval", "ordinal")
        for metric in metrics:
            statistic = partial(krippendorff_alpha, metric=metric)
            alpha = interval(tables, statistic, _ratings, seed)
            ratings = round(float(tables.sum()))
            found.append(Reliability(name, tuple(judges), metric, items, ratings, alpha))
    return found


def coincidences_by_deal(
    raters: Sequence[Verdicts], labels: Sequence[str], deals: Mapping[str, Hashable]
) -> tuple[Tables, int]:
    """Return the coincidences of verdicts, shape (deals, labels, labels), and the number of items.

    Each of the m verdicts on an item, 2 at least, makes pairs with the m - 1 others; each pair
    counts 1 / (m - 1), so that an item counts as often as it has verdicts.

    Args:
        raters: the verdicts of each.
        labels: all verdicts.
        deals: of each match.
    """
    places = {label: at for at, label in enumerate(labels)}
    counts: dict[tuple[str, str], NDArray[np.float64]] = {}
    for verdicts in raters:
        for match, items in verdicts.items():
            for item, verdict in items.items():
                count = counts.setdefault((match, item), np.zeros(len(labels)))
                count[places[verdict]] += 1
    shared = {key: count for key, count in sorted(counts.items()) if count.sum() > 1}
    tables: dict[Hashable, Tables] = {}
    for (match, _), count in shared.items():
        table = tables.setdefault(deals[match], np.zeros((len(labels), len(labels))))
        table += (np.outer(count, count) - np.diag(count)) / (count.sum() - 1)
    return np.array([*tables.values()]).reshape(-1, len(labels), len(labels)), len(shared)


def krippendorff_alpha(tables: NDArray[Any], metric: Metric) -> NDArray[np.float64]:
    """Return Krippendorff's alpha of each of some tables of coincidences.

    With o_ck the coincidences of the verdicts c and k, n_c their sum over k, n that of all, and
    d_ck how much c and k differ, alpha is

        1 - (n - 1) * sum of o_ck d_ck / sum of n_c n_k d_ck.

    d_ck is 1 of different categories (nominal); the square of the difference (interval); or the
    square of the verdicts that lie between c and k in order, of c and k themselves half (ordinal).
    Source: Krippendorff 2019, Content Analysis (4th edition), chapter 12.

    Args:
        tables: shape (tables, verdicts, verdicts), verdicts in order, one unit apart.
        metric: how differences count.

    Returns:
        Shape (tables,); not a number where all verdicts are the same.

    >>> table = np.array([[[20, 5], [5, 10]]])
    >>> round(float(krippendorff_alpha(table, "nominal")[0]), 4)
    0.48
    """
    of_verdict = tables.sum(axis=2, dtype=float)
    if metric == "ordinal":
        below = of_verdict.cumsum(axis=1) - of_verdict / 2
        apart = (below[:, :, None] - below[:, None, :]) ** 2
    else:
        places = np.arange(tables.shape[1], dtype=float)
        steps = places[:, None] - places[None, :]
        apart = (steps**2 if metric == "interval" else (steps != 0).astype(float))[None]
    observed = (tables * apart).sum(axis=(1, 2))
    expected = (of_verdict[:, :, None] * of_verdict[:, None, :] * apart).sum(axis=(1, 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        alpha: NDArray[np.float64] = 1 - (of_verdict.sum(axis=1) - 1) * observed / expected
    return np.where(expected > 0, alpha, np.nan)


def _ratings(tables: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(tables.sum(axis=(1, 2), dtype=float))
