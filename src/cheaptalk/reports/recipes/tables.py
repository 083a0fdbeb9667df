"""Tables: frames of numbers with what is known of each, and how they are printed."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from math import isfinite
from typing import Any, NamedTuple

import polars as pl

from cheaptalk.reports.charts.chart import Lead
from cheaptalk.reports.charts.kinds import HIGH, LOW
from cheaptalk.rules import counted
from cheaptalk.rules.display import Printed, brief, html_table
from cheaptalk.statistics.intervals import ENOUGH
from cheaptalk.text import aligned, few_text, fixed, interval_text

ERROR, COUNT, CLUSTERS = ".error", ".n", ".clusters"
WANTED, FREEDOM = ".wanted", ".freedom"
"""What is added to a column's name, as the ends of its interval are, for its standard error, how
many observations and clusters are behind it, how many clusters would do where these are too few,
and degrees of freedom. Any of these columns can be absent."""
MOST_ROWS = 300
"""Rows of a table that a page shows; files hold all."""
BOLD, STARS = ".bold", ".stars"
"""What is added to a column's name for whether it is printed bold, and for the stars behind it."""


class Header(NamedTuple):
    """A column as a table shows it.

    Attributes:
        key: the column of the table's frame.
        title: what people read.
        unit: of its numbers.
        places: decimals of numbers, or the column of the frame that has them for each row; None
            where the column holds text.
        about: what the number is, with formula and source where the title does not say.
        group: what stands over neighbouring columns that have it in common.
        spread: whether what is known of its uncertainty stands behind it.
    """

    key: str
    title: str
    unit: str = ""
    places: int | str | None = None
    about: str = ""
    group: str = ""
    spread: bool = True

    def number(self, value: float, places: int) -> str:
        """A number as it is printed; no p-value, as its title calls it, is 0.

        >>> Header("p", "p").number(0.00012, 3), Header("x", "Gain").number(0.00012, 3)
        ('< 0.001', '0.000')
        """
        is_p = self.title.replace(",", " ").split(" ")[0] == "p"
        if is_p and value < 0.5 * 10**-places:
            return f"< {fixed(10**-places, places)}"
        return fixed(value, places)


class Estimate(NamedTuple):
    """A number with what is known of its uncertainty; None where it is undefined or unknown."""

    value: float | None
    low: float | None = None
    high: float | None = None
    error: float | None = None
    n: int | None = None
    clusters: int | None = None
    wanted: int | None = None

    @property
    def percent(self) -> "Estimate":
        """A share in percent.

        >>> Estimate(0.5, 0.25).percent
        Estimate(value=50.0, low=25.0, high=None, error=None, n=None, clusters=None, wanted=None)
        """
        parts = ("value", "low", "high", "error")
        hundred = {part: getattr(self, part) for part in parts}
        return self._replace(**{
            part: None if number is None else 100 * number for part, number in hundred.items()
        })  # fmt: skip

    def spread(self, places: int) -> str:
        """What stands behind the number: its interval, else its standard error, else nothing."""
        constant = self.error == 0 or (self.error is None and (self.clusters or 0) > 1)
        if constant and (self.low is None or self.low == self.high):
            return "did not vary"
        if self.value is not None and self.low is not None and self.high is not None:
            few = self.wanted is not None
            return interval_text(self.value, self.low, self.high, self.clusters, places, few=few)
        return "" if self.error is None else f"({fixed(self.error, places)})"

    def within(self, places: int, said: str = "95 % interval ") -> str:
        """The interval in brackets as it stands in a sentence; nothing where there is none.

        Args:
            places: decimals.
            said: what it is, where the sentence has not said that before.

        >>> Estimate(0.5, 0.25, 0.75).within(2), Estimate(0.5).within(2)
        (' (95 % interval 0.25 to 0.75)', '')
        """
        if self.low is None or self.high is None or self.low == self.high:
            return ""
        return f" ({said}{fixed(self.low, places)} to {fixed(self.high, places)})"

    def told(self, places: int, counts: tuple[str, str]) -> str:
        """All that is known of the number, as it is told where somebody points at it.

        Args:
            places: decimals.
            counts: what ``n`` and ``clusters`` count.
        """
        parts = []
        if self.low is not None and self.high is not None:
            parts.append(f"95 % interval {fixed(self.low, places)} to {fixed(self.high, places)}")
        if self.n is not None:
            behind = counted(self.n, counts[0])
            if self.clusters is not None:
                behind += f" in {counted(self.clusters, counts[1])}"
            parts.append(behind)
        if self.wanted is not None:
            parts.append(f"{self.wanted:,} would do")
        return "; ".join(parts)


def estimate(row: Mapping[str, Any], key: str) -> Estimate:
    """A number of a frame's row, with the columns beside it that tell of its uncertainty.

    Where the method of its interval does not say how many clusters would do, as that of a mean
    does, it is those that a mean wants.
    """
    value, low, high, error, n, clusters, wanted = (
        row.get(key + part) for part in ("", LOW, HIGH, ERROR, COUNT, CLUSTERS, WANTED)
    )
    if key + WANTED not in row and low is not None:
        behind = row.get(key + CLUSTERS, n)
        wanted = ENOUGH if behind is not None and behind < ENOUGH else None
    return Estimate(value, low, high, error, n, clusters, wanted)


