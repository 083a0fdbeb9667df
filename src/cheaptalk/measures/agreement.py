"""How well judges agree: with the exact check of a game, and with one another."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cheaptalk.measures.items import move_name
from cheaptalk.measures.judging import label
from cheaptalk.measures.rubrics import Rubric
from cheaptalk.records import Store
from cheaptalk.records.browsing import some
from cheaptalk.records.judgements import judges_of, read_judgements
from cheaptalk.rules import game_box

DRAWS = 2_000
"""Resamples of a bootstrap."""
CELLS = 2_000_000
"""Numbers that a bootstrap draws at once, so that memory stays flat."""
CHECK = "exact check"

Counts = NDArray[np.int64]
Labels = Mapping[str, Mapping[str, str]]
"""What was said of items, by match and item."""


class Share(NamedTuple):
    """A part of a whole; ``value`` is None where the whole is empty."""

    part: int
    whole: int

    @property
    def value(self) -> float | None:
        return self.part / self.whole if self.whole else None


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
        kappa: Cohen's kappa; None where it is not defined.
        low, high: its interval; None with fewer than two matches.
    """

    judge: str
    reference: str
    labels: tuple[str, ...]
    table: tuple[tuple[int, ...], ...]
    finds: tuple[str, ...]
    matches: int
    silent: int
    kappa: float | None
    low: float | None
    high: float | None

    @property
    def items(self) -> int:
        """Items of which both said something."""
        return sum(map(sum, self.table))

    @property
    def same(self) -> Share:
        """Items of which both said the same."""
        return Share(sum(row[place] for place, row in enumerate(self.table)), self.items)

    @property
    def precision(self) -> Share:
        """Of the items in which the judge found something, those in which the reference did."""
        return Share(self._found(both=True), self._found(both=False, judge=True))

    @property
    def recall(self) -> Share:
        """Of the items in which the reference found something, those in which the judge did."""
        return Share(self._found(both=True), self._found(both=False, judge=False))

    def _found(self, *, both: bool, judge: bool = True) -> int:
        places = {place for place, name in enumerate(self.labels) if name in self.finds}
        return sum(
            count
            for row, counts in enumerate(self.table)
            for column, count in enumerate(counts)
            if (
                row in places and column in places if both else (column if judge else row) in places
            )
        )


def agreements(store: Store, study: str, *, seed: int = 0) -> list[Agreement]:
    """How well each judge of a study agrees with the exact check, and with the other judges.

    Judges are compared who judged by rubrics of one name with the same verdicts, on the items that
    both gave a valid verdict on. With the check, on the moves of which it says something.

    Cohen's kappa (1960, A coefficient of agreement for nominal scales) is 1 - D / E: D is how much
    the two disagree, E how much they would if each kept its own frequencies and they were
    independent. Two different categories disagree by 1; two scores by the square of their
    difference (Cohen 1968, weighted kappa). Its interval is the 2.5 % and 97.5 % quantile over
    2,000 bootstrap samples of whole matches (Efron and Tibshirani 1993, chapter 13), since what is
    said in one match is not independent.

    Args:
        seed: of the bootstrap.

    Raises:
        StoreError: there is no such study.
    """
    store.study(study)
    judges = judges_of(store, study)
    rubrics = {key: Rubric.model_validate(spec["rubric"]) for key, spec in judges.items()}
    said = {key: _said(store, study, key) for key in judges}
    found = []
    for key, rubric in rubrics.items():
        checked = _checked(store, study, rubric, list(said[key]))
        if any(checked.values()):
            found.append(_compare(key, CHECK, rubric, said[key], checked, seed))
    for one, other in combinations(rubrics, 2):
        alike = rubrics[one].name == rubrics[other].name
        if alike and rubrics[one].labels == rubrics[other].labels:
            both = _compare(other, one, rubrics[one], said[other], said[one], seed)
            found += [both] if both.items else []
    return found


def _said(store: Store, study: str, judge: str) -> dict[str, dict[str, str]]:
    """The valid verdicts of a judge."""
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
    judge: str, reference: str, rubric: Rubric, said: Labels, referred: Labels, seed: int
) -> Agreement:
    """One judge against a reference."""
    labels = list(rubric.labels)
    labels += sorted({one for of in referred.values() for one in of.values()} - set(labels))
    pairs = list(_pairs(said, referred))
    tables = np.zeros((len(pairs), len(labels), len(labels)), np.int64)
    for number, match in enumerate(pairs):
        for theirs, ours in match:
            tables[number, labels.index(theirs), labels.index(ours)] += 1
    weights = _weights(labels, squared=rubric.scale is not None)
    together: Counts = tables.sum(axis=0)
    low, high = _interval(tables, weights, np.random.default_rng(seed))
    items = sum(map(len, said.values()))
    value = float(kappa(together[None], weights)[0])
    return Agreement(
        judge, reference, tuple(labels), tuple(map(tuple, together.tolist())),
        tuple(rubric.finds), len(pairs), items - sum(map(len, pairs)),
        None if np.isnan(value) else value, low, high,
    )  # fmt: skip


def _pairs(said: Labels, referred: Labels) -> Iterator[list[tuple[str, str]]]:
    """By match, what the reference and the judge said of items of which both said something."""
    for match, verdicts in sorted(said.items()):
        theirs = referred.get(match, {})
        both = [(theirs[item], ours) for item, ours in verdicts.items() if item in theirs]
        if both:
            yield both


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


def _interval(
    tables: Counts, weights: NDArray[np.float64], draw: np.random.Generator
) -> tuple[float | None, float | None]:
    """The percentile interval of kappa over resamples of matches."""
    matches = len(tables)
    if matches < 2:
        return None, None
    flat = tables.reshape(matches, -1).astype(float)
    values: list[NDArray[np.float64]] = []
    at_once = max(1, CELLS // matches)
    for start in range(0, DRAWS, at_once):
        size = min(at_once, DRAWS - start)
        times = draw.multinomial(matches, np.full(matches, 1 / matches), size=size)
        values.append(kappa((times @ flat).reshape(size, *tables.shape[1:]), weights))
    drawn = np.concatenate(values)
    drawn = drawn[~np.isnan(drawn)]
    if not len(drawn):
        return None, None
    low, high = np.quantile(drawn, (0.025, 0.975))
    return float(low), float(high)
