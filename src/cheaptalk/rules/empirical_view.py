"""What is shown of a game as an empirical game: measures beside its equilibria, and figures."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from cheaptalk.rules.game import Game


class ScaledMeasure(NamedTuple):
    """A measure as a table shows it.

    Attributes:
        title: over its column.
        measure: its name.
        scale: what means are divided by, > 0.
    """

    title: str
    measure: str
    scale: float = 1.0


class MeasureTable(NamedTuple):
    """Measures that stand together in a table.

    Attributes:
        title: over the table.
        about: what the numbers are, in a sentence or two.
        columns: its measures.
    """

    title: str
    about: str
    columns: tuple[ScaledMeasure, ...]


class Radar(NamedTuple):
    """Measures that are drawn around a circle, for each player in matches against itself.

    Attributes:
        title: over the figure.
        unit: of all its measures.
        axes: the measures' names by what their axes are called, clockwise.
    """

    title: str
    unit: str
    axes: Mapping[str, str]


class Histogram(NamedTuple):
    """A measure of deals, counted in bins of one width.

    Attributes:
        title: over the figure.
        measure: its name.
        axis: what it is, for the axis.
        top: the most that it can be; the least is 0.
    """

    title: str
    measure: str
    axis: str
    top: float


@dataclass(frozen=True)
class EmpiricalView:
    """What pages of empirical games show of a game.

    Attributes:
        measures: the names of those that tables and figures take.
        tables: the measures at equilibrium for configurations that are mixed; none where these
            cannot be shown on one scale.
        given: the measure of each seat that is what its offers give away, without the place at its
            end; empty where there is none.
        configurations: parameters by the names that publications give them.
        mixtures: names of configurations by the name of their uniform mixture.
        radars, histograms: figures of how the game was played.
        methods: what readers of a page must know of the measures, by heading.
        about_figures: what they must know of the figures.
    """

    measures: tuple[str, ...]
    tables: Callable[[Sequence[Game]], Sequence[MeasureTable]]
    given: str = ""
    configurations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    mixtures: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    radars: tuple[Radar, ...] = ()
    histograms: tuple[Histogram, ...] = ()
    methods: Mapping[str, str] = field(default_factory=dict)
    about_figures: str = ""
