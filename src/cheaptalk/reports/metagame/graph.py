"""Plot the best-response graph of a game, aggregated over its bootstrap samples.

The style follows the item bargaining paper (section 5, after Li and Wellman 2024). An edge points
from a strategy to its best response in at least 1 % of draws. It is dotted up to a third of draws,
dashed up to two thirds, and solid above, and darker and thicker for higher payoffs.
"""

from collections.abc import Iterator, Sequence
from math import cos, hypot, pi, sin
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cheaptalk.equilibrium.analysis.analysis import LEAST
from cheaptalk.reports.charts.chart import SERIES
from cheaptalk.reports.charts.scales import short
from cheaptalk.reports.charts.svg import PAGE
from cheaptalk.reports.pages import shared_environment

DOTTED, DASHED = 0.33, 0.66
"""The maximum frequencies of dotted and dashed edges."""
DASHES = {"dotted": "0.1 5", "dashed": "8 6", "solid": "none"}

NODE = 9.0
"""The radius of a node, in units of the drawing (about pixels)."""
HEAD = 10.0
"""The length of an arrowhead."""
LOOP = 40.0
"""The distance of a loop's control points."""
BEND = 0.13
"""The bend of an edge, as a share of its length, which separates opposite edges."""
LETTER = 9.2
"""The mean width of a letter."""


class Node(NamedTuple):
    """A strategy as a node, with its label at the position ``text``, to which ``anchor`` refers."""

    label: str
    short_label: str
    share: float
    centre: complex
    text: complex
    anchor: str
    tone: int


class Edge(NamedTuple):
    """An arrow from a strategy to its best response in a share of draws (``frequency``).

    ``strength`` is the response's payoff relative to the range over all edges, in [0, 1]; ``line``
    and ``head`` are SVG paths.
    """

    source: str
    target: str
    frequency: float
    payoff: float
    style: str
    strength: float
    line: str
    head: str


class Graph(NamedTuple):
    """A best-response graph; ``box`` is its left edge, top edge, width and height."""

    nodes: list[Node]
    edges: list[Edge]
    box: tuple[float, float, float, float]

    @property
    def dashes(self) -> dict[str, str]:
        """Return the dash pattern of each edge style."""
        return DASHES

    def svg(self) -> str:
        """Return the graph as SVG, which inherits its colours from the page."""
        template = shared_environment().get_template("metagame/graph.svg.jinja")
        return template.render(graph=self, radius=NODE, paint=PAGE)

    @property
    def description(self) -> str:
        """Describe the edges as text for screen readers."""
        edges = sorted(self.edges, key=lambda edge: -edge.frequency)
        phrases = [f"{edge.source} to {edge.target} in {edge.frequency:.0%}" for edge in edges]
        return f"Best responses, with the share of draws: {'; '.join(phrases)}"


def best_response_graph(
    labels: Sequence[str],
    payoffs: npt.NDArray[np.float64],
    frequencies: npt.NDArray[np.float64],
    mixture: Sequence[float] | npt.NDArray[np.float64],
    tones: Sequence[int] = (),
) -> Graph:
    """Build the best-response graph of n strategies.

    Args:
        payoffs: the payoff of strategy i against strategy j, shape (n, n).
        frequencies: the share of draws in which i is the best response to j, shape (n, n).
        mixture: the equilibrium, whose strategies are filled, shape (n,).
        tones: the colour number of each strategy; by default, all are equal.
    """
    edge_indices = [(j, i) for j, i in np.ndindex(payoffs.shape) if frequencies[i, j] >= LEAST]
    edge_payoffs = [float(payoffs[i, j]) for j, i in edge_indices]
    minimum, maximum = min(edge_payoffs, default=0.0), max(edge_payoffs, default=0.0)
    centres = list(_circle(len(labels)))
    edges = []
    for (j, i), payoff in zip(edge_indices, edge_payoffs, strict=True):
        line, head = _loop(centres[i]) if i == j else _arc(centres[j], centres[i])
        strength = (payoff - minimum) / (maximum - minimum) if maximum > minimum else 1.0
        share = float(frequencies[i, j])
        edges.append(
            Edge(labels[j], labels[i], share, payoff, style_of(share), strength, line, head)
        )
    looped = {j for j, i in edge_indices if i == j}
    numbers = [tone % SERIES for tone in tones] or [0] * len(labels)
    nodes = [
        _node(label, float(mixture[index]), centres[index], index in looped, numbers[index])
        for index, label in enumerate(labels)
    ]
    return Graph(nodes, edges, _box(nodes))


def style_of(frequency: float) -> str:
    """Return the line style of an edge.

    >>> style_of(0.33), style_of(0.66), style_of(0.67)
    ('dotted', 'dashed', 'solid')
    """
    return "dotted" if frequency <= DOTTED else "dashed" if frequency <= DASHED else "solid"


def _circle(count: int) -> Iterator[complex]:
    """Yield node positions, clockwise from the top; two nodes are side by side."""
    radius = {1: 0.0, 2: 70.0}.get(count, max(115.0, 9.0 * count + 50.0))
    start_angle = pi if count == 2 else -pi / 2
    for index in range(count):
        angle = 2 * pi * index / count + start_angle
        yield radius * complex(cos(angle), sin(angle))


def _node(label: str, share: float, centre: complex, looped: bool, tone: int) -> Node:
    outward = _unit(centre) if centre else -1j
    text = centre + outward * (NODE + (30 if looped else 9))
    across = outward.real
    anchor = "middle" if abs(across) < 0.15 else "start" if across > 0 else "end"
    down = 4.5 + 6 * outward.imag
    return Node(label, short(label), share, centre, text + complex(0, down), anchor, tone)


def _arc(start: complex, end: complex) -> tuple[str, str]:
    control = (start + end) / 2 + (end - start) * 1j * BEND
    begin = start + _unit(control - start) * NODE
    tip = end + _unit(control - end) * (NODE + 1)
    line_end, head = _head(tip, _unit(tip - control))
    return f"M{_xy(begin)}Q{_xy(control)} {_xy(line_end)}", head


def _loop(centre: complex) -> tuple[str, str]:
    outward = _unit(centre) if centre else -1j
    begin_side, end_side = (outward * complex(cos(turn), sin(turn)) for turn in (-0.55, 0.55))
    begin, tip = centre + begin_side * NODE, centre + end_side * (NODE + 1)
    far = centre + begin_side * LOOP, centre + end_side * LOOP
    line_end, head = _head(tip, -end_side)
    return f"M{_xy(begin)}C{_xy(far[0])} {_xy(far[1])} {_xy(line_end)}", head


def _head(tip: complex, along: complex) -> tuple[complex, str]:
    base = tip - along * HEAD
    side = along * 1j * HEAD * 0.45
    return base + along * 2, f"M{_xy(tip)}L{_xy(base + side)}L{_xy(base - side)}Z"


def _unit(vector: complex) -> complex:
    return vector / hypot(vector.real, vector.imag)


def _xy(point: complex) -> str:
    return f"{point.real:.1f} {point.imag:.1f}"


def _box(nodes: Sequence[Node]) -> tuple[float, float, float, float]:
    xs, ys = [], []
    for node in nodes:
        width = LETTER * len(node.short_label)
        x_start = node.text.real - {"start": 0.0, "middle": width / 2, "end": width}[node.anchor]
        xs += [x_start, x_start + width, node.centre.real - LOOP, node.centre.real + LOOP]
        ys += [node.text.imag - 16, node.text.imag + 8]
        ys += [node.centre.imag - LOOP, node.centre.imag + LOOP]
    return min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys)
