"""Agreement of judges with a game's exact check and with one another."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cheaptalk.judges.answers import label
from cheaptalk.judges.items import move_name
from cheaptalk.judges.rubrics import Rubric
from cheaptalk.records import Store
from cheaptalk.records.judgements import instances_of, judges_of, read_judgements
from cheaptalk.records.store.queries import read_matches
from cheaptalk.rules import counted, get_game
from cheaptalk.rules.display import brief, html_table
from cheaptalk.studies.lookup import reads_study

DRAWS = 2_000
"""Bootstrap samples of an interval."""
CELLS = 2_000_000
"""Maximum numbers drawn per bootstrap batch, which bounds memory."""
ENOUGH = 10
"""Minimum number of instances for an interval."""
VerdictTables = NDArray[np.int64]
"""Counts by instance, reference verdict (rows) and judge's verdict (columns)."""
Cells = NDArray[np.bool_]
"""Mask of a table's cells that count."""
TableStatistic = Callable[[NDArray[Any]], NDArray[np.float64]]
"""A function from tables to one number each; NaN if undefined."""
CHECK = "exact check"
Verdicts = Mapping[str, Mapping[str, str]]
"""Verdicts by match and item."""


class Interval(NamedTuple):
    """A value with its 95 % confidence interval and the number of instances behind it.

    Attributes:
        value: None if undefined.
        low, high: the bounds; None if there is no interval.
        instances: number of instances with an item that counts.
    """

    value: float | None
    low: float | None
    high: float | None
    instances: int

    @property
    def missing(self) -> str:
        """The reason why there is no interval; empty if there is one."""
        if self.value is None or self.low is not None:
            return ""
        if self.instances < ENOUGH:
            return f"too few instances for an interval ({self.instances}; minimum {ENOUGH})"
        return "no interval: all instances have the same value"


class Share(NamedTuple):
    """A proportion of items with its confidence interval; the value is None without items."""

    part: int
    whole: int
    interval: Interval

    @property
    def value(self) -> float | None:
        return self.interval.value


@dataclass(frozen=True)
class Agreement:
    """Agreement of a judge with a reference: the exact check or another judge.

    Attributes:
        judge: the judge's digest.
        reference: the other judge's digest, or ``exact check``.
        labels: the verdicts, in the order of the rubric.
        table: counts of the reference's (rows) and the judge's verdicts (columns).
        finds: the labels that count as a find.
        matches: matches with an item that both judged.
        silent: items that only the judge judged.
        weighted: whether kappa squares differences, as for scores.
        kappa: Cohen's kappa.
        same: share of the common items with the same verdict.
        precision: share of the judge's finds that are also the reference's.
        recall: share of the reference's finds that are also the judge's.
        alike: share of the common items in which both or neither have a find of any kind.
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

    def __repr__(self) -> str:
        kappa = "undefined" if self.kappa.value is None else f"{self.kappa.value:.3f}"
        return brief(
            self,
            f"{self.judge} with {self.reference}, {counted(self.items, 'item')}, kappa {kappa}",
        )

    def _repr_html_(self) -> str:
        rows = zip(self.labels, *zip(*self.table, strict=True), strict=True)
        return html_table(repr(self)[1:-1], ["reference said", *self.labels], rows)

    @property
    def items(self) -> int:
        """Number of items with a verdict of both."""
        return sum(map(sum, self.table))


@reads_study
def agreements(store: Store, study: str, *, seed: int = 0) -> list[Agreement]:
    """Return the agreement of each judge of a study with the exact check and with other judges.

    Two judges are compared if their rubrics have the same name and the same verdicts, on the items
    for which both gave a valid verdict: the later judge with the earlier, and a model with people.
    The exact check covers only some moves; if it covers none, the agreement has no items.

    Cohen's kappa (1960, A coefficient of agreement for nominal scales) is 1 - D / E: D is the
    observed disagreement, E the disagreement expected if both kept their verdict frequencies and
    were independent. Two different categories disagree by 1; two scores by the square of their
    difference (Cohen 1968, weighted kappa). For the intervals, see :func:`.interval`.

    Args:
        seed: seed of the bootstrap.

    Raises:
        StoreError: there is no such study.
    """
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


def valid_verdicts(store: Store, study: str, judge: str) -> dict[str, dict[str, str]]:
    """Return the valid verdicts of a judge, by match and item."""
    verdicts: dict[str, dict[str, str]] = {}
    for judgement in read_judgements(store, study=study, judge=judge):
        if judgement.verdict is not None:
            verdicts.setdefault(judgement.match_id, {})[judgement.item] = label(judgement.verdict)
    return verdicts


def _checked(
    store: Store, study: str, rubric: Rubric, ids: Sequence[str]
) -> dict[str, dict[str, str]]:
    """Return the exact check's verdicts on these matches, by match and move."""
    verdicts: dict[str, dict[str, str]] = {}
    for record in read_matches(store, study, ids):
        check = get_game(record.game).checks.get(rubric.name)
        if check is not None and rubric.item == "move":
            categories = check(record.result())
            verdicts[record.id] = {
                move_name(*move): category for move, category in categories.items()
            }
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
    labels = list(rubric.labels)
    labels += sorted(
        {verdict for verdicts in expected.values() for verdict in verdicts.values()} - set(labels)
    )
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
    weights = _weights(labels, squared=weighted)
    share = partial(_share, tables, seed=seed)
    items, table = sum(map(len, judged.values())), tables.sum(axis=0)
    return Agreement(
        judge, reference, tuple(labels), tuple(map(tuple, table.tolist())), tuple(rubric.finds),
        len(matches), items - int(table.sum()), weighted,
        interval(tables, partial(kappa, weights=weights), partial(_count, cells=all_cells), seed),
        share(np.eye(len(labels), dtype=bool), all_cells),
        share(reference_finds & judge_finds, judge_finds),
        share(reference_finds & judge_finds, reference_finds),
        share(reference_finds == judge_finds, all_cells),
    )  # fmt: skip


