"""Tables: frames of numbers with their uncertainty, and their printed format."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from math import isfinite
from typing import Any, NamedTuple

import polars as pl
import polars.selectors as cs

from cheaptalk.printing.latex import Cell, Column, cell, formula, latex_table
from cheaptalk.printing.printout import Printed, Printout
from cheaptalk.reports.charts.chart import Ends, Lead
from cheaptalk.reports.charts.kinds import HIGH, LOW
from cheaptalk.rules import WrongValue, counted
from cheaptalk.rules.display import brief
from cheaptalk.statistics.intervals import ENOUGH
from cheaptalk.text import aligned, few_text, fixed, interval_text

ERROR, COUNT, CLUSTERS = ".error", ".n", ".clusters"
WANTED, FREEDOM = ".wanted", ".freedom"
BOLD, STARS = ".bold", ".stars"
SUFFIXES = {
    LOW: "Lower bound of the confidence interval.",
    HIGH: "Upper bound of the confidence interval.",
    ERROR: "Standard error.",
    COUNT: "Number of observations.",
    CLUSTERS: "Number of clusters, such as instances.",
    WANTED: "Number of clusters needed for a reliable interval; empty if there are enough.",
    FREEDOM: "Degrees of freedom of the confidence interval.",
    BOLD: "Whether the number is printed in bold.",
    STARS: "Significance stars printed after the number.",
}
"""Suffixes of the optional columns that accompany a column ``x``, with their meanings."""
AS_PRINTED = ".printed"
"""The suffix of a column with a paper's printed values."""
FIELDS = ("", LOW, HIGH, ERROR, COUNT, CLUSTERS, WANTED)
"""The suffixes of an estimate's fields, in order."""
MOST_ROWS = 300
"""Maximum number of rows of a table on a page; files contain all rows."""


class Header(NamedTuple):
    """A column of a table.

    Attributes:
        key: the column of the table's frame.
        title: the title of the column.
        unit: the unit of its numbers.
        decimals: decimals of numbers, or the column of the frame that has them for each row; None
            for text.
        about: the definition of the number, with formula and source, unless the title says it.
        group: the heading above neighboring columns of the same group.
        spread: whether the uncertainty of a number is shown after it.
    """

    key: str
    title: str
    unit: str = ""
    decimals: int | str | None = None
    about: str = ""
    group: str = ""
    spread: bool = True

    def number(self, value: float, decimals: int) -> str:
        """Return a number as printed, with small p-values in a form such as "< 0.001".

        >>> Header("p", "p").number(0.00012, 3), Header("x", "Gain").number(0.00012, 3)
        ('< 0.001', '0.000')
        """
        is_p = self.title.replace(",", " ").split(" ")[0] == "p"
        if is_p and value < 0.5 * 10**-decimals:
            return f"< {fixed(10**-decimals, decimals)}"
        return fixed(value, decimals)


def plain_names(columns: Iterable[str]) -> dict[str, str]:
    """Return unique names of letters, digits and underscores, which spreadsheets and R accept.

    >>> plain_names(["gain, all.low", "2 runs", "2-runs"])
    {'gain, all.low': 'gain_all_low', '2 runs': 'x2_runs', '2-runs': 'x2_runs_2'}
    """
    titles: dict[str, str] = {}
    taken: set[str] = set()
    for column in columns:
        name = re.sub(r"\W+", "_", column).strip("_") or "x"
        name = f"x{name}" if name[0].isdigit() else name
        number, unique = 1, name
        while unique.casefold() in taken:
            number += 1
            unique = f"{name}_{number}"
        taken.add(unique.casefold())
        titles[column] = unique
    return titles


def joined_names(columns: Sequence[str]) -> dict[str, str]:
    """Return the names of columns with their suffixes joined by ``_``; other dots are unchanged.

    >>> joined_names(["gpt-4.1", "gpt-4.1.low", "p", "p.corrected"])
    {'gpt-4.1.low': 'gpt-4.1_low', 'p.corrected': 'p_corrected'}
    """

    def joined(column: str) -> str:
        stem, point, ending = column.rpartition(".")
        is_suffix = stem in columns or point + ending in (*SUFFIXES, AS_PRINTED)
        return f"{joined(stem)}_{ending}" if is_suffix and ending.isidentifier() else column

    names = {column: joined(column) for column in columns}
    return {
        column: name for column, name in names.items() if name != column and name not in columns
    }


