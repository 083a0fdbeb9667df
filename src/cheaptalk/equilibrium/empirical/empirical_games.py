"""Empirical games: payoffs estimated from matches that can be resampled."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations_with_replacement, product
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.optimize import Bounds, LinearConstraint, milp

from cheaptalk.equilibrium.empirical.cells import (
    Cell,
    CellName,
    GameSample,
    Key,
    sample_of_payoffs,
    samples_of,
)
from cheaptalk.equilibrium.solvers import profiles
from cheaptalk.equilibrium.solvers.payoffs import (
    Floats,
    Integers,
    payoffs_printout,
    symmetric_payoffs,
)
from cheaptalk.frames import read_matches
from cheaptalk.frames.matches import SCORED
from cheaptalk.frames.reader import places_in
from cheaptalk.printing.printout import Printed, Printout
from cheaptalk.records.store.lookup import StoreLike, StudyLike, name_of
from cheaptalk.rules import CheaptalkError, counted
from cheaptalk.rules.arguments import checked
from cheaptalk.rules.errors import Advice, WrongValue
from cheaptalk.statistics.columns import Frame, as_polars
from cheaptalk.statistics.intervals import ENOUGH
from cheaptalk.text import aligned

LISTED = 3
"""The maximum number of cells that an error lists."""
T = TypeVar("T", bound="Empirical")


class OneSided(CheaptalkError, ValueError):
    """Raised if some pairs of players always sat in the same order."""


@dataclass(frozen=True, eq=False, repr=False)
class Empirical(Printed):
    """The base of symmetric and bimatrix empirical games.

    Attributes:
        samples: the matches of each mixed game, usually one.
        weights: the weights of the samples, summing to 1.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    metrics: tuple[str, ...]
    samples: tuple[GameSample, ...] = field(repr=False)
    weights: tuple[float, ...]
    swapped: ClassVar[bool]
    """Whether a cell contains both orders of its players."""

    @classmethod
    @checked
    def of_frame(
        cls: type[T],
        frame: Frame,
        *,
        metrics: Sequence[str] = (),
        by: str | None = "configuration",
        weights: Mapping[str, float] | None = None,
        one_sided: bool = False,
    ) -> T:
        """Build the empirical game from a frame of matches of a game with two seats.

        Only finished matches that aren't excluded count. Instances are the clusters.

        Args:
            frame: the matches, as :func:`.read_matches` returns them.
            metrics: further columns to keep, such as ``nash_welfare``.
            by: the column that identifies games, which become separate samples of a mixture;
                ``None`` treats all matches as one game.
            weights: positive weights by sample name: the parameters in which configurations differ
                (``rounds=3``), or the values of ``by`` as text. Equal by default, as in the item
                bargaining paper's BGS0 of BG4 to BG6 (section 5).
            one_sided: accept cells whose players always sat in one order; use it if the two seats
                are identical.

        Raises:
            WrongValue: the frame lacks a column, doesn't have exactly two seats, or has no scored
                match; weights don't match the samples; or players always sat in one order.
        """
        frame = as_polars(frame)
        seats = places_in(frame)
        if len(seats) != 2:
            raise WrongValue(f"An empirical game needs matches of 2 players, not of {len(seats)}")
        absent = [name for name in (*metrics, *([by] if by else [])) if name not in frame.columns]
        if absent:
            raise WrongValue(
                f'The frame has no column "{absent[0]}"; it has: {", ".join(frame.columns)}'
            )
        scored = frame.filter(SCORED).drop_nulls([f"payoff_{seat}" for seat in seats])
        if scored.is_empty():
            raise WrongValue("The frame has no finished match that counts; play the study first")
        row_labels, column_labels = (set(scored[f"player_{seat}"].unique()) for seat in seats)
        if cls.swapped:
            row_labels = column_labels = row_labels | column_labels
        rows, columns = tuple(sorted(row_labels)), tuple(sorted(column_labels))
        samples = samples_of(scored, seats, rows, columns, metrics, by, swap=cls.swapped)
        if len(samples) == 1:
            samples = (replace(samples[0], name=""),) if not weights else samples
        game = cls(rows, columns, tuple(metrics), samples, _shares(samples, weights))
        if game.one_sided and not one_sided:
            raise OneSided(
                f"the players of {listed(game.one_sided)} never swapped seats; also play the "
                "swapped seats, or ",
                Advice("use one_sided=True", "one_sided", True),
                " if the seats are identical",
            )
        return game

    @property
    def _origin(self) -> str:
        """The number of matches behind the payoffs, as text."""
        matches = sum(cell.matches for sample in self.samples for cell in sample.cells.values())
        return counted(matches, "match") if self.sampled else "given payoffs"

    @classmethod
    @checked
    def of_study(
        cls: type[T],
        store: StoreLike,
        *studies: StudyLike,
        game: str | None = None,
        where: pl.Expr | None = None,
        as_published: bool = False,
        **options: Any,
    ) -> T:
        """Build the empirical game of one or several studies.

        Args:
            studies: names in the store; a match of several studies counts once.
            game: the game's name; required if there are several.
            where: a filter for matches, such as ``pl.col("game_rounds") == 3``.
            as_published: use the published variants of metrics.
            **options: as for :meth:`of_frame`.

        Raises:
            StoreError: a study doesn't exist.
            WrongValue: the studies have several games and none is named, or as for
                :meth:`of_frame`.
        """
        studies_frames = [
            read_matches(store, study, as_published=as_published) for study in studies
        ]
        names = sorted({name for frames in studies_frames for name in frames})
        chosen = game or (names[0] if len(names) == 1 else "")
        if chosen not in names:
            raise WrongValue(
                f"Name one of the games of {', '.join(map(name_of, studies))}: {', '.join(names)}"
            )
        frames = [by_game[chosen] for by_game in studies_frames if chosen in by_game]
        frame = pl.concat(frames, how="diagonal_relaxed").unique("match_id", maintain_order=True)
        return cls.of_frame(frame if where is None else frame.filter(where), **options)

    @property
    def keys(self) -> list[Key]:
        """Return the row and column numbers of all cells."""
        return list(product(range(len(self.rows)), range(len(self.columns))))

    @property
    def sampled(self) -> bool:
        """Whether the game has matches that can be resampled."""
        return any(cell.matches for sample in self.samples for cell in sample.cells.values())

    @cached_property
    def missing(self) -> tuple[CellName, ...]:
        return self._cell_names(lambda cell: cell is None)

    @cached_property
    def thin(self) -> tuple[CellName, ...]:
        """Return the cells with fewer than two instances, whose uncertainty is unknown."""
        return self._cell_names(
            lambda cell: bool(cell and cell.matches and len(cell.instances) < 2)
        )

    @cached_property
    def constant(self) -> bool:
        """Whether payoffs don't vary within any cell, so all bootstrap draws are equal."""
        cells = [cell for sample in self.samples for cell in sample.cells.values() if cell.matches]
        payoffs = slice(0, self._payoffs)
        largest = max((np.abs(cell.mean[payoffs]).max() for cell in cells), default=0.0)
        spread = max((np.abs(cell.deviations[:, payoffs]).max() for cell in cells), default=0.0)
        return bool(spread <= 1e-12 * largest)  # what rounding leaves

    @cached_property
    def one_sided(self) -> tuple[CellName, ...]:
        """Return the cells in which the two players always sat in the same order."""
        return self._cell_names(lambda cell: bool(cell and cell.one_sided))

    def _cell_names(self, condition: Callable[[Cell | None], bool]) -> tuple[CellName, ...]:
        return tuple(
            CellName(self.rows[row], self.columns[column], sample.name)
            for sample in self.samples
            for row, column in self.keys
            if condition(sample.cells.get((row, column)))
        )

    def check(self) -> None:
        """Raise CheaptalkError, with advice on which strategies to omit, if a cell is missing."""
        if self.missing:
            raise CheaptalkError(
                f"{counted(len(self.missing), 'pair')} without a match: {listed(self.missing)}; "
                "play the missing pairs, or omit strategies",
                *self._advice(),
            )

    def _advice(self) -> tuple[str | Advice, ...]:
        """Return advice on which strategies to omit, as text and options for an error message."""
        return ()

    def assembled(self, values: Sequence[Mapping[Key, Floats]]) -> Floats:
        """Average each sample's values by cell, shape (..., values), ignoring undefined ones (NaN).

        The result has shape (..., values, rows, columns).
        """
        placed = [self._matrices(cells) for cells in values]
        total, weight = np.zeros_like(placed[0]), np.zeros_like(placed[0])
        for share, matrices in zip(self.weights, placed, strict=True):
            defined = np.isfinite(matrices)
            total += share * np.where(defined, matrices, 0)
            weight += share * defined
        with np.errstate(invalid="ignore"):
            return np.asarray(total / weight)

    def _matrices(self, values: Mapping[Key, Floats]) -> Floats:
        template = next(iter(values.values()))
        matrices = np.full((*template.shape, len(self.rows), len(self.columns)), np.nan)
        for (row, column), numbers in values.items():
            matrices[..., row, column] = numbers
        return matrices

    @cached_property
    def means(self) -> Floats:
        """Return the mean of every value in every cell, shape (values, rows, columns)."""
        self.check()
        return self.assembled(
            [{key: cell.mean for key, cell in sample.cells.items()} for sample in self.samples]
        )

    def value(self, metric: str) -> Floats:
        """Return a metric's mean in every cell, NaN if undefined; shape (rows, columns).

        Raises:
            CheaptalkError: a cell is missing.
            WrongValue: the game lacks this metric.
        """
        return np.asarray(self.means[self.value_index(metric)])

    def value_index(self, metric: str) -> int:
        """Return the index of a metric along the first axis of the cell means."""
        if metric not in self.metrics:
            available = ", ".join(self.metrics) or "no metrics"
            raise WrongValue(f'The game has no metric "{metric}"; it has {available}')
        return self.metrics.index(metric) + self._payoffs

    _payoffs: ClassVar[int]
    """The number of payoff matrices."""

    def counts(self) -> Integers:
        """Return the number of matches in each cell over all samples; shape (rows, columns)."""
        return self._per_cell(lambda cell: cell.matches)

    def instances(self) -> Integers:
        """Return the number of instances in each cell over all samples; shape (rows, columns)."""
        return self._per_cell(lambda cell: len(cell.instances) if cell.matches else 0)

    @property
    def min_instances(self) -> int:
        return int(self.instances().min())

    @property
    def freedom(self) -> int:
        """Return the degrees of freedom (>= 1): the smallest cell's instances minus the samples."""
        return max(self.min_instances - len(self.samples), 1)

    @property
    def few_instances(self) -> str:
        """Return a warning that intervals may be too narrow; "" if there are enough instances.

        Skewed payoffs need 25 times their squared skewness in instances (Cochran 1977, Sampling
        Techniques, section 2.15). The skewness is the mean over all cells, minus that of the same
        number of normal payoffs.
        """
        if not self.sampled:
            return ""
        cells = [cell for sample in self.samples for cell in sample.cells.values() if cell.matches]
        skewness = np.mean([cell.skewness - 6 / len(cell.instances) for cell in cells])
        needed = max(ENOUGH, math.ceil(ENOUGH * skewness))
        if self.freedom >= needed - 1:
            return ""
        caution = f"{counted(self.min_instances, 'instance')} per pair of strategies are few"
        why = " for payoffs as skewed as these" if needed > ENOUGH else ""
        return f"{caution}{why}; intervals may be too narrow, and {needed:,} would suffice"

    @property
    def max_instances(self) -> int:
        return int(self.instances().max())

    def _per_cell(self, number: Callable[[Cell], int]) -> Integers:
        totals = np.zeros((len(self.rows), len(self.columns)), dtype=np.int64)
        for sample in self.samples:
            for key, cell in sample.cells.items():
                totals[key] += number(cell)
        return totals


