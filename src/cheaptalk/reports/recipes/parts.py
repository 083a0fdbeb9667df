"""What a report recipe is made of: tables and figures, in parts that say what they show."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from inspect import getdoc
from math import isfinite
from typing import Any, NamedTuple, TypeAlias

import polars as pl

from cheaptalk.frames.matches import Observer
from cheaptalk.reports.charts.chart import Chart, Lead
from cheaptalk.reports.charts.kinds import HIGH, LOW
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.rules import CheaptalkError, counted
from cheaptalk.rules.display import Printed, brief, html_table
from cheaptalk.rules.registry import Registry, instances
from cheaptalk.statistics.intervals import ENOUGH
from cheaptalk.text import aligned, few_text, fixed, interval_text

ERROR, COUNT, CLUSTERS = ".error", ".n", ".clusters"
WANTED, FREEDOM = ".wanted", ".freedom"
"""What is added to a column's name, as the ends of its interval are, for its standard error, how
many observations and clusters are behind it, how many clusters would do where these are too few,
and degrees of freedom. Any of these columns can be absent."""


class Lacking(CheaptalkError):
    """The study does not hold what a part needs; the sentence says what is missing."""


class Header(NamedTuple):
    """A column as a table shows it.

    Attributes:
        key: the column of the table's frame.
        title: what people read.
        unit: of its numbers.
        places: decimals of numbers, or the column of the frame that has them for each row; None
            where the column holds text.
        about: what the number is, with formula and source where the title does not say.
    """

    key: str
    title: str
    unit: str = ""
    places: int | str | None = None
    about: str = ""

    def number(self, value: float, places: int) -> str:
        """A number as it is printed; no p-value, as its title calls it, is 0.

        >>> Header("p", "p").number(0.00012, 3), Header("x", "Gain").number(0.00012, 3)
        ('< 0.001', '0.000')
        """
        is_p = self.title.replace(",", " ").split(" ")[0] == "p"
        if is_p and value < 0.5 * 10**-places:
            return f"< {fixed(10**-places, places)}"
        return fixed(value, places)


class TableCell(NamedTuple):
    """A number with what is known of its uncertainty; None where it is undefined or unknown."""

    value: float | None
    low: float | None = None
    high: float | None = None
    error: float | None = None
    n: int | None = None
    clusters: int | None = None
    wanted: int | None = None

    def spread(self, places: int) -> str:
        """What stands behind the number: its interval, else its standard error, else nothing."""
        if self.error == 0 and (self.low is None or self.low == self.high):
            return "did not vary"
        if self.value is not None and self.low is not None and self.high is not None:
            few = self.wanted is not None
            return interval_text(self.value, self.low, self.high, self.clusters, places, few=few)
        return "" if self.error is None else f"({fixed(self.error, places)})"


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

    def __post_init__(self) -> None:
        absent = [one.key for one in self.columns if one.key not in self.frame.columns]
        if absent:
            raise ValueError(f"table {self.name} has no column {', '.join(absent)}")
        for name, kind in self.frame.schema.items():
            if kind.is_float() and not self.frame[name].drop_nulls().is_finite().all():
                raise ValueError(f"column {name} of table {self.name} has a number that is none")

    def cell(self, row: Mapping[str, Any], column: Header) -> TableCell:
        """A number of a row."""
        value, low, high, error, n, clusters = (
            row.get(column.key + part) for part in ("", LOW, HIGH, ERROR, COUNT, CLUSTERS)
        )
        return TableCell(value, low, high, error, n, clusters, self._wanted(row, column.key))

    def _wanted(self, row: Mapping[str, Any], key: str) -> int | None:
        """How many clusters would do for an interval that has too few.

        Where its method does not say it, as that of a mean does, those that a mean wants.
        """
        if key + WANTED in self.frame.columns or row.get(key + LOW) is None:
            return row.get(key + WANTED)
        behind = row.get(key + CLUSTERS, row.get(key + COUNT))
        return ENOUGH if behind is not None and behind < ENOUGH else None

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
        spread = self.cell(row, column).spread(places)
        return f"{column.number(value, places)} {spread}".rstrip()

    @property
    def caution(self) -> str:
        """What the mark of too few clusters means; empty where it does not stand."""
        shown = [one.key for one in self.columns if one.key + LOW in self.frame.columns]
        wanted = (self._wanted(row, key) for row in self.rows for key in shown)
        most = max((count for count in wanted if count is not None), default=None)
        return "" if most is None else few_text(most)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Its notes and its caution."""
        return (*self.notes, self.caution) if self.caution else self.notes

    @property
    def headings(self) -> list[str]:
        """Titles with their units."""
        return [f"{one.title} ({one.unit})" if one.unit else one.title for one in self.columns]

    @property
    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows of the frame."""
        return self.frame.iter_rows(named=True)

    def __repr__(self) -> str:
        return brief(self, f"{self.name}, {counted(len(self.frame), 'row')}: {self.title}")

    def _repr_html_(self) -> str:
        notes = filter(None, (self.caption, *self.remarks))
        return html_table(self.title, self.headings, map(self.texts, self.rows), notes)

    def __str__(self) -> str:
        """The table in fixed width."""
        left = {place for place, one in enumerate(self.columns) if one.places is None}
        return "\n".join([self.title, *aligned([self.headings, *map(self.texts, self.rows)], left)])


class Charts(NamedTuple):
    """Charts that belong together.

    Attributes:
        name: in addresses and file names.
        title: what they show.
        panels: the charts.
        caption: how to read them.
        wide: whether each takes a row of its own.
    """

    name: str
    title: str
    panels: list[Chart]
    caption: str = ""
    wide: bool = False


class Drawing(NamedTuple):
    """A drawing that is no chart, such as a graph.

    Attributes:
        name: in addresses and file names.
        title: what it shows.
        svg: the drawing, all text in it escaped; in the page it takes the colours around it.
        caption: how to read it.
    """

    name: str
    title: str
    svg: str
    caption: str = ""


Shown: TypeAlias = ReportTable | Charts | Drawing


@dataclass(frozen=True)
class RecipePart:
    """A piece of a recipe, such as one table of the paper.

    Attributes:
        title: what it shows.
        source: what of the paper it is, such as ``Table 2``; empty for what the paper lacks.
        make: tables, charts and drawings from a study. Its docstring tells readers of the page
            what is done. It raises :class:`Lacking` where the study does not hold what it takes.
        observers: what ``make`` asks the evidence for by :meth:`.Evidence.observed`, if anything,
            so that matches are read once for all parts.
    """

    title: str
    source: str
    make: Callable[[Evidence], Iterable[Shown]]
    observers: tuple[type[Observer], ...] = ()

    @property
    def about(self) -> str:
        """What is done, as readers are told."""
        return getdoc(getattr(self.make, "func", self.make)) or ""  # what a partial is of


@dataclass(frozen=True)
class Recipe:
    """The tables and figures of a paper, from any study that has what they take.

    Attributes:
        name: as it is asked for, such as ``glee``.
        title: what it makes.
        paper: title, authors' short name and year.
        parts: in the order of the page.
        measures: those that frames must have; None for all of each game.
        options: what it can be told besides, by name, and what it makes of it.
        heading: what stands over the page; the study's name without.
    """

    name: str
    title: str
    paper: str
    parts: tuple[RecipePart, ...]
    measures: tuple[str, ...] | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    heading: str = ""

    def __repr__(self) -> str:
        return brief(self, f"{self.name}, {counted(len(self.parts), 'part')} from {self.paper}")


RECIPES: Registry[Recipe] = Registry("recipe", "cheaptalk.recipes", instances(Recipe))
"""All recipes by name."""


@dataclass(frozen=True)
class MadePart:
    """A part of a recipe as a study gave it.

    Attributes:
        part: what was made.
        shown: its tables and charts; empty where ``lacking`` says why.
        lacking: what the study does not hold; empty where nothing is missing.
    """

    part: RecipePart
    shown: tuple[Shown, ...]
    lacking: str = ""


def finite(value: float | None) -> float | None:
    """A number as tables hold it: null instead of not a number."""
    return value if value is not None and isfinite(value) else None
