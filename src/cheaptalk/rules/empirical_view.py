"""How a game is presented as an empirical game: metrics beside its equilibria, and figures."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from cheaptalk.rules.game import Game


class ScaledMetric(NamedTuple):
    """A metric as a column of a table.

    Attributes:
        title: the column's header.
        metric: the metric's name.
        scale: the number by which means are divided, > 0.
    """

    title: str
    metric: str
    scale: float = 1.0


class MetricTable(NamedTuple):
    """Metrics that are shown in one table.

    Attributes:
        title: the table's title.
        about: one or two sentences that explain the numbers.
        columns: the metrics.
    """

    title: str
    about: str
    columns: tuple[ScaledMetric, ...]


class Radar(NamedTuple):
    """A radar chart of metrics, for each player in matches against itself.

    Attributes:
        title: the figure's title.
        unit: the unit of all metrics.
        axes: the metrics' names by the label of their axis, clockwise.
    """

    title: str
    unit: str
    axes: Mapping[str, str]


class Histogram(NamedTuple):
    """A histogram of an instance-level metric, with bins of equal width.

    Attributes:
        title: the figure's title.
        metric: the metric's name.
        axis: the label of the axis.
        top: the metric's maximum; the minimum is 0.
    """

    title: str
    metric: str
    axis: str
    top: float


@dataclass(frozen=True)
class EmpiricalView:
    """A game's content on pages of empirical games.

    Attributes:
        metrics: the names of the metrics in tables and figures.
        tables: a function from the configurations that are mixed to the tables of metrics at
            equilibrium; no tables if these configurations cannot be shown on one scale.
        given: the metric of each seat that measures what its offers give away, without the seat at
            its end; empty if there is none.
        configurations: parameters by the names that publications give them.
        mixtures: names of configurations by the name of their uniform mixture.
        radars, histograms: figures of how the game was played.
        methods: explanations of the metrics for readers of a page, by heading.
        about_figures: an explanation of the figures.
    """

    metrics: tuple[str, ...]
    tables: Callable[[Sequence[Game]], Sequence[MetricTable]]
    given: str = ""
    configurations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    mixtures: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    radars: tuple[Radar, ...] = ()
    histograms: tuple[Histogram, ...] = ()
    methods: Mapping[str, str] = field(default_factory=dict)
    about_figures: str = ""
