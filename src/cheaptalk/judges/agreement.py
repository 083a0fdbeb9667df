"""Agreement of judges with each other and with a game's exact check."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cheaptalk.judges.items import move_name
from cheaptalk.judges.rubrics import Rubric
from cheaptalk.judges.verdicts import valid_verdicts
from cheaptalk.printing.printout import Printed, Printout
from cheaptalk.records import Store
from cheaptalk.records.judgements import instances_of, judges_of
from cheaptalk.records.store.lookup import StoreLike, StudyLike, reads
from cheaptalk.records.store.queries import read_records
from cheaptalk.rules import counted, get_game
from cheaptalk.rules.display import brief
from cheaptalk.statistics.limits import percentiles

DRAWS = 2_000
"""Bootstrap samples of an interval."""
CELLS = 2_000_000
"""Maximum numbers drawn per bootstrap batch, which bounds memory."""
ENOUGH = 10
"""Minimum number of instances for an interval."""
VerdictTables = NDArray[np.int64]
"""Counts by instance, reference verdict (rows) and judge's verdict (columns)."""
Cells = NDArray[np.bool_]
"""A mask that selects cells of such a table."""
TableStatistic = Callable[[NDArray[Any]], NDArray[np.float64]]
"""A function that returns a number for each table; NaN if undefined."""
CHECK = "exact check"
Verdicts = Mapping[str, Mapping[str, str]]
"""Verdicts by match and item."""


class Interval(NamedTuple):
    """An estimate with a 95 % confidence interval and the number of instances.

    Attributes:
        value: the estimate; None if undefined.
        low, high: the bounds; None if the interval is undefined.
        instances: number of instances with at least one relevant item.
    """

    value: float | None
    low: float | None
    high: float | None
    instances: int

    @property
    def missing(self) -> str:
        """The reason why a value has no interval; empty if it has one or there is no value."""
        if self.value is None or self.low is not None:
            return ""
        if self.instances < ENOUGH:
            return f"too few instances for an interval ({self.instances}; minimum {ENOUGH})"
        return "no interval: all instances have the same value"


class Share(NamedTuple):
    """A proportion of items with its confidence interval; without items, the value is None."""

    part: int
    whole: int
    interval: Interval

    @property
    def value(self) -> float | None:
        return self.interval.value


@dataclass(frozen=True, repr=False)
class Agreement(Printed):
    """The agreement of a judge with a reference, which is an exact check or another judge.

    Attributes:
        judge: the judge's digest.
        reference: the other judge's digest, or ``exact check``.
        labels: the verdicts, in the order of the rubric.
        table: counts of the reference's (rows) and the judge's verdicts (columns).
        finds: the labels that count as positive.
        matches: number of matches with an item that has both verdicts.
        silent: number of items without a verdict of the reference.
        weighted: whether kappa squares differences, as for scores.
        kappa: Cohen's kappa.
        same: share of the common items with identical verdicts.
        precision: share of the judge's positive items that the reference confirms.
        recall: share of the reference's positive items that the judge finds.
        alike: share of the common items that are positive, or negative, in both verdicts.
    """

    judge: str
    reference: str
    labels: tuple[str, ...]
    table: tuple[tuple[int, ...], ...]
    finds: tuple[str, ...]
    matches: int
    silent: int
    weighted: bool
    kappa: Interval
    same: Share
    precision: Share
    recall: Share
    alike: Share

    def printout(self) -> Printout:
        kappa = "undefined" if self.kappa.value is None else f"{self.kappa.value:.3f}"
        items = counted(self.items, "item")
        title = f"{self.judge} with {self.reference}, {items}, kappa {kappa}"
        rows = [(label, *row) for label, row in zip(self.labels, self.table, strict=True)]
        return Printout(title, ["reference", *self.labels], rows)

    @property
    def items(self) -> int:
        """Number of items with a verdict from both the judge and the reference."""
        return sum(map(sum, self.table))