def estimated(key: str, one: Estimate) -> dict[str, Any]:
    """A number as a frame's row has it; the reverse of :func:`estimate`."""
    return {key: one.value, f"{key}{LOW}": one.low, f"{key}{HIGH}": one.high,
            f"{key}{ERROR}": one.error, f"{key}{COUNT}": one.n, f"{key}{CLUSTERS}": one.clusters,
            f"{key}{WANTED}": one.wanted}  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class ReportTable(Printed):
    """A table: a frame with all its numbers, and which of them are shown how.

    Attributes:
        name: in addresses and file names, such as ``market-effects``.
        title: what it shows.
        frame: one row a row, numbers unrounded. Beside a column ``x`` there can be ``x.low``,
            ``x.high``, ``x.error``, ``x.n`` and ``x.clusters``; a missing number is null.
        columns: those that are shown, in order.
        caption: how to read it: the interval's method, what is excluded.
        notes: what else a reader must know, such as combinations that were never played.
        leads: the matches behind a row, if they can be told.
        printed: what of the paper it has the form of, such as ``Table 2``, if it has one.
        cells: the matches behind a row's number, by the column's key, where they are others than
            those of the row.
        counts: what its numbers are of, and what clusters are.
        cure: how to have more clusters, where they are too few.
        stacked: whether intervals are below their numbers, so that a wide table fits on a page.

    Raises:
        ValueError: a column is not in the frame, or a number is neither finite nor null.
    """

    name: str
    title: str
    frame: pl.DataFrame
    columns: tuple[Header, ...]
    caption: str = ""
    notes: tuple[str, ...] = ()
    leads: Callable[[Mapping[str, Any]], Lead | None] = field(default=lambda _: None, repr=False)
    printed: str = ""
    cells: Callable[[Mapping[str, Any], str], Lead | None] | None = field(default=None, repr=False)
    counts: tuple[str, str] = ("observation", "cluster")
    cure: str = ""
    stacked: bool = False

    def __post_init__(self) -> None:
        absent = [one.key for one in self.columns if one.key not in self.frame.columns]
        if absent:
            raise ValueError(f"table {self.name} has no column {', '.join(absent)}")
        for name, kind in self.frame.schema.items():
            if kind.is_float() and not self.frame[name].drop_nulls().is_finite().all():
                raise ValueError(f"column {name} of table {self.name} has a number that is none")

    def cell(self, row: Mapping[str, Any], column: Header) -> Estimate:
        """A number of a row."""
        return estimate(row, column.key)

    def texts(self, row: Mapping[str, Any]) -> list[str]:
        """A row as it is printed, a text a column."""
        return [self._text(row, column) for column in self.columns]

    def places(self, row: Mapping[str, Any], column: Header) -> int | None:
        """The decimals of a row's number; None of text."""
        places = column.places
        return int(row[places]) if isinstance(places, str) else places

    def _text(self, row: Mapping[str, Any], column: Header) -> str:
        value, places = row[column.key], self.places(row, column)
        if places is None or value is None:
            return "" if value is None else str(value)
        return f"{self.number(row, column)} {self.spread(row, column)}".rstrip()

    def number(self, row: Mapping[str, Any], column: Header) -> str:
        """A row's number as it is printed, its stars with it."""
        text = column.number(row[column.key], self.places(row, column) or 0)
        return text + (row.get(column.key + STARS) or "")

    def spread(self, row: Mapping[str, Any], column: Header) -> str:
        """What stands behind a row's number; empty of a column that shows none."""
        one, places = self.cell(row, column), self.places(row, column) or 0
        if not column.spread or one.value is None:
            return ""
        return one.spread(places) or (f"one {self.counts[1]}" if one.clusters == 1 else "")

    def bold(self, row: Mapping[str, Any], column: Header) -> bool:
        """Whether a row's cell is printed bold."""
        return bool(row.get(column.key + BOLD))

    @property
    def caution(self) -> str:
        """What the mark of too few clusters means; empty where it does not stand."""
        shown = [one.key for one in self.columns
                 if one.spread and one.key + LOW in self.frame.columns]  # fmt: skip
        wanted = (estimate(row, key).wanted for row in self.rows for key in shown)
        most = max((count for count in wanted if count is not None), default=None)
        return "" if most is None else f"{few_text(most)} {self.cure}".rstrip()

    @property
    def remarks(self) -> tuple[str, ...]:
        """Its notes and its caution."""
        return (*self.notes, self.caution) if self.caution else self.notes

    @property
    def headings(self) -> list[str]:
        """Titles with what stands over them and their units."""
        return [
            f"{one.group}: {title}" if one.group else title
            for one, title in zip(self.columns, self.titles, strict=True)
        ]

    @property
    def titles(self) -> list[str]:
        """Titles with their units."""
        return [f"{one.title} ({one.unit})" if one.unit else one.title for one in self.columns]

    @property
    def groups(self) -> list[tuple[str, int]]:
        """What stands over columns, and over how many; empty where nothing stands over any."""
        names = [one.group for one in self.columns]
        return [(name, len([*run])) for name, run in groupby(names)] if any(names) else []

    @property
    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows of the frame."""
        return self.frame.iter_rows(named=True)

    @property
    def first(self) -> list[dict[str, Any]]:
        """The rows that a page shows, :data:`MOST_ROWS` at most."""
        return self.frame.head(MOST_ROWS).to_dicts()

    def __repr__(self) -> str:
        return brief(self, f"{self.name}, {counted(len(self.frame), 'row')}: {self.title}")

    def _repr_html_(self) -> str:
        notes = filter(None, (self.caption, *self.remarks))
        return html_table(self.title, self.headings, map(self.texts, self.rows), notes)

    def __str__(self) -> str:
        """The table in fixed width."""
        left = {place for place, one in enumerate(self.columns) if one.places is None}
        return "\n".join([self.title, *aligned([self.headings, *map(self.texts, self.rows)], left)])


def finite(value: float | None) -> float | None:
    """A number as tables hold it: null instead of not a number."""
    return value if value is not None and isfinite(value) else None
