"""Descriptions of the metrics and figures that pages on empirical games show for a game."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from cheaptalk.rules.game import Game


class ScaledMetric(NamedTuple):
    """A table column: its header, the name of its metric, and a positive divisor of the means."""

    title: str
    metric: str
    scale: float = 1.0


class MetricTable(NamedTuple):
    """A table of metrics with a title and one or two sentences that explain the numbers."""

    title: str
    about: str
    columns: tuple[ScaledMetric, ...]


class Radar(NamedTuple):
    """A radar chart of metrics with a common unit, for each player matched against itself.

    Attributes:
        axes: the metrics' names by the labels of their axes, clockwise.
    """

    title: str
    unit: str
    axes: Mapping[str, str]


class Histogram(NamedTuple):
    """A histogram of an instance-level metric from 0 to ``top``, with bins of equal width."""

    title: str
    metric: str
    axis: str
    top: float


@dataclass(frozen=True)
class EmpiricalView:
    """The metrics, tables and figures that pages of empirical games show for a game.

    Attributes:
        metrics: the names of the metrics in tables and figures.
        tables: a function that returns the tables of metrics at equilibrium for a mixture of
            configurations, or no tables if these configurations have no common scale.
        given: the name, without the seat at its end, of the metric that measures how much each
            seat's offers concede; empty if the game has no such metric.
        configurations: parameters by their names in publications.
        mixtures: names of configurations by the name of their uniform mixture.
        methods: explanations of the metrics for readers of a page, by heading.
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