def _share(tables: VerdictTables, numerator: Cells, denominator: Cells, *, seed: int) -> Share:
    """Return the share of the denominator's cells that the numerator's cells hold."""
    count_numerator, count_denominator = (
        partial(_count, cells=cells) for cells in (numerator, denominator)
    )

    def value(resamples: NDArray[Any]) -> NDArray[np.float64]:
        with np.errstate(invalid="ignore", divide="ignore"):
            return count_numerator(resamples) / count_denominator(resamples)

    table = tables.sum(axis=0)
    return Share(
        int(table[numerator].sum()),
        int(table[denominator].sum()),
        interval(tables, value, count_denominator, seed),
    )


def _count(tables: NDArray[Any], cells: Cells) -> NDArray[np.float64]:
    """Return the number of items in the given cells of each table."""
    counts: NDArray[np.float64] = tables[:, cells].sum(axis=1, dtype=float)
    return counts


def _weights(labels: Sequence[str], *, squared: bool) -> NDArray[np.float64]:
    """Return the disagreement of each pair of verdicts."""
    positions = np.arange(len(labels), dtype=float)
    differences = positions[:, None] - positions[None, :]
    return differences**2 if squared else (differences != 0).astype(float)


def kappa(tables: NDArray[Any], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Cohen's kappa of each table of counts; NaN if both always give the same verdict.

    >>> float(kappa(np.array([[[20, 5], [10, 15]]]), _weights("ab", squared=False))[0])
    0.4
    """
    total = tables.sum(axis=(1, 2), dtype=float)
    with np.errstate(invalid="ignore", divide="ignore"):
        expected = (
            tables.sum(axis=2)[:, :, None] * tables.sum(axis=1)[:, None, :] / total[:, None, None]
        )
        value: NDArray[np.float64] = 1 - (tables * weights).sum(axis=(1, 2)) / (
            expected * weights
        ).sum(axis=(1, 2))
    return value


def interval(
    tables: NDArray[Any], statistic: TableStatistic, counts: TableStatistic, seed: int
) -> Interval:
    """Return a statistic of all tables together, with its 95 % bootstrap interval.

    The interval spans the 2.5 % and 97.5 % quantiles over 2,000 bootstrap samples of instances
    (Efron and Tibshirani 1993, An Introduction to the Bootstrap, chapter 13), because verdicts on
    one instance are dependent. There is none with fewer than ten instances, for which it would
    be too narrow (Cameron and Miller 2015, section VI), nor if all samples give the same value.

    Args:
        tables: shape (instances, labels, labels).
        statistic: the function of tables.
        counts: the number of items of a table that count.
        seed: seed of the bootstrap.
    """
    value = float(statistic(tables.sum(axis=0)[None])[0])
    instances = int(np.count_nonzero(counts(tables)))
    if np.isnan(value):
        return Interval(None, None, None, instances)
    if instances < ENOUGH:
        return Interval(value, None, None, instances)
    samples = _resampled(tables, statistic, np.random.default_rng(seed))
    low, high = np.quantile(samples[~np.isnan(samples)], (0.025, 0.975))
    if high - low < 1e-12:
        return Interval(value, None, None, instances)
    return Interval(value, float(low), float(high), instances)


def _resampled(
    tables: NDArray[Any], statistic: TableStatistic, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the statistic of each bootstrap sample of the instances."""
    instances = len(tables)
    flat = tables.reshape(instances, -1).astype(float)
    values = []
    batch_size = max(1, CELLS // max(instances, flat.shape[1]))
    for start in range(0, DRAWS, batch_size):
        size = min(batch_size, DRAWS - start)
        weights = rng.multinomial(instances, np.full(instances, 1 / instances), size=size)
        values.append(statistic((weights @ flat).reshape(size, *tables.shape[1:])))
    return np.concatenate(values)
