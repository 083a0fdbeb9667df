"""How well judges agree: with the exact check of a game, and with one another."""

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
from cheaptalk.records.judgements import deals_of, judges_of, read_judgements
from cheaptalk.records.store.queries import some
from cheaptalk.rules import counted, game_box
from cheaptalk.rules.display import brief, html_table
from cheaptalk.studies.lookup import reads_study

DRAWS = 2_000
"""Resamples of a bootstrap."""
CELLS = 2_000_000
"""Numbers that a bootstrap draws at once, so that memory stays flat."""
ENOUGH = 10
"""Deals from which on an interval is given."""
VerdictTables = NDArray[np.int64]
"""How often the reference said one verdict (rows) and the judge another (columns), by deal."""
Cells = NDArray[np.bool_]
"""Which verdicts of both count, shape of a table."""
TableStatistic = Callable[[NDArray[Any]], NDArray[np.float64]]
"""A number of each of some tables; not a number where it is not defined."""
CHECK = "exact check"
Verdicts = Mapping[str, Mapping[str, str]]
"""What was said of items, by match and item."""


class Interval(NamedTuple):
    """A value, its 95 % interval, and the deals that it rests on.

    Attributes:
        value: None where it is not defined.
        low, high: None where there is no interval.
        deals: those with an item that counts for it.
    """

    value: float | None
    low: float | None
    high: float | None
    deals: int

    @property
    def missing(self) -> str:
        """Why there is no interval; empty where there is one."""
        if self.value is None or self.low is not None:
            return ""
        if self.deals < ENOUGH:
            return f"too few deals for an interval ({self.deals}; it takes {ENOUGH})"
        return "no interval: no two deals differ in it"


class Share(NamedTuple):
    """A part of some items, with the interval of the share; no value where there are none."""

    part: int
    whole: int
    interval: Interval

    @property
    def value(self) -> float | None:
        return self.interval.value


