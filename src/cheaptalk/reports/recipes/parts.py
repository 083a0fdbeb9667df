"""The parts of a report recipe: tables, charts and texts with their descriptions."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from inspect import getdoc
from pathlib import Path
from typing import NamedTuple, TypeAlias

from cheaptalk.records import MatchRecord
from cheaptalk.reports.charts.chart import Chart, coloured
from cheaptalk.reports.charts.files import save_drawing
from cheaptalk.reports.charts.svg import PAPER
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.tables import ReportTable
from cheaptalk.reports.transcripts import Talk, match_transcript
from cheaptalk.rules import CheaptalkError, counted
from cheaptalk.rules.display import brief
from cheaptalk.rules.registry import Registry, instances

COLOUR = re.compile(r"var\(--(?:role-)?([\w-]+)\)")
"""A colour of a page's style sheet."""


class NoData(CheaptalkError):
    """Raised if a study lacks the data for a part of a recipe; the message names that data."""


class Answer(NamedTuple):
    """A sentence with the main result, shown above all tables and charts.

    Attributes:
        text: the sentence, such as the best player and its margin, or the number of matches needed.
        short: a short form for a list of several parts' answers.
    """

    text: str
    short: str = ""


class Text(NamedTuple):
    """A text that the page shows collapsed under its title, such as the rules of a game.

    Attributes:
        title: the title of the text.
        prose: paragraphs, as in a docstring.
    """

    title: str
    prose: str


class Charts(NamedTuple):
    """A group of charts.

    Attributes:
        name: the name of the group in URLs and file names.
        title: the title of the charts.
        panels: the charts.
        caption: the caption, which explains how to read them.
        wide: whether each chart has its own row.
    """

    name: str
    title: str
    panels: list[Chart]
    caption: str = ""
    wide: bool = False

    def __repr__(self) -> str:
        return brief(self, f"{self.name}, {counted(len(self.panels), 'chart')}: {self.title}")

    def save(self, path: Path | str, *, wide: bool | None = None) -> list[Path]:
        """Write each chart as an ``.svg`` or ``.pdf`` file; several charts are numbered.

        Args:
            wide: whether charts are 720 pixels wide instead of 360; None for the group's width.

        Returns:
            The files, such as ``scores-1.svg`` and ``scores-2.svg`` for ``scores.svg``.

        Raises:
            CheaptalkError: see :meth:`.Chart.save`.
        """
        path, charts = Path(path), [chart for chart in self.panels if not chart.empty]
        names = [path.with_stem(f"{path.stem}-{number}") for number in range(1, len(charts) + 1)]
        return [
            chart.save(name, wide=self.wide if wide is None else wide)
            for name, chart in zip(names if len(charts) > 1 else [path], charts, strict=True)
        ]

    def _repr_html_(self) -> str:
        return _figure(
            self.title,
            [chart.figure(wide=self.wide) for chart in self.panels if not chart.empty],
            self.caption,
        )


class Drawing(NamedTuple):
    """A drawing that is not a chart, such as a graph; it inherits the page's colours."""

    name: str
    title: str
    svg: str
    caption: str = ""

    def __repr__(self) -> str:
        return brief(self, f"{self.name}: {self.title}")

    def on_paper(self) -> str:
        """Return the drawing in colours that do not depend on a page."""
        return COLOUR.sub(lambda found: PAPER.get(found[1], found[0]), self.svg)

    def save(self, path: Path | str) -> Path:
        """Write the drawing as an ``.svg`` or ``.pdf`` file; see :meth:`.Chart.save`."""
        return save_drawing(self.on_paper(), path)

    def _repr_html_(self) -> str:
        return _figure(self.title, [self.on_paper()], self.caption)


def _figure(title: str, drawings: Sequence[str], caption: str) -> str:
    texts = [f"<p><b>{escape(title)}</b></p>" if title else "", *drawings]
    return "".join([*texts, f"<p>{escape(caption)}</p>" if caption else ""])


class Match(NamedTuple):
    """A complete match shown on the page, with the decisive request marked, if there is one."""

    title: str
    about: str
    record: MatchRecord
    decisive: int | None = None

    @property
    def talk(self) -> Talk:
        return match_transcript(self.record)


