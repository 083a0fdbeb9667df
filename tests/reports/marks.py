"""Marks of charts, for tests."""

from cheaptalk.reports.charts.chart import Box, Boxes, Chart, Line, Points, Value


def named(chart: Chart) -> dict[str, Line | Points]:
    """Return the last layer of marks of each name."""
    return {layer.name: layer for layer in chart.layers if isinstance(layer, Line | Points)}


def boxes(chart: Chart) -> list[Box]:
    """Return all boxes in the order of layers."""
    return [box for layer in chart.layers if isinstance(layer, Boxes) for box in layer.boxes]


def across(layer: Line | Points) -> list[Value]:
    """Return the horizontal positions of marks."""
    return [mark.x for mark in layer.marks]


def up(layer: Line | Points) -> list[Value]:
    """Return the vertical positions of marks."""
    return [mark.y for mark in layer.marks]