@reads
def agreements(store: StoreLike, study: StudyLike, *, seed: int = 0) -> list[Agreement]:
    """Return each judge's agreement with the exact check and with other judges of a study.

    Two judges are compared on the items for which both gave a valid verdict, if their rubrics have
    the same name and verdicts. The reference is the earlier judge, or a person. An agreement with
    the exact check can have no items, because the check covers only some moves.

    Cohen's kappa (1960, A coefficient of agreement for nominal scales) is 1 - D / E. D is the
    observed disagreement, and E is the disagreement expected from independent verdicts with the
    same frequencies. Two different categories disagree by 1, and two scores by the square of their
    difference (Cohen 1968, weighted kappa). For the intervals, see :func:`.interval`.

    Args:
        seed: seed of the bootstrap.

    Raises:
        StoreError: the store has no study of this name.
    """
    assert isinstance(store, Store)
    assert isinstance(study, str)
    store.study(study)
    judges = judges_of(store, study)
    rubrics = {key: Rubric.model_validate(spec["rubric"]) for key, spec in judges.items()}
    verdicts = {key: valid_verdicts(store, study, key) for key in judges}
    compare = partial(_compare, instances=instances_of(store, study), seed=seed)
    results = []
    for key, rubric in rubrics.items():
        exact = _checked(store, study, rubric, list(verdicts[key]))
        if exact:
            results.append(compare(key, CHECK, rubric, verdicts[key], exact))
    by_hand_first = sorted(rubrics, key=lambda key: "person" not in judges[key]["model"])
    for first, second in combinations(by_hand_first, 2):
        same_rubric = rubrics[first].name == rubrics[second].name
        if same_rubric and rubrics[first].labels == rubrics[second].labels:
            agreement = compare(second, first, rubrics[first], verdicts[second], verdicts[first])
            results += [agreement] if agreement.items else []
    return results


def _checked(
    store: Store, study: str, rubric: Rubric, ids: Sequence[str]
) -> dict[str, dict[str, str]]:
    verdicts: dict[str, dict[str, str]] = {}
    for record in read_records(store, study, ids):
        check = get_game(record.game).checks.get(rubric.name)
        if check is not None and rubric.item == "move":
            categories = check(record.result()).items()
            verdicts[record.id] = {move_name(*move): category for move, category in categories}
    return verdicts


def _compare(
    judge: str,
    reference: str,
    rubric: Rubric,
    judged: Verdicts,
    expected: Verdicts,
    *,
    instances: Mapping[str, Hashable],
    seed: int,
) -> Agreement:
    known = {verdict for verdicts in expected.values() for verdict in verdicts.values()}
    labels = [*rubric.labels, *sorted(known.difference(rubric.labels))]
    by_instance: defaultdict[Hashable, VerdictTables] = defaultdict(
        lambda: np.zeros((len(labels), len(labels)), np.int64)
    )
    matches = set()
    for match, verdicts in sorted(judged.items()):
        reference_verdicts = expected.get(match, {})
        for item in verdicts.keys() & reference_verdicts.keys():
            matches.add(match)
            cell = labels.index(reference_verdicts[item]), labels.index(verdicts[item])
            by_instance[instances[match]][cell] += 1
    tables = np.array([*by_instance.values()]).reshape(-1, len(labels), len(labels))
    is_find = np.isin(labels, rubric.finds)
    reference_finds, judge_finds = np.meshgrid(is_find, is_find, indexing="ij")
    all_cells = np.full_like(judge_finds, True)
    weighted = rubric.scale is not None
    weighted_kappa = partial(kappa, weights=_weights(labels, squared=weighted))
    share = partial(_share, tables, seed=seed)
    items, table = sum(map(len, judged.values())), tables.sum(axis=0)
    return Agreement(
        judge,
        reference,
        tuple(labels),
        tuple(map(tuple, table.tolist())),
        tuple(rubric.finds),
        len(matches),
        items - int(table.sum()),
        weighted,
        interval(tables, weighted_kappa, seed),
        share(np.eye(len(labels), dtype=bool), all_cells),
        share(reference_finds & judge_finds, judge_finds),
        share(reference_finds & judge_finds, reference_finds),
        share(reference_finds == judge_finds, all_cells),
    )


def _share(tables: VerdictTables, numerator: Cells, denominator: Cells, *, seed: int) -> Share:
    """Return the ratio of the item counts in two sets of table cells, with a bootstrap interval."""

    def value(resamples: NDArray[Any]) -> NDArray[np.float64]:
        with np.errstate(invalid="ignore", divide="ignore"):
            return _totals(resamples * numerator) / _totals(resamples * denominator)

    part, total = (int((tables * cells).sum()) for cells in (numerator, denominator))
    return Share(part, total, interval(tables * denominator, value, seed))


