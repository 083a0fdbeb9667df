"""Empirical games: who gets what against whom, estimated from matches, with the matches kept."""

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
from cheaptalk.equilibrium.solvers.payoffs import Floats, Integers, symmetric_payoffs
from cheaptalk.equilibrium.solvers.profiles import checked
from cheaptalk.frames import match_frames
from cheaptalk.frames.matches import SCORED
from cheaptalk.frames.reader import places_in
from cheaptalk.rules import CheaptalkError, counted
from cheaptalk.rules.display import Printed, brief
from cheaptalk.rules.errors import Advice
from cheaptalk.statistics.intervals import ENOUGH
from cheaptalk.studies.lookup import Named, Place, name_of
from cheaptalk.text import aligned

LISTED = 3
"""Cells that an error names; of more it says how many."""
T = TypeVar("T", bound="Empirical")


class OneSided(CheaptalkError, ValueError):
    """Players who met only sat in one order."""


@dataclass(frozen=True, eq=False)
class Empirical:
    """What both kinds of empirical game have in common.

    Attributes:
        rows, columns: labels of the strategies.
        measures: the names of the measures of matches kept beside payoffs.
        samples: the matches of each game that is mixed in, usually one.
        weights: of the samples, summing to 1.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    measures: tuple[str, ...]
    samples: tuple[GameSample, ...] = field(repr=False)
    weights: tuple[float, ...]
    swapped: ClassVar[bool]
    """Whether a cell holds both orders of its players."""

    @classmethod
    def of_frame(
        cls: type[T],
        frame: pl.DataFrame,
        *,
        measures: Sequence[str] = (),
        by: str | None = "configuration",
        weights: Mapping[str, float] | None = None,
        one_sided: bool = False,
    ) -> T:
        """The empirical game in a frame of matches of a game of two places.

        Only finished matches that were not dropped count. Deals are the clusters.

        Args:
            frame: as :func:`.match_frames` makes it, or rows of it.
            measures: columns of the frame to keep beside payoffs, such as ``nash_welfare``.
            by: the column whose values tell games apart; each is a sample of its own, and they
                are mixed. ``None`` takes all matches for one game.
            weights: by the samples' names, on any positive scale: the parameters in which
                configurations differ (``rounds=3``), or the values of ``by`` as text. Without
                it all weigh alike, as in the paper's BGS0 of BG4 to BG6 (002, section 5).
            one_sided: accept cells whose players only ever sat in one order, as is right where
                the two seats are alike.

        Raises:
            ValueError: the frame lacks a column, has not exactly two places, no scored match, or
                weights that do not fit; or players only sat in one order.
        """
        places = places_in(frame)
        if len(places) != 2:
            raise ValueError(
                f"An empirical game is made of matches of 2 players, not of {len(places)}"
            )
        absent = [name for name in (*measures, *([by] if by else [])) if name not in frame.columns]
        if absent:
            raise ValueError(
                f'The frame has no column "{absent[0]}"; it has: {", ".join(frame.columns)}'
            )
        scored = frame.filter(SCORED).drop_nulls([f"payoff.{place}" for place in places])
        if scored.is_empty():
            raise ValueError("The frame has no finished match that counts; play the study first")
        first, second = (set(scored[f"player.{place}"].unique()) for place in places)
        if cls.swapped:
            first = second = first | second
        rows, columns = tuple(sorted(first)), tuple(sorted(second))
        samples = samples_of(scored, places, rows, columns, measures, by, swap=cls.swapped)
        if len(samples) == 1:
            samples = (replace(samples[0], name=""),) if not weights else samples
        game = cls(rows, columns, tuple(measures), samples, _shares(samples, weights))
        if game.one_sided and not one_sided:
            raise OneSided(
                f"players only sat in one order, in {listed(game.one_sided)}; play the other "
                "too, or ", Advice("say one_sided=True", "one_sided", True),
                " if the seats are alike",
            )  # fmt: skip
        return game

    @classmethod
    def of_study(
        cls: type[T],
        store: Place,
        *studies: Named,
        game: str | None = None,
        where: pl.Expr | None = None,
        as_published: bool = False,
        **options: Any,
    ) -> T:
        """The empirical game of one study, or of several taken together.

        Args:
            studies: names in the store. A match that is in several counts once.
            game: the game's name; can be left out where there is one only.
            where: which matches, such as ``pl.col("game.rounds") == 3``.
            as_published: take the published variants of measures.
            **options: as for :meth:`of_frame`.

        Raises:
            StoreError: there is no such study.
            ValueError: the studies hold several games and none is named, or as for
                :meth:`of_frame`.
        """
        found = [match_frames(store, study, as_published=as_published) for study in studies]
        names = sorted({name for frames in found for name in frames})
        chosen = game or (names[0] if len(names) == 1 else "")
        if chosen not in names:
            raise ValueError(
                f"Name one of the games of {', '.join(map(name_of, studies))}: {', '.join(names)}"
            )
        frames = [one[chosen] for one in found if chosen in one]
        frame = pl.concat(frames, how="diagonal_relaxed").unique("match", maintain_order=True)
        return cls.of_frame(frame if where is None else frame.filter(where), **options)

    @property
    def keys(self) -> list[Key]:
        """The cells that the game should have."""
        return list(product(range(len(self.rows)), range(len(self.columns))))

    @property
    def sampled(self) -> bool:
        """Whether the payoffs come from matches that can be drawn again."""
        return any(cell.matches for sample in self.samples for cell in sample.cells.values())

    @cached_property
    def missing(self) -> tuple[CellName, ...]:
        """The cells without a match."""
        return self._named(lambda cell: cell is None)

    @cached_property
    def thin(self) -> tuple[CellName, ...]:
        """The cells with fewer than two deals, of which nobody can say how uncertain they are."""
        return self._named(lambda cell: bool(cell and cell.matches and len(cell.deals) < 2))

    @cached_property
    def constant(self) -> bool:
        """Whether no payoff varied within a cell, so that all draws would be equal."""
        cells = [cell for sample in self.samples for cell in sample.cells.values() if cell.matches]
        payoffs = slice(0, self._payoffs)
        largest = max((np.abs(cell.mean[payoffs]).max() for cell in cells), default=0.0)
        spread = max((np.abs(cell.deviations[:, payoffs]).max() for cell in cells), default=0.0)
        return bool(spread <= 1e-12 * largest)  # what rounding leaves

    @cached_property
    def one_sided(self) -> tuple[CellName, ...]:
        """The cells whose players only ever sat in one order, where both are put together."""
        return self._named(lambda cell: bool(cell and cell.one_sided))

    def _named(self, wanted: Callable[[Cell | None], bool]) -> tuple[CellName, ...]:
        return tuple(
            CellName(self.rows[row], self.columns[column], sample.name)
            for sample in self.samples
            for row, column in self.keys
            if wanted(sample.cells.get((row, column)))
        )

    def check(self) -> None:
        """See that no cell is missing.

        Raises:
            CheaptalkError: some are; it lists them and says how to do without.
        """
        if self.missing:
            raise CheaptalkError(
                f"{counted(len(self.missing), 'cell')} without a match: {listed(self.missing)}; "
                "play them, or leave strategies out",
                *self._advice(),
            )

    def _advice(self) -> tuple[str | Advice, ...]:
        """Which strategies to leave out, as parts of an error's message."""
        return ()

    def assembled(self, values: Sequence[Mapping[Key, Floats]]) -> Floats:
        """Values of cells as matrices, mixed over the samples.

        A value that is undefined (NaN) in some samples is the mean over the others.

        Args:
            values: of each sample, by cell: shape (..., values).

        Returns:
            Shape (..., values, rows, columns).
        """
        placed = [self._placed(cells) for cells in values]
        total, weight = np.zeros_like(placed[0]), np.zeros_like(placed[0])
        for share, matrices in zip(self.weights, placed, strict=True):
            defined = np.isfinite(matrices)
            total += share * np.where(defined, matrices, 0)
            weight += share * defined
        with np.errstate(invalid="ignore"):
            return np.asarray(total / weight)

    def _placed(self, values: Mapping[Key, Floats]) -> Floats:
        some = next(iter(values.values()))
        matrices = np.full((*some.shape, len(self.rows), len(self.columns)), np.nan)
        for (row, column), numbers in values.items():
            matrices[..., row, column] = numbers
        return matrices

    @cached_property
    def means(self) -> Floats:
        """The mean of every value in every cell, shape (values, rows, columns).

        Raises:
            CheaptalkError: a cell is missing.
        """
        self.check()
        return self.assembled(
            [{key: cell.mean for key, cell in sample.cells.items()} for sample in self.samples]
        )

    def value(self, measure: str) -> Floats:
        """The mean of a measure in every cell, NaN where it is undefined; shape (rows, columns).

        Raises:
            CheaptalkError: a cell is missing.
            ValueError: the game was made without this measure.
        """
        return np.asarray(self.means[self.place_of(measure)])

    def place_of(self, measure: str) -> int:
        """Where a measure stands among the values of :meth:`assembled`.

        Raises:
            ValueError: the game was made without it.
        """
        if measure not in self.measures:
            made = ", ".join(self.measures) or "no measures"
            raise ValueError(f'The game was made without "{measure}"; it has {made}')
        return self.measures.index(measure) + self._payoffs

    _payoffs: ClassVar[int]
    """How many of the matrices are payoffs."""

    def counts(self) -> Integers:
        """Matches in every cell, over all samples; shape (rows, columns)."""
        return self._counted(lambda cell: cell.matches)

    def deals(self) -> Integers:
        """Deals in every cell, over all samples; shape (rows, columns)."""
        return self._counted(lambda cell: len(cell.deals) if cell.matches else 0)

    @property
    def fewest(self) -> int:
        """The deals of the cell with the fewest."""
        return int(self.deals().min())

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the cell with the fewest: its deals, less one for each sample."""
        return max(self.fewest - len(self.samples), 1)

    @property
    def few(self) -> str:
        """That intervals over so few deals may be too narrow; empty where there are enough.

        Of skewed payoffs it takes 25 times the square of their skewness (Cochran 1977, Sampling
        Techniques, section 2.15). Here that is the mean over all cells, less what the same number
        of normal payoffs would show by chance.
        """
        if not self.sampled:
            return ""
        cells = [cell for sample in self.samples for cell in sample.cells.values() if cell.matches]
        skewness = np.mean([cell.skewness - 6 / len(cell.deals) for cell in cells])
        wanted = max(ENOUGH, math.ceil(ENOUGH * skewness))
        if self.freedom >= wanted - 1:
            return ""
        few = f"{counted(self.fewest, 'deal')} a cell: too few to tell"
        why = " for payoffs as skewed as these" if wanted > ENOUGH else ""
        return f"{few}{why}; intervals may be too narrow, and {wanted:,} would do"

    @property
    def most(self) -> int:
        """The deals of the cell with the most."""
        return int(self.deals().max())

    def _counted(self, number: Callable[[Cell], int]) -> Integers:
        found = np.zeros((len(self.rows), len(self.columns)), dtype=np.int64)
        for sample in self.samples:
            for key, cell in sample.cells.items():
                found[key] += number(cell)
        return found


def _shares(
    samples: Sequence[GameSample], weights: Mapping[str, float] | None
) -> tuple[float, ...]:
    """The samples' weights, summing to 1."""
    names = [sample.name for sample in samples]
    found = dict.fromkeys(names, 1.0) if weights is None else dict(weights)
    if set(found) != set(names) or min(found.values()) <= 0:
        raise ValueError(f"Weights must be positive and name each game once: {', '.join(names)}")
    return tuple(found[name] / sum(found.values()) for name in names)


