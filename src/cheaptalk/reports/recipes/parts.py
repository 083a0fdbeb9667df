"""What a report recipe is made of: tables and figures, in parts that say what they show."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from inspect import getdoc
from typing import NamedTuple, TypeAlias

from cheaptalk.frames.matches import Observer
from cheaptalk.records import MatchRecord
from cheaptalk.reports.charts.chart import Chart
from cheaptalk.reports.charts.colours import coloured
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.tables import ReportTable
from cheaptalk.reports.transcripts import Talk, talk
from cheaptalk.rules import CheaptalkError, counted
from cheaptalk.rules.display import brief
from cheaptalk.rules.registry import Registry, instances


class Lacking(CheaptalkError):
    """The study does not hold what a part needs; the sentence says what is missing."""


class Answer(NamedTuple):
    """What came out, in one sentence that stands before all tables and charts.

    Attributes:
        text: the sentence, such as who did best by how much, or that it cannot be told yet and
            how many matches would tell.
        short: the same in half a line, as it stands in a list of several parts' answers.
    """

    text: str
    short: str = ""


class Text(NamedTuple):
    """Words that a page keeps folded under a title, such as the rules of a game.

    Attributes:
        title: what they are.
        prose: paragraphs, as in a docstring.
    """

    title: str
    prose: str


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


class Match(NamedTuple):
    """A match to be read, whole, where it stands.

    Attributes:
        title: what it is an example of.
        about: who met whom, and what came of it.
        record: the match.
        decisive: the request whose answer is marked as the one that decided; none without.
    """

    title: str
    about: str
    record: MatchRecord
    decisive: int | None = None

    @property
    def talk(self) -> Talk:
        """The match laid out for reading."""
        return talk(self.record)


Shown: TypeAlias = Answer | Text | ReportTable | Charts | Drawing | Match


def painted(shown: Iterable[Shown], tones: Mapping[str, int]) -> Iterator[Shown]:
    """What a part shows, its charts with one colour for each player; see :func:`.coloured`."""
    for one in shown:
        if isinstance(one, Charts):
            yield one._replace(panels=[coloured(panel, tones) for panel in one.panels])
        else:
            yield one


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
        design: whether it tells what was played and not what came out; it then stands at the end.
        folded: whether the page shows only its title until it is opened, and leaves its answer out
            of the summary.
        fits: whether a study is of the kind that it is about, such as one with people; of others it
            is left out, and nothing is lacking.
    """

    title: str
    source: str
    make: Callable[[Evidence], Iterable[Shown]]
    observers: tuple[type[Observer], ...] = ()
    design: bool = False
    folded: bool = False
    fits: Callable[[Evidence], bool] = lambda _: True

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
        methods: the template that tells how numbers are made.
        players: who stands in it besides the study's own.
        games: those that it is about; empty for any.
        outline: whether the page opens with a list of the answers of all parts.
    """

    name: str
    title: str
    paper: str
    parts: tuple[RecipePart, ...]
    measures: tuple[str, ...] | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    heading: str = ""
    methods: str = "methods/page.html.jinja"
    players: tuple[str, ...] = ()
    games: tuple[str, ...] = ()
    outline: bool = True

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