Shown: TypeAlias = Answer | Text | ReportTable | Charts | Drawing | Match


def painted(items: Iterable[Shown], tones: Mapping[str, int]) -> Iterator[Shown]:
    """Yield the contents of a part, with one colour per player in all of its charts."""
    for item in items:
        if isinstance(item, Charts):
            yield item._replace(panels=[coloured(panel, tones) for panel in item.panels])
        else:
            yield item


@dataclass(frozen=True)
class RecipePart:
    """A part of a recipe, such as one table of the paper.

    Attributes:
        title: the title of the part.
        source: the corresponding element of the paper, such as ``Table 2``; empty if there is none.
        make: a function from a study to tables, charts and drawings. Its docstring appears on the
            page. It raises :class:`NoData` if the study lacks the data.
        design: whether it describes the design rather than results; it is then shown at the end.
        folded: whether it is initially collapsed, and its answer is not in the summary.
        fits: whether it applies to a study, such as one with people; otherwise it is omitted.
    """

    title: str
    source: str
    make: Callable[[Evidence], Iterable[Shown]]
    design: bool = False
    folded: bool = False
    fits: Callable[[Evidence], bool] = lambda _: True

    @property
    def name(self) -> str:
        """Return the title with the corresponding element of the paper, such as (Table 2)."""
        return f"{self.title} ({self.source})" if self.source else self.title

    @property
    def about(self) -> str:
        """Return the description of the method on the page: the docstring of ``make``."""
        return getdoc(getattr(self.make, "func", self.make)) or ""  # the function of a partial

    def made(self, evidence: Evidence, tones: Mapping[str, int]) -> "MadePart":
        """Return the results for a study, with one colour per player in all charts."""
        return MadePart(self, tuple(painted(self.make(evidence), tones)))


class PaperStudy(NamedTuple):
    """A study of a paper.

    Attributes:
        rosters: the rosters of its models.
        changes: changed keys of the preset.
        rehearsed: number of matches that a rehearsal with a mock model plays.
    """

    preset: str
    rosters: tuple[str, ...] = ()
    changes: tuple[tuple[str, object], ...] = ()
    rehearsed: int = 100


@dataclass(frozen=True)
class Recipe:
    """The tables and figures of a paper, for any study with the required data.

    Attributes:
        name: the name on the command line, such as ``glee``.
        title: the title of the recipe.
        paper: title, authors' short name and year.
        parts: the parts, in the order of the page.
        metrics: the metrics that frames must have; None for all metrics of each game.
        options: options by name, with their descriptions.
        heading: the title of the page; the study's name by default.
        methods: the template of the methods section.
        players: additional players on the page.
        games: the supported games; empty for any.
        outline: whether the page begins with the answers of all parts.
        studies: the paper's studies, which ``cheaptalk reproduce`` plays.
    """

    name: str
    title: str
    paper: str
    parts: tuple[RecipePart, ...]
    metrics: tuple[str, ...] | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    heading: str = ""
    methods: str = "methods/page.html.jinja"
    players: tuple[str, ...] = ()
    games: tuple[str, ...] = ()
    outline: bool = True
    studies: tuple[PaperStudy, ...] = ()

    def __repr__(self) -> str:
        return brief(self, f"{self.name}, {counted(len(self.parts), 'part')} from {self.paper}")


RECIPES: Registry[Recipe] = Registry("recipe", "cheaptalk.recipes", instances(Recipe))
"""All recipes by name."""


@dataclass(frozen=True)
class MadePart:
    """The results of a part of a recipe; ``lacking`` names missing data, if there is any."""

    part: RecipePart
    shown: tuple[Shown, ...]
    lacking: str = ""


def by_reason(parts: Iterable[MadePart]) -> dict[str, list[RecipePart]]:
    """Return the missing parts by the reason why they lack data."""
    missing: dict[str, list[RecipePart]] = {}
    for made in parts:
        if made.lacking:
            missing.setdefault(made.lacking, []).append(made.part)
    return missing