@dataclass(frozen=True)
class Agreement:
    """How well a judge agrees with a reference: the exact check, or another judge.

    Attributes:
        judge, reference: the judge's digest; the other's, or ``exact check``.
        labels: the verdicts, in the order of the rubric.
        table: how often the reference said one (rows) and the judge another (columns).
        finds: the labels that count as finds.
        matches: matches with an item of which both said something.
        silent: items that the judge judged and of which the reference says nothing.
        weighted: whether kappa counts a disagreement by its square, as it does of scores.
        kappa: Cohen's kappa.
        same: of the items of which both said something, those of which both said the same.
        precision: of the items in which the judge found something, those in which the reference
            did.
        recall: of the items in which the reference found something, those in which the judge did.
        alike: of the items of which both said something, those in which both found something, of
            whatever kind, or neither did.
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
        """Items of which both said something."""
        return sum(map(sum, self.table))


@reads_study
def agreements(store: Store, study: str, *, seed: int = 0) -> list[Agreement]:
    """How well each judge of a study agrees with the exact check, and with the other judges.

    Judges are compared who judged by rubrics of one name with the same verdicts, on the items that
    both gave a valid verdict on: the later with the earlier, and a model with people. With the
    check, on the moves of which it says something; where it says nothing of any, the agreement has
    no items.

    Cohen's kappa (1960, A coefficient of agreement for nominal scales) is 1 - D / E: D is how much
    the two disagree, E how much they would if each kept its own frequencies and they were
    independent. Two different categories disagree by 1; two scores by the square of their
    difference (Cohen 1968, weighted kappa). How its interval and those of the shares are made says
    :func:`.interval`.

    Args:
        seed: of the bootstrap.

    Raises:
        StoreError: there is no such study.
    """
    store.study(study)
    judges = judges_of(store, study)
    rubrics = {key: Rubric.model_validate(spec["rubric"]) for key, spec in judges.items()}
    said = {key: valid_verdicts(store, study, key) for key in judges}
    compare = partial(_compare, deals=deals_of(store, study), seed=seed)
    found = []
    for key, rubric in rubrics.items():
        checked = _checked(store, study, rubric, list(said[key]))
        if checked:
            found.append(compare(key, CHECK, rubric, said[key], checked))
    by_hand_first = sorted(rubrics, key=lambda key: "person" not in judges[key]["model"])
    for one, other in combinations(by_hand_first, 2):
        alike = rubrics[one].name == rubrics[other].name
        if alike and rubrics[one].labels == rubrics[other].labels:
            both = compare(other, one, rubrics[one], said[other], said[one])
            found += [both] if both.items else []
    return found


def valid_verdicts(store: Store, study: str, judge: str) -> dict[str, dict[str, str]]:
    """Return the valid verdicts of a judge, by match and item."""
    found: dict[str, dict[str, str]] = {}
    for one in read_judgements(store, study=study, judge=judge):
        if one.verdict is not None:
            found.setdefault(one.match_id, {})[one.item] = label(one.verdict)
    return found


def _checked(
    store: Store, study: str, rubric: Rubric, ids: Sequence[str]
) -> dict[str, dict[str, str]]:
    """What the check that a game has for a rubric says of these matches."""
    found: dict[str, dict[str, str]] = {}
    for record in some(store, study, ids):
        check = game_box(record.game).checks.get(rubric.name)
        if check is not None and rubric.item == "move":
            said = check(record.result())
            found[record.id] = {move_name(*where): category for where, category in said.items()}
    return found


def _compare(
    judge: str,
    reference: str,
    rubric: Rubric,
    said: Verdicts,
    referred: Verdicts,
    *,
    deals: Mapping[str, Hashable],
    seed: int,
) -> Agreement:
    labels = list(rubric.labels)
    labels += sorted({one for of in referred.values() for one in of.values()} - set(labels))
    by_deal: defaultdict[Hashable, VerdictTables] = defaultdict(
        lambda: np.zeros((len(labels), len(labels)), np.int64)
    )
    matches = set()
    for match, verdicts in sorted(said.items()):
        theirs = referred.get(match, {})
        for item in verdicts.keys() & theirs.keys():
            matches.add(match)
            at = labels.index(theirs[item]), labels.index(verdicts[item])
            by_deal[deals[match]][at] += 1
    tables = np.array([*by_deal.values()]).reshape(-1, len(labels), len(labels))
    find = np.isin(labels, rubric.finds)
    other, ours = np.meshgrid(find, find, indexing="ij")
    everything = np.full_like(ours, True)
    weighted = rubric.scale is not None
    weights = _weights(labels, squared=weighted)
    share = partial(_share, tables, seed=seed)
    items, table = sum(map(len, said.values())), tables.sum(axis=0)
    return Agreement(
        judge, reference, tuple(labels), tuple(map(tuple, table.tolist())), tuple(rubric.finds),
        len(matches), items - int(table.sum()), weighted,
        interval(tables, partial(kappa, weights=weights), partial(_count, cells=everything), seed),
        share(np.eye(len(labels), dtype=bool), everything),
        share(other & ours, ours),
        share(other & ours, other),
        share(other == ours, everything),
    )  # fmt: skip


def _share(tables: VerdictTables, part: Cells, whole: Cells, *, seed: int) -> Share:
    """A part of a whole, both cells of tables."""
    upper, lower = (partial(_count, cells=cells) for cells in (part, whole))

    def value(some: NDArray[Any]) -> NDArray[np.float64]:
        with np.errstate(invalid="ignore", divide="ignore"):
            return upper(some) / lower(some)

    table = tables.sum(axis=0)
    return Share(
        int(table[part].sum()), int(table[whole].sum()), interval(tables, value, lower, seed)
    )


def _count(tables: NDArray[Any], cells: Cells) -> NDArray[np.float64]:
    """The items in some cells of each of some tables."""
    counts: NDArray[np.float64] = tables[:, cells].sum(axis=1, dtype=float)
    return counts


def _weights(labels: Sequence[str], *, squared: bool) -> NDArray[np.float64]:
    """How much two verdicts disagree."""
    places = np.arange(len(labels), dtype=float)
    apart = places[:, None] - places[None, :]
    return apart**2 if squared else (apart != 0).astype(float)


def kappa(tables: NDArray[Any], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cohen's kappa of each of some tables of counts; not a number where both are always one.

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
    """A statistic of all tables together, with its interval over resamples of deals.

    The interval is the 2.5 % and 97.5 % quantile over 2,000 bootstrap samples of whole deals (Efron
    and Tibshirani 1993, An Introduction to the Bootstrap, chapter 13), since what is said on one
    deal is not independent. There is none with fewer than ten deals, for which it would be too
    narrow (Cameron and Miller 2015, section VI), nor where the samples all give one value.

    Args:
        tables: one for each deal.
        statistic: the number.
        counts: how many items of a table count for it.
        seed: of the bootstrap.
    """
    value = float(statistic(tables.sum(axis=0)[None])[0])
    deals = int(np.count_nonzero(counts(tables)))
    if np.isnan(value):
        return Interval(None, None, None, deals)
    if deals < ENOUGH:
        return Interval(value, None, None, deals)
    drawn = _resampled(tables, statistic, np.random.default_rng(seed))
    low, high = np.quantile(drawn[~np.isnan(drawn)], (0.025, 0.975))
    if high - low < 1e-12:
        return Interval(value, None, None, deals)
    return Interval(value, float(low), float(high), deals)


def _resampled(
    tables: NDArray[Any], statistic: TableStatistic, draw: np.random.Generator
) -> NDArray[np.float64]:
    """The statistic of resamples of the deals, as many as there are."""
    deals = len(tables)
    flat = tables.reshape(deals, -1).astype(float)
    values = []
    at_once = max(1, CELLS // max(deals, flat.shape[1]))
    for start in range(0, DRAWS, at_once):
        size = min(at_once, DRAWS - start)
        times = draw.multinomial(deals, np.full(deals, 1 / deals), size=size)
        values.append(statistic((times @ flat).reshape(size, *tables.shape[1:])))
    return np.concatenate(values)
