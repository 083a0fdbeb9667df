"""What charts show, for tests to look at."""

from cheaptalk.reports.charts.chart import Box, Boxes, Chart, Line, Points, Value


def named(chart: Chart) -> dict[str, Line | Points]:
    """The last layer of marks of each name."""
    return {one.name: one for one in chart.layers if isinstance(one, Line | Points)}


def boxes(chart: Chart) -> list[Box]:
    """All boxes, in the order of layers."""
    return [box for one in chart.layers if isinstance(one, Boxes) for box in one.boxes]


def across(layer: Line | Points) -> list[Value]:
    """Where marks are along the horizontal axis."""
    return [mark.x for mark in layer.marks]


def up(layer: Line | Points) -> list[Value]:
    """Where marks are along the vertical axis."""
    return [mark.y for mark in layer.marks]