def listed(cells: Sequence[CellName]) -> str:
    """Cells as an error names them, the first few in full."""
    more = f" and {len(cells) - LISTED} more" if len(cells) > LISTED else ""
    return ", ".join(map(str, cells[:LISTED])) + more


class EmpiricalGame(Printed, Empirical):
    """A symmetric game of two players, estimated from matches in both orders of the seats.

    ``payoffs()[i, j]`` is what strategy i gets against strategy j, the mean over both seats; a
    strategy against itself gets the mean of its two seats (item bargaining, section 3.5).
    """

    swapped: ClassVar[bool] = True
    _payoffs: ClassVar[int] = 1

    @classmethod
    def of_payoffs(
        cls, payoffs: npt.ArrayLike, labels: Sequence[str] | None = None
    ) -> "EmpiricalGame":
        """A game of known payoffs, without samples.

        Args:
            payoffs: what each strategy gets against each, shape (n, n).
            labels: of the strategies; their numbers from 1 without.

        Raises:
            ValueError: the payoffs are no square matrix of finite numbers, or labels do not fit.
        """
        matrix = symmetric_payoffs(payoffs)
        names = _names(labels, len(matrix), "")
        cells = combinations_with_replacement(range(len(matrix)), 2)
        sample = sample_of_payoffs(matrix, matrix.T, cells)
        return cls(names, names, (), (sample,), (1.0,))

    @property
    def labels(self) -> tuple[str, ...]:
        """The strategies."""
        return self.rows

    def __str__(self) -> str:
        """How much was played, then what each strategy gets against each, to two decimals."""
        matches = sum(cell.matches for sample in self.samples for cell in sample.cells.values())
        behind = counted(matches, "match") if self.sampled else "given payoffs"
        lacking = f", {counted(len(self.missing), 'cell')} missing" if self.missing else ""
        lines = [f"{counted(len(self.labels), 'strategy')}, {behind}{lacking}"]
        if not self.missing:
            numbers = [[f"{payoff:.2f}" for payoff in row] for row in self.payoffs()]
            rows = [[label, *row] for label, row in zip(self.labels, numbers, strict=True)]
            lines += aligned([["", *self.labels], *rows], ())
        return "\n".join(lines)

    @property
    def keys(self) -> list[Key]:
        """The cells, each pair once."""
        return list(combinations_with_replacement(range(len(self.rows)), 2))

    def payoffs(self) -> Floats:
        """What each strategy gets against each, shape (n, n).

        Raises:
            CheaptalkError: a cell is missing.
        """
        return np.asarray(self.means[0])

    def _placed(self, values: Mapping[Key, Floats]) -> Floats:
        upper = super()._placed(values)
        lower = np.swapaxes(upper, -1, -2)
        mine = np.where(np.isnan(upper[..., 0, :, :]), lower[..., 1, :, :], upper[..., 0, :, :])
        rest = np.where(np.isnan(upper), lower, upper)[..., 2:, :, :]
        return np.concatenate([mine[..., None, :, :], rest], axis=-3)

    def _counted(self, number: Callable[[Cell], int]) -> Integers:
        upper = super()._counted(number)
        return np.asarray(upper + np.triu(upper, 1).T)

    def only(self, labels: Sequence[str]) -> "EmpiricalGame":
        """The game among some of its strategies, in this order.

        Raises:
            ValueError: a label is unknown or given twice, or there is none.
        """
        names = _names(labels, len(labels), "")
        self._know(names)
        if not names:
            raise ValueError(f"No strategy is left of {', '.join(self.labels)}")
        place = {self.labels.index(label): at for at, label in enumerate(names)}
        samples = tuple(_reordered(sample, place) for sample in self.samples)
        return replace(self, rows=names, columns=names, samples=samples)

    def without(self, labels: Sequence[str]) -> "EmpiricalGame":
        """The game without these strategies.

        Raises:
            ValueError: a label is unknown, or none would be left.
        """
        self._know(labels)
        return self.only([label for label in self.labels if label not in labels])

    def _know(self, labels: Sequence[str]) -> None:
        unknown = [label for label in labels if label not in self.labels]
        if unknown:
            raise ValueError(f'No strategy "{unknown[0]}"; there are: {", ".join(self.labels)}')

    def largest_complete(self) -> tuple[str, ...]:
        """As many strategies as possible among whom no cell is missing.

        A strategy is left out for each missing cell, as few as can be (a vertex cover, by integer
        programming).
        """
        size = len(self.labels)
        pairs = {
            (self.labels.index(one.row), self.labels.index(one.column)) for one in self.missing
        }
        if not pairs:
            return self.labels
        limits = np.zeros((len(pairs), size))
        for at, pair in enumerate(sorted(pairs)):
            limits[at, list(pair)] = 1
        tops = [1.0 if len(set(pair)) == 2 else 0.0 for pair in sorted(pairs)]
        found = milp(
            -np.ones(size), integrality=np.ones(size), bounds=Bounds(0, 1),
            constraints=LinearConstraint(limits, ub=tops),
        )  # fmt: skip
        return tuple(label for label, kept in zip(self.labels, found.x, strict=True) if kept > 0.5)

    def _advice(self) -> tuple[str | Advice, ...]:
        kept = self.largest_complete()
        left_out = [label for label in self.labels if label not in kept]
        if not kept:
            return ("; no strategy has every cell",)
        advice = Advice(f"without({left_out})", "without", left_out)
        return ": ", advice, " has every cell"


