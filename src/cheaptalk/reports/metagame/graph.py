"""The best-response graph: who answers whom best, in how many bootstrap games.

Drawn by the rules of the item bargaining paper (section 5, after Li and Wellman 2024): an edge
leads from a strategy to its best response, where that is one in at least a hundredth of the games;
dotted up to a third of them, dashed up to two thirds, solid above; darker and thicker where the
response gets more.
"""

from collections.abc import Iterator, Sequence
from math import cos, hypot, pi, sin
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cheaptalk.equilibrium.analysis.analysis import LEAST
from cheaptalk.reports.charts.chart import SERIES
from cheaptalk.reports.charts.scales import short
from cheaptalk.reports.pages import environment

DOTTED, DASHED = 0.33, 0.66
"""The largest shares of edges that are dotted and dashed."""
DASHES = {"dotted": "0.1 5", "dashed": "8 6", "solid": "none"}

NODE = 9.0
"""The radius of a node, as all lengths in units of the drawing: about pixels."""
HEAD = 10.0
"""The length of an arrowhead."""
LOOP = 40.0
"""How far the control points of a loop reach out."""
BEND = 0.13
"""How far an edge bends, as a share of its length, so that two opposite ones part."""
LETTER = 9.2
"""The width of a letter."""


class Node(NamedTuple):
    """A strategy.

    Attributes:
        label: its name; ``shown`` is the name as it fits.
        share: its probability at equilibrium.
        at: the centre.
        text: where the label stands, at its ``anchor``: start, middle or end.
        tone: its colour.
    """

    label: str
    shown: str
    share: float
    at: complex
    text: complex
    anchor: str
    tone: int


class Edge(NamedTuple):
    """A best response.

    Attributes:
        source, target: the strategy and its best response.
        frequency: in what share of games it is one.
        payoff: what the response gets on the mean of all matches.
        style: dotted, dashed or solid.
        strength: where the payoff stands between the least and the most of all edges, in [0, 1].
        line, head: the paths to draw.
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
    """A best-response graph, ready to draw; ``box`` is left, top, width and height."""

    nodes: list[Node]
    edges: list[Edge]
    box: tuple[float, float, float, float]

    @property
    def dashes(self) -> dict[str, str]:
        """How lines of each style are broken."""
        return DASHES

    def svg(self) -> str:
        """A drawing that stands alone; in a page it takes the colours of what is around it."""
        template = environment().get_template("metagame/graph.svg.jinja")
        return template.render(graph=self, radius=NODE)

    @property
    def said(self) -> str:
        """The edges in words, for those who do not see them."""
        edges = sorted(self.edges, key=lambda edge: -edge.frequency)
        told = [f"{edge.source} to {edge.target} in {edge.frequency:.0%}" for edge in edges]
        return f"Best responses, with the share of games: {'; '.join(told)}"


def best_response_graph(
    labels: Sequence[str],
    payoffs: npt.NDArray[np.float64],
    frequencies: npt.NDArray[np.float64],
    mixture: Sequence[float] | npt.NDArray[np.float64],
    tones: Sequence[int] = (),
) -> Graph:
    """The graph of some strategies.

    Args:
        labels: of the n strategies.
        payoffs: what strategy i gets against strategy j, shape (n, n).
        frequencies: in what share of games i is the best response to j, shape (n, n), in [0, 1].
        mixture: the equilibrium, whose strategies are filled, shape (n,).
        tones: the colour of each strategy; all are alike without.
    """
    drawn = [(j, i) for j, i in np.ndindex(payoffs.shape) if frequencies[i, j] >= LEAST]
    gets = [float(payoffs[i, j]) for j, i in drawn]
    least, most = min(gets, default=0.0), max(gets, default=0.0)
    places = list(_circle(len(labels)))
    edges = []
    for (j, i), payoff in zip(drawn, gets, strict=True):
        line, head = _loop(places[i]) if i == j else _arc(places[j], places[i])
        strength = (payoff - least) / (most - least) if most > least else 1.0
        share = float(frequencies[i, j])
        edges.append(
            Edge(labels[j], labels[i], share, payoff, style_of(share), strength, line, head)
        )
    looped = {j for j, i in drawn if i == j}
    nodes = [
        _node(
            label,
            float(mixture[place]),
            places[place],
            place in looped,
            tones[place] % SERIES if tones else 0,
        )
        for place, label in enumerate(labels)
    ]
    return Graph(nodes, edges, _box(nodes))


def style_of(frequency: float) -> str:
    """How an edge is drawn.

    >>> style_of(0.33), style_of(0.66), style_of(0.67)
    ('dotted', 'dashed', 'solid')
    """
    return "dotted" if frequency <= DOTTED else "dashed" if frequency <= DASHED else "solid"


def _circle(count: int) -> Iterator[complex]:
    """Places for so many nodes, clockwise from the first on top; two stand side by side."""
    radius = {1: 0.0, 2: 70.0}.get(count, max(115.0, 9.0 * count + 50.0))
    first = pi if count == 2 else -pi / 2
    for place in range(count):
        angle = 2 * pi * place / count + first
        yield radius * complex(cos(angle), sin(angle))


def _node(label: str, share: float, at: complex, looped: bool, tone: int) -> Node:
    """A node with its label outside of the circle."""
    outward = _unit(at) if at else -1j
    text = at + outward * (NODE + (30 if looped else 9))
    across = outward.real
    anchor = "middle" if abs(across) < 0.15 else "start" if across > 0 else "end"
    down = 4.5 + 6 * outward.imag
    return Node(label, short(label), share, at, text + complex(0, down), anchor, tone)


def _arc(start: complex, end: complex) -> tuple[str, str]:
    """A bent line between two nodes, and its head."""
    control = (start + end) / 2 + (end - start) * 1j * BEND
    begin = start + _unit(control - start) * NODE
    tip = end + _unit(control - end) * (NODE + 1)
    back, head = _head(tip, _unit(tip - control))
    return f"M{_xy(begin)}Q{_xy(control)} {_xy(back)}", head


def _loop(at: complex) -> tuple[str, str]:
    """A line from a node to itself, outside of the circle, and its head."""
    outward = _unit(at) if at else -1j
    left, right = (outward * complex(cos(turn), sin(turn)) for turn in (-0.55, 0.55))
    begin, tip = at + left * NODE, at + right * (NODE + 1)
    far = at + left * LOOP, at + right * LOOP
    back, head = _head(tip, -right)
    return f"M{_xy(begin)}C{_xy(far[0])} {_xy(far[1])} {_xy(back)}", head


def _head(tip: complex, along: complex) -> tuple[complex, str]:
    """Where the line ends that an arrowhead continues, and the head."""
    back = tip - along * HEAD
    side = along * 1j * HEAD * 0.45
    return back + along * 2, f"M{_xy(tip)}L{_xy(back + side)}L{_xy(back - side)}Z"


def _unit(vector: complex) -> complex:
    return vector / hypot(vector.real, vector.imag)


def _xy(point: complex) -> str:
    return f"{point.real:.1f} {point.imag:.1f}"


def _box(nodes: Sequence[Node]) -> tuple[float, float, float, float]:
    """What the drawing covers, labels and loops with it."""
    xs, ys = [], []
    for node in nodes:
        width = LETTER * len(node.shown)
        left = node.text.real - {"start": 0.0, "middle": width / 2, "end": width}[node.anchor]
        xs += [left, left + width, node.at.real - LOOP, node.at.real + LOOP]
        ys += [node.text.imag - 16, node.text.imag + 8, node.at.imag - LOOP, node.at.imag + LOOP]
    return min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys)