def texts(**titles: str) -> list[Header]:
    """Return columns of text, from their titles by key."""
    return [Header(key, title) for key, title in titles.items()]


def counts(unit: str = "", **titles: str) -> list[Header]:
    """Return columns of whole numbers, from their titles by key."""
    return [Header(key, title, unit, 0) for key, title in titles.items()]


class Estimate(NamedTuple):
    """A number with its interval, standard error and sample size; unknown values are None."""

    value: float | None
    low: float | None = None
    high: float | None = None
    error: float | None = None
    n: int | None = None
    clusters: int | None = None
    wanted: int | None = None

    @classmethod
    def of_mean(cls, row: Mapping[str, Any]) -> "Estimate":
        """Return the estimate in a row of :func:`.mean_intervals`."""
        return cls(*(row[name] for name in ("mean", *cls._fields[1:])))

    @property
    def ends(self) -> Ends:
        """The bounds of the interval; None if a bound is unknown."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def percent(self) -> "Estimate":
        """Return a share in percent.

        >>> Estimate(0.5, 0.25).percent
        Estimate(value=50.0, low=25.0, high=None, error=None, n=None, clusters=None, wanted=None)
        """
        parts = ("value", "low", "high", "error")
        hundred = {part: getattr(self, part) for part in parts}
        return self._replace(
            **{part: None if number is None else 100 * number for part, number in hundred.items()}
        )

    def spread(self, decimals: int) -> str:
        """Return the uncertainty as text: the interval or, without one, the standard error."""
        constant = self.error == 0 or (self.error is None and (self.clusters or 0) > 1)
        if constant and (self.low is None or self.low == self.high):
            return "constant"
        if self.value is not None and self.ends is not None:
            few = self.wanted is not None
            return interval_text(self.value, *self.ends, self.clusters, decimals, few=few)
        return "" if self.error is None else f"({fixed(self.error, decimals)})"

    def within(self, decimals: int, prefix: str = "95 % interval ") -> str:
        """Return the interval in parentheses, for use in a sentence; empty if there is none.

        Args:
            prefix: the name of the interval; empty if the sentence has already mentioned it.

        >>> Estimate(0.5, 0.25, 0.75).within(2), Estimate(0.5).within(2)
        (' (95 % interval 0.25 to 0.75)', '')
        """
        if self.ends is None or self.low == self.high:
            return ""
        low, high = (fixed(end, decimals) for end in self.ends)
        return f" ({prefix}{low} to {high})"

    def told(self, decimals: int, counts: tuple[str, str]) -> str:
        """Return the interval and the sample size as the text of a tooltip."""
        parts = []
        if self.ends is not None:
            low, high = (fixed(end, decimals) for end in self.ends)
            parts.append(f"95 % interval {low} to {high}")
        if self.n is not None:
            sample = counted(self.n, counts[0])
            if self.clusters is not None:
                sample += f" in {counted(self.clusters, counts[1])}"
            parts.append(sample)
        if self.wanted is not None:
            parts.append(f"{self.wanted:,} are needed")
        return "; ".join(parts)


def estimate(row: Mapping[str, Any], key: str) -> Estimate:
    """Read a number and its uncertainty from the columns of a frame's row.

    If the frame doesn't say how many clusters are needed, the number that a mean needs is used.
    """
    estimate = Estimate(*(row.get(key + suffix) for suffix in FIELDS))
    if key + WANTED in row or estimate.low is None:
        return estimate
    clusters = row.get(key + CLUSTERS, estimate.n)
    return estimate._replace(wanted=ENOUGH if clusters is not None and clusters < ENOUGH else None)


def estimated(key: str, estimate: Estimate) -> dict[str, Any]:
    """Return the columns of a frame's row that represent an estimate."""
    return {key + suffix: part for suffix, part in zip(FIELDS, estimate, strict=True)}