class EmpiricalBimatrix(Empirical):
    """A game of two different seats: rows fill the first place, columns the second.

    As in GLEE, whose Alice and Bob have different tasks.
    """

    swapped: ClassVar[bool] = False

    def __repr__(self) -> str:
        return brief(self, f"{len(self.rows)} by {len(self.columns)} strategies")

    _payoffs: ClassVar[int] = 2

    @classmethod
    def of_payoffs(
        cls,
        a: npt.ArrayLike,
        b: npt.ArrayLike,
        rows: Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
    ) -> "EmpiricalBimatrix":
        """A game of known payoffs, without samples.

        Args:
            a: what the row player gets, shape (rows, columns).
            b: what the column player gets, of the same shape.
            rows: labels of the row player's strategies; numbers from 1 without.
            columns: those of the column player's.

        Raises:
            ValueError: the payoffs are not two finite matrices of one shape, or labels do not fit.
        """
        gets, other = checked(a, b)
        names = _names(rows, gets.shape[0], "row "), _names(columns, gets.shape[1], "column ")
        sample = sample_of_payoffs(gets, other, np.ndindex(gets.shape))
        return cls(*names, (), (sample,), (1.0,))

    def payoffs(self) -> tuple[Floats, Floats]:
        """What rows and columns get, each of shape (rows, columns).

        Raises:
            CheaptalkError: a cell is missing.
        """
        return np.asarray(self.means[0]), np.asarray(self.means[1])


def _reordered(sample: GameSample, place: Mapping[int, int]) -> GameSample:
    """A sample under new numbers; a cell whose players change sides has its payoffs exchanged."""
    cells = {}
    for (row, column), cell in sample.cells.items():
        if row in place and column in place:
            key = place[row], place[column]
            if key[0] > key[1]:
                order = [1, 0, *range(2, cell.sums.shape[1])]
                cell = replace(cell, sums=cell.sums[:, order], weights=cell.weights[:, order])
            cells[min(key), max(key)] = cell
    return replace(sample, cells=cells)


def _names(labels: Sequence[str] | None, size: int, kind: str) -> tuple[str, ...]:
    names = tuple(labels) if labels is not None else tuple(f"{kind}{at + 1}" for at in range(size))
    if len(names) != size:
        raise ValueError(f"{counted(len(names), 'label')} for {size} strategies")
    twice = [name for at, name in enumerate(names) if name in names[:at]]
    if twice:
        raise ValueError(f'Two strategies are called "{twice[0]}"; every label must be unique')
    return names