def _totals(tables: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(tables.sum(axis=(1, 2), dtype=float))


def _weights(labels: Sequence[object], *, squared: bool) -> NDArray[np.float64]:
    positions = np.arange(len(labels), dtype=float)
    differences = positions[:, None] - positions[None, :]
    return differences**2 if squared else (differences != 0).astype(float)


def kappa(tables: NDArray[Any], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Cohen's kappa of each table of counts; NaN if all verdicts are the same.

    >>> float(kappa(np.array([[[20, 5], [10, 15]]]), _weights("ab", squared=False))[0])
    0.4
    """
    total = tables.sum(axis=(1, 2), dtype=float)
    with np.errstate(invalid="ignore", divide="ignore"):
        rows, columns = tables.sum(axis=2)[:, :, None], tables.sum(axis=1)[:, None, :]
        expected = (rows * columns / total[:, None, None] * weights).sum(axis=(1, 2))
        value: NDArray[np.float64] = 1 - (tables * weights).sum(axis=(1, 2)) / expected
    return value


def interval(tables: NDArray[Any], statistic: TableStatistic, seed: int) -> Interval:
    """Return a statistic of the summed tables, with its 95 % bootstrap interval.

    The bootstrap draws 2,000 samples of instances, because verdicts on the same instance are
    dependent. The interval spans the 2.5 % and 97.5 % quantiles (Efron and Tibshirani 1993, An
    Introduction to the Bootstrap, chapter 13). With fewer than ten instances, the interval would be
    too narrow (Cameron and Miller 2015, section VI) and is undefined. It is also undefined if all
    samples have the same value.

    Args:
        tables: counts of the relevant items, shape (instances, labels, labels).
        statistic: the statistic of each table.
        seed: seed of the bootstrap.
    """
    value = float(statistic(tables.sum(axis=0)[None])[0])
    instances = int(np.count_nonzero(_totals(tables)))
    if np.isnan(value):
        return Interval(None, None, None, instances)
    if instances >= ENOUGH:
        low, high = percentiles(_resampled(tables, statistic, np.random.default_rng(seed)))
        if high - low >= 1e-12:
            return Interval(value, float(low), float(high), instances)
    return Interval(value, None, None, instances)


def _resampled(
    tables: NDArray[Any], statistic: TableStatistic, rng: np.random.Generator
) -> NDArray[np.float64]:
    instances = len(tables)
    flat = tables.reshape(instances, -1).astype(float)
    values = []
    batch_size = max(1, CELLS // max(instances, flat.shape[1]))
    for start in range(0, DRAWS, batch_size):
        size = min(batch_size, DRAWS - start)
        weights = rng.multinomial(instances, np.full(instances, 1 / instances), size=size)
        values.append(statistic((weights @ flat).reshape(size, *tables.shape[1:])))
    return np.concatenate(values)


Metric = Literal["nominal", "ordinal", "interval"]
"""The level of measurement of verdicts, which determines their distances."""
Tables = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Reliability(Printed):
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


@reads
def reliabilities(store: StoreLike, study: StudyLike, *, seed: int = 0) -> list[Reliability]:
    """Return the agreement between all raters of each rubric, both models and people.

    Raters form a group if their rubrics have the same name and verdicts. Items with at least two
    valid verdicts count. A scale has two results: ``interval`` uses the distances between scores,
    and ``ordinal`` only their order. For the intervals, see :func:`.interval`.

    Args:
        seed: seed of the bootstrap.

    Raises:
        StoreError: the store has no study of this name.
    """
    assert isinstance(store, Store)
    assert isinstance(study, str)
    store.study(study)
    groups: defaultdict[tuple[str, tuple[str, ...]], dict[str, Rubric]] = defaultdict(dict)
    for key, spec in judges_of(store, study).items():
        rubric = Rubric.model_validate(spec["rubric"])
        groups[rubric.name, tuple(rubric.labels)][key] = rubric
    instances, results = instances_of(store, study), []
    for (name, labels), judges in groups.items():
        verdicts = [valid_verdicts(store, study, key) for key in judges]
        tables, items = coincidences_by_instance(verdicts, labels, instances)
        scale = next(iter(judges.values())).scale
        metrics: tuple[Metric, ...] = ("nominal",) if scale is None else ("interval", "ordinal")
        for metric in metrics if items else ():
            alpha = interval(tables, partial(krippendorff_alpha, metric=metric), seed)
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
        distances = _weights(range(tables.shape[1]), squared=metric == "interval")[None]
    observed = (tables * distances).sum(axis=(1, 2))
    expected = (totals[:, :, None] * totals[:, None, :] * distances).sum(axis=(1, 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        alpha: NDArray[np.float64] = 1 - (totals.sum(axis=1) - 1) * observed / expected
    return np.where(expected > 0, alpha, np.nan)