@dataclass(frozen=True, eq=False, repr=False)
class ReportTable(Printed):
    """A table: a frame with all numbers, and the columns that are shown.

    Attributes:
        name: the name of the table in URLs and file names, such as ``market-effects``.
        title: the title of the table.
        numbers: the rows, with unrounded numbers. A column ``x`` can have ``x.low``, ``x.high``,
            ``x.error``, ``x.n`` and ``x.clusters``; missing numbers are null.
        columns: the columns that are shown, in order.
        caption: explains how to read the table, such as the interval's method and exclusions.
        notes: further remarks, such as combinations that were never played.
        leads: returns a link to the matches of a row, if they are known.
        printed: the element of the paper with the same format, such as ``Table 2``, if there is
            one.
        cells: returns a link to the matches of a number, by column, if they differ from the row's.
        counts: the units of observations and clusters.
        cure: how to get more clusters if there are too few.
        stacked: whether intervals are below their numbers, so that a wide table fits on a page.

    Raises:
        WrongValue: a column is not in the frame, or a number is neither finite nor null.
    """

    name: str
    title: str
    numbers: pl.DataFrame
    columns: Sequence[Header]
    caption: str = ""
    notes: tuple[str, ...] = ()
    leads: Callable[[Mapping[str, Any]], Lead | None] = field(default=lambda _: None, repr=False)
    printed: str = ""
    cells: Callable[[Mapping[str, Any], str], Lead | None] | None = field(default=None, repr=False)
    counts: tuple[str, str] = ("observation", "cluster")
    cure: str = ""
    stacked: bool = False

    @classmethod
    def of(
        cls,
        name: str,
        title: str,
        rows: Sequence[Mapping[str, Any]],
        columns: Sequence[Header],
        *others: Any,
        **options: Any,
    ) -> "ReportTable":
        """Return a table of rows with equal keys; see the class for further arguments."""
        frame = pl.DataFrame(rows, infer_schema_length=None)
        return cls(name, title, frame, columns, *others, **options)

    def __post_init__(self) -> None:
        absent = [column.key for column in self.columns if column.key not in self.numbers.columns]
        if absent:
            raise WrongValue(f"table {self.name} has no column {', '.join(absent)}")
        finite = self.numbers.select(cs.float().is_finite().all())
        for column in finite:
            if not column.all():
                raise WrongValue(
                    f"column {column.name} of table {self.name} has a number that is not finite"
                )

    def cell(self, row: Mapping[str, Any], column: Header) -> Estimate:
        return estimate(row, column.key)

    def texts(self, row: Mapping[str, Any]) -> list[str]:
        """Return the printed texts of a row, one per column."""
        return [self._text(row, column) for column in self.columns]

    def decimals(self, row: Mapping[str, Any], column: Header) -> int | None:
        """Return the number of decimals of a column in this row; None for text."""
        decimals = column.decimals
        return int(row[decimals]) if isinstance(decimals, str) else decimals

    def _text(self, row: Mapping[str, Any], column: Header) -> str:
        value, decimals = row[column.key], self.decimals(row, column)
        if decimals is None or value is None:
            return "" if value is None else str(value)
        return f"{self.number(row, column)} {self.spread(row, column)}".rstrip()

    def number(self, row: Mapping[str, Any], column: Header) -> str:
        """Return a number of this row as printed, with significance stars."""
        text = column.number(row[column.key], self.decimals(row, column) or 0)
        return text + (row.get(column.key + STARS) or "")

    def spread(self, row: Mapping[str, Any], column: Header) -> str:
        """Return the uncertainty to print after a number; empty if the column shows none."""
        estimate, decimals = self.cell(row, column), self.decimals(row, column) or 0
        if not column.spread or estimate.value is None:
            return ""
        return estimate.spread(decimals) or (
            f"one {self.counts[1]}" if estimate.clusters == 1 else ""
        )

    def bold(self, row: Mapping[str, Any], column: Header) -> bool:
        return bool(row.get(column.key + BOLD))

    @property
    def caution(self) -> str:
        """Return the explanation of the mark for too few clusters; empty if no number is marked."""
        keys = [
            column.key
            for column in self.columns
            if column.spread and column.key + LOW in self.numbers.columns
        ]
        needed = (estimate(row, key).wanted for row in self.rows for key in keys)
        maximum = max((count for count in needed if count is not None), default=None)
        return "" if maximum is None else f"{few_text(maximum)} {self.cure}".rstrip()

    @property
    def remarks(self) -> tuple[str, ...]:
        """Return the table's notes, including the caution about too few clusters."""
        return (*self.notes, self.caution) if self.caution else self.notes

    @property
    def beside(self) -> bool:
        """Whether the table shows values printed in a paper beside the computed ones."""
        return any(column.key.endswith(AS_PRINTED) for column in self.columns)

    @property
    def headings(self) -> list[str]:
        """Return the titles of columns with their groups and units."""
        return [
            f"{column.group}: {title}" if column.group else title
            for column, title in zip(self.columns, self.titles, strict=True)
        ]

    @property
    def titles(self) -> list[str]:
        """Return the titles of columns with their units."""
        return [
            f"{column.title} ({column.unit})" if column.unit else column.title
            for column in self.columns
        ]

    @property
    def groups(self) -> list[tuple[str, int]]:
        """Return the titles of column groups, each with its number of columns."""
        names = [column.group for column in self.columns]
        return [(name, len([*run])) for name, run in groupby(names)] if any(names) else []

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The rows with all numbers, unrounded; the bounds of a column ``x`` are ``x_low`` etc."""
        return self.numbers.rename(joined_names(self.numbers.columns))

    @property
    def rows(self) -> Iterator[dict[str, Any]]:
        return self.numbers.iter_rows(named=True)

    @property
    def first(self) -> list[dict[str, Any]]:
        """Return the rows that a page shows, at most :data:`MOST_ROWS`."""
        return self.numbers.head(MOST_ROWS).to_dicts()

    def __repr__(self) -> str:
        return brief(self, f"{self.name}, {counted(len(self.numbers), 'row')}: {self.title}")

    def printout(self) -> Printout:
        notes = filter(None, (self.caption, *self.remarks))
        return Printout(self.title, self.headings, list(map(self.texts, self.rows)), tuple(notes))

    def __str__(self) -> str:
        text_columns = {
            index for index, column in enumerate(self.columns) if column.decimals is None
        }
        return "\n".join(
            [self.title, *aligned([self.headings, *map(self.texts, self.rows)], text_columns)]
        )

    def data(self) -> Printout:
        """Return all columns with plain names: the shown columns first, each with its bounds."""
        frame = self.shown_first
        return Printout.of(self.title, frame.rename(plain_names(frame.columns)))

    @property
    def shown_first(self) -> pl.DataFrame:
        """Return the frame with shown columns first, each followed by its related columns.

        A paper's printed values come last, so that they don't move the other columns.
        """
        keys = dict.fromkeys(column.key for column in self.columns)
        positions = {key: position for position, key in enumerate(keys)}

        def order(name: str) -> tuple[bool, int, bool]:
            stems = [key for key in keys if f"{name}.".startswith(f"{key}.")]
            stem = max(stems, key=len, default="")
            return f"{AS_PRINTED}." in f"{name}.", positions.get(stem, len(keys)), name != stem

        columns = sorted(self.numbers.columns, key=order)
        return self.numbers.select(columns)

    def latex(self, label: str = "") -> str:
        rows, code = list(self.rows), {}
        for column in self.columns:
            code[column.key] = [self._latex_cell(row, column) for row in rows]
        columns = [
            Column(column.key, title, column.group, column.decimals is not None)
            for column, title in zip(self.columns, self.titles, strict=True)
        ]
        caption = f"{self.title}. {self.caption} {self.caution}"
        return latex_table(caption, label or self.name, columns, code)

    def _latex_cell(self, row: Mapping[str, Any], column: Header) -> Cell:
        value, decimals, bold = row[column.key], self.decimals(row, column), self.bold(row, column)
        if decimals is None or value is None:
            return cell("" if value is None else str(value), bold=bold)
        spread = self._latex_spread(row, column, decimals)
        return cell(self.number(row, column), numeric=True, bold=bold, spread=spread)

    def _latex_spread(self, row: Mapping[str, Any], column: Header, decimals: int) -> str:
        estimate = self.cell(row, column)
        if not column.spread:
            return ""
        if estimate.ends is not None:
            ends = (formula(fixed(end, decimals)) for end in estimate.ends)
            few = r"$^\dagger$" if estimate.wanted is not None else ""
            return f" [${'$, $'.join(ends)}$]{few}"
        return "" if estimate.error is None else f" (${formula(fixed(estimate.error, decimals))}$)"


def finite(value: float | None) -> float | None:
    """Return a number for a table: None instead of NaN or infinity."""
    return value if value is not None and isfinite(value) else None