def _shares(
    samples: Sequence[GameSample], weights: Mapping[str, float] | None
) -> tuple[float, ...]:
    names = [sample.name for sample in samples]
    scale = dict.fromkeys(names, 1.0) if weights is None else dict(weights)
    if set(scale) != set(names) or min(scale.values()) <= 0:
        raise WrongValue(f"Weights must be positive and name each game once: {', '.join(names)}")
    return tuple(scale[name] / sum(scale.values()) for name in names)


def listed(cells: Sequence[CellName]) -> str:
    """List cells for an error message; if there are many, name only the first few."""
    suffix = f" and {len(cells) - LISTED} more" if len(cells) > LISTED else ""
    return ", ".join(map(str, cells[:LISTED])) + suffix


class EmpiricalGame(Empirical):
    """A symmetric game of two players, estimated from matches in both orders of the seats.

    ``payoffs()[i, j]`` is the mean payoff of strategy i against strategy j over both seats;
    self-play has the mean of its two seats (item bargaining, section 3.5).
    """

    swapped: ClassVar[bool] = True
    _payoffs: ClassVar[int] = 1

    @classmethod
    @checked
    def of_payoffs(
        cls, payoffs: npt.ArrayLike, labels: Sequence[str] | None = None
    ) -> "EmpiricalGame":
        """Build a game from known payoffs, without samples.

        Args:
            payoffs: the payoff of each strategy against each, shape (n, n).
            labels: the labels of the strategies; numbers from 1 by default.

        Raises:
            WrongValue: the payoffs aren't a square matrix of finite numbers, or the number of
                labels differs.
        """
        matrix = symmetric_payoffs(payoffs)
        names = _names(labels, len(matrix), "")
        cells = combinations_with_replacement(range(len(matrix)), 2)
        sample = sample_of_payoffs(matrix, matrix.T, cells)
        return cls(names, names, (), (sample,), (1.0,))

    @property
    def labels(self) -> tuple[str, ...]:
        return self.rows

    def printout(self) -> Printout:
        lacking = f", {counted(len(self.missing), 'cell')} missing" if self.missing else ""
        title = f"{counted(len(self.labels), 'strategy')}, {self._origin}{lacking}"
        payoffs = [] if self.missing else [self.payoffs()]
        return payoffs_printout(title, self.rows, self.columns, *payoffs)

    def __str__(self) -> str:
        title, columns, rows, _ = self.printout()
        cells = [[str(label), *(f"{payoff:.2f}" for payoff in row)] for label, *row in rows]
        return "\n".join([title, *(aligned([columns, *cells], ()) if cells else ())])

    @property
    def keys(self) -> list[Key]:
        """Return the row and column numbers of all cells, with each pair of players only once."""
        return list(combinations_with_replacement(range(len(self.rows)), 2))

    def payoffs(self) -> Floats:
        """Return the payoff of each row strategy against each column strategy, shape (n, n).

        Raises:
            CheaptalkError: a cell is missing.
        """
        return np.asarray(self.means[0])

    def _matrices(self, values: Mapping[Key, Floats]) -> Floats:
        upper = super()._matrices(values)
        lower = np.swapaxes(upper, -1, -2)
        first, second = upper[..., 0, :, :], lower[..., 1, :, :]
        row_payoffs = np.where(np.isnan(first), second, first)
        metrics = np.where(np.isnan(upper), lower, upper)[..., 2:, :, :]
        return np.concatenate([row_payoffs[..., None, :, :], metrics], axis=-3)

    def _per_cell(self, number: Callable[[Cell], int]) -> Integers:
        upper = super()._per_cell(number)
        return np.asarray(upper + np.triu(upper, 1).T)

    @checked
    def only(self, labels: Sequence[str]) -> "EmpiricalGame":
        """Return the game restricted to the given strategies, in the given order.

        Raises:
            WrongValue: a label is unknown or repeated, or there is none.
        """
        names = _names(labels, len(labels), "")
        self._check_labels(names)
        if not names:
            raise WrongValue(f"Keep at least one strategy of {', '.join(self.labels)}")
        new_index = {self.labels.index(label): index for index, label in enumerate(names)}
        samples = tuple(_reordered(sample, new_index) for sample in self.samples)
        return replace(self, rows=names, columns=names, samples=samples)

    @checked
    def without(self, labels: Sequence[str]) -> "EmpiricalGame":
        """Return the game without some strategies.

        Raises:
            WrongValue: a label is unknown, or no strategy would remain.
        """
        self._check_labels(labels)
        return self.only([label for label in self.labels if label not in labels])

    def _check_labels(self, labels: Sequence[str]) -> None:
        unknown = [label for label in labels if label not in self.labels]
        if unknown:
            raise WrongValue(f'Unknown strategy "{unknown[0]}" (known: {", ".join(self.labels)})')

    def largest_complete(self) -> tuple[str, ...]:
        """Return the largest set of strategies without missing cells.

        The omitted strategies are a minimum vertex cover of the missing cells, found by integer
        programming.
        """
        size = len(self.labels)
        pairs = {
            (self.labels.index(cell.row), self.labels.index(cell.column)) for cell in self.missing
        }
        if not pairs:
            return self.labels
        limits = np.zeros((len(pairs), size))
        for index, pair in enumerate(sorted(pairs)):
            limits[index, list(pair)] = 1
        tops = [1.0 if len(set(pair)) == 2 else 0.0 for pair in sorted(pairs)]
        solution = milp(
            -np.ones(size),
            integrality=np.ones(size),
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(limits, ub=tops),
        )
        return tuple(
            label for label, selected in zip(self.labels, solution.x, strict=True) if selected > 0.5
        )

    def _advice(self) -> tuple[str | Advice, ...]:
        complete = self.largest_complete()
        left_out = [label for label in self.labels if label not in complete]
        if not complete:
            return (" (not a solution here: no strategy has played against itself)",)
        advice = Advice(f"without({left_out})", "without", left_out)
        return ": ", advice, " leaves only strategies that have all met"


class EmpiricalBimatrix(Empirical):
    """A game with different strategies in its two seats: rows and columns.

    For example, GLEE's Alice and Bob have different tasks.
    """

    swapped: ClassVar[bool] = False

    def printout(self) -> Printout:
        title = f"{len(self.rows)} by {len(self.columns)} strategies, {self._origin}"
        payoffs = () if self.missing else self.payoffs()
        return payoffs_printout(title, self.rows, self.columns, *payoffs)

    _payoffs: ClassVar[int] = 2

    @classmethod
    @checked
    def of_payoffs(
        cls,
        a: npt.ArrayLike,
        b: npt.ArrayLike,
        rows: Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
    ) -> "EmpiricalBimatrix":
        """Build a game from known payoffs, without samples.

        Args:
            a: the row player's payoffs, shape (rows, columns).
            b: the column player's payoffs, of the same shape.
            rows: the labels of the row player's strategies; numbers from 1 by default.
            columns: the labels of the column player's strategies.

        Raises:
            WrongValue: the payoffs aren't two finite matrices of one shape, or the number of labels
                differs.
        """
        row_payoffs, column_payoffs = profiles.checked(a, b)
        height, width = row_payoffs.shape
        names = _names(rows, height, "row "), _names(columns, width, "column ")
        sample = sample_of_payoffs(row_payoffs, column_payoffs, np.ndindex(row_payoffs.shape))
        return cls(*names, (), (sample,), (1.0,))

    def payoffs(self) -> tuple[Floats, Floats]:
        """Return the row players' and the column players' payoffs, each (rows, columns).

        Raises:
            CheaptalkError: a cell is missing.
        """
        return np.asarray(self.means[0]), np.asarray(self.means[1])


def _reordered(sample: GameSample, new_index: Mapping[int, int]) -> GameSample:
    """Renumber a sample's strategies; swap both payoffs where row and column are exchanged."""
    cells = {}
    for (row, column), cell in sample.cells.items():
        if row in new_index and column in new_index:
            key = new_index[row], new_index[column]
            if key[0] > key[1]:
                order = [1, 0, *range(2, cell.sums.shape[1])]
                cell = replace(cell, sums=cell.sums[:, order], weights=cell.weights[:, order])
            cells[min(key), max(key)] = cell
    return replace(sample, cells=cells)


def _names(labels: Sequence[str] | None, size: int, kind: str) -> tuple[str, ...]:
    numbered = (f"{kind}{index + 1}" for index in range(size))
    names = tuple(numbered if labels is None else labels)
    if len(names) != size:
        raise WrongValue(f"{counted(len(names), 'label')} for {size} strategies")
    twice = [name for index, name in enumerate(names) if name in names[:index]]
    if twice:
        raise WrongValue(f'Two strategies are called "{twice[0]}"; every label must be unique')
    return names
