"""Charts as static SVG, for pages and for papers."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from itertools import pairwise
from math import ceil, cos, pi, radians, sin
from pathlib import Path

from cheaptalk.reports.charts.marks import (
    SERIES,
    Axis,
    Box,
    Boxes,
    ChartData,
    Lead,
    Line,
    Mark,
    Points,
    Rule,
    Shape,
    Tone,
)
from cheaptalk.reports.charts.scales import FONT, Scale, fitted, lines_of, scale, width_of

STYLE = (Path(__file__).parents[1] / "templates" / "style.css").read_text(encoding="utf-8")
LIGHT = dict(re.findall(r"--(?:role-)?([\w-]+): light-dark\((#\w+),", STYLE))
"""The colours of a light page by name; series are numbered from 0. They are Okabe and Ito's, some
darker, which colour-blind readers can distinguish."""
PAGE = {name: f"var(--role-{name})" if name.isdigit() else f"var(--{name})" for name in LIGHT}
"""Colours of a page, as variables of its style sheet: light or dark."""
PAPER = LIGHT | {"rule": "#d8d8d2", "paper": "#ffffff"}
"""Colours on white paper."""
WIDTH, WIDE = 360, 720
"""Width of a chart beside others, and of a full-width chart, in pixels."""
ROW, CELL, LOWEST, LEVEL = 26, 34, 18, 190
"""Height of a row of names, of a row of cells and its minimum, and of an area of numbers, in
pixels."""
SLANT, ASLANT = 55, 170
"""Angle of slanted names, in degrees, and their maximum length, in pixels."""
OUTLINES: Mapping[Shape, str] = {
    "cross": "m-1 -1l2 2m-2 0l2 -2",
    "diamond": "m0 -1.3l1.3 1.3l-1.3 1.3l-1.3 -1.3z",
    "square": "m-1 -1h2v2h-2z",
    "triangle": "m0 -1.2l1.2 2h-2.4z",
}
"""Paths of shapes from their centres, in units of the shape's size."""
GAP = 8
SWATCH = 26
"""Size of a legend's marker, and the space after it, in pixels."""
Href = Callable[[Lead], str]


def drawing(
    chart: ChartData,
    width: int = WIDTH,
    *,
    paint: Mapping[str, str] = PAPER,
    href: Href | None = None,
) -> str:
    """Return a chart as an SVG element of a width in pixels; all text in it is escaped."""
    return _Drawing(chart, width, paint, href).svg()


@dataclass(frozen=True)
class _Drawing:
    chart: ChartData
    width: int
    paint: Mapping[str, str]
    href: Href | None

    def svg(self) -> str:
        around = self._around() if self.chart.round else (*self._axes(), *self._layers())
        body = [*self._legend(), *around]
        label = escape(f"{self.chart.title} {self.chart.unit}".strip())
        width, height = self.width, _n(self._total_height)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" overflow="visible" '
            f'role="group" aria-label="{label}" '
            f'font-family="Inter, Helvetica, Arial, sans-serif" font-size="{FONT}" '
            f'fill="{self.paint["ink"]}">{"".join(body)}</svg>'
        )

    # Layout

    @cached_property
    def _named(self) -> list[Points | Line | Boxes]:
        """Return one layer for each name in the legend; empty if there are fewer than two names."""
        named = {
            layer.name: layer
            for layer in reversed(self.chart.layers)
            if not isinstance(layer, Rule) and layer.name
        }
        order = [layer.name for layer in self.chart.layers if not isinstance(layer, Rule)]
        return [named[name] for name in dict.fromkeys(order) if name] if len(named) > 1 else []

    @cached_property
    def _legend_lines(self) -> list[list[int]]:
        return list(lines_of([layer.name for layer in self._named], self.width, SWATCH + GAP))

    @cached_property
    def _left(self) -> float:
        y = self.chart.y
        rough = scale(y, self.chart.numbers("y"), self._height, 0)
        longest = max((width_of(text) for _, text in rough.ticks()), default=0.0)
        room = min(longest, self.width * (0.5 if y.names else 0.3)) + GAP
        return max((FONT + GAP if y.title else 0) + room, self._overhang(room))

    def _overhang(self, left: float) -> float:
        """Return the left margin that slanted names below the axis need."""
        names = self.chart.x.labels or self.chart.x.names
        column = (self.width - 10 - left) / max(1, len(names))
        if self.chart.x.far or not names or max(map(width_of, names)) <= column - 4:
            return 0
        reach = [min(width_of(name), ASLANT) * cos(radians(SLANT)) for name in names]
        places = ((index + 0.5) / len(names) for index in range(len(names)))
        return max(
            (length - place * (self.width - 10)) / (1 - place)
            for length, place in zip(reach, places, strict=True)
        )

    @cached_property
    def _height(self) -> float:
        chart = self.chart
        if chart.height is not None:
            return chart.height
        cells = chart.x.names and chart.y.names
        series = max(1, len({layer.name for layer in chart.layers if isinstance(layer, Points)}))
        if not chart.y.names:
            return LEVEL
        row: float = ROW + 10 * min(series - 1, 3)
        if cells:
            row = min(CELL, max(LOWEST, (self.width - 0.3 * self.width) / len(chart.x.names)))
        return len(chart.y.names) * row

    @cached_property
    def _tilted(self) -> bool:
        """Return whether the labels of the x axis are slanted, because they don't fit otherwise."""
        names = self.chart.x.labels or self.chart.x.names
        room = (self.width - self._left) / max(1, len(names))
        return bool(names) and max(map(width_of, names)) > room - 4

    @cached_property
    def _below(self) -> float:
        x = self.chart.x
        titled = FONT + GAP if x.title else 0
        if not self._tilted:
            return FONT + GAP + titled + 2
        return self._aslant * sin(radians(SLANT)) + FONT + GAP + titled

    @property
    def _aslant(self) -> float:
        return min(max(map(width_of, self.chart.x.labels or self.chart.x.names)), ASLANT)

    @cached_property
    def _right(self) -> float:
        if not (self._tilted and self.chart.x.far):
            return self.width - 10
        beyond = self._aslant * cos(radians(SLANT))
        column = (self.width - self._left - beyond) / len(self.chart.x.names)
        return self.width - max(10, beyond - column / 2)

    @cached_property
    def _top(self) -> float:
        scaled = FONT + GAP if self.chart.scale else 0
        lines = len(self._legend_lines) * (FONT + 6)
        return lines + scaled + (self._below if self.chart.x.far else 8)

    @property
    def _total_height(self) -> float:
        if self.chart.round:
            return self._top + self._height
        return self._top + self._height + (6 if self.chart.x.far else self._below)

    @cached_property
    def _x(self) -> Scale:
        return scale(self.chart.x, self.chart.numbers("x"), self._left, self._right)

    @cached_property
    def _x_ticks(self) -> list[tuple[float, str]]:
        """Return the ticks of the x axis: every second, third, ... number if not all fit."""
        ticks = self._x.ticks()
        if self.chart.x.names or len(ticks) < 2:
            return ticks
        room = max(width_of(text) for _, text in ticks) + GAP / 2
        extent = abs(self._x.at(ticks[-1][0]) - self._x.at(ticks[0][0]))
        step = ceil(room * (len(ticks) - 1) / max(extent, 1.0))
        origin = next((index for index, (tick, _) in enumerate(ticks) if tick == 0), 0)
        return ticks[origin % step :: step]

    @cached_property
    def _y(self) -> Scale:
        top, bottom = self._top, self._top + self._height
        ends = (top, bottom) if self.chart.y.names else (bottom, top)
        return scale(self.chart.y, self.chart.numbers("y"), *ends)

    # Legend and axes

    def _legend(self) -> Iterator[str]:
        for row, line in enumerate(self._legend_lines):
            x, y = 0.0, row * (FONT + 6.0) + FONT
            for index in line:
                layer = self._named[index]
                name = fitted(layer.name, self.width - SWATCH - GAP)
                yield self._swatch(layer, x, y - 4)
                yield self._text(name, x + 18, y)
                x += width_of(name) + SWATCH + GAP
        if self.chart.scale:
            yield from self._colour_scale(len(self._legend_lines) * (FONT + 6) + FONT)

    def _swatch(self, layer: Points | Line | Boxes, x: float, y: float) -> str:
        if isinstance(layer, Line):
            return self._stroke(f"M{_xy(x, y)}h14", layer.tone, 2, layer.dash)
        if isinstance(layer, Boxes):
            return _square(x + 2, y - 5, self._tone(layer.tone))
        return self._shape(layer.shape, x + 7, y, 4, layer.tone)

    def _colour_scale(self, y: float) -> Iterator[str]:
        low, high = self.chart.scale or ("", "")
        layers = [layer for layer in self.chart.layers if isinstance(layer, Boxes)]
        middle = any((box.heat or 0) < 0 for layer in layers for box in layer.boxes)
        steps = [(step - 4) / 4 if middle else step / 8 for step in range(9)]
        x = self._left
        yield self._text(low, x, y, tone="soft")
        x += width_of(low) + 6
        for step in steps:
            yield _square(x, y - 9, self._heat(step))
            x += 10
        yield self._text(high, x + 6, y, tone="soft")

    def _axes(self) -> Iterator[str]:
        left, right = self._left, self._right
        top, bottom = self._top, self._top + self._height
        cells = self.chart.x.names and self.chart.y.names
        if not cells:
            grid = [
                f"M{_xy(self._x.at(tick), top)}V{_n(bottom)}"
                for tick, _ in self._x_ticks
                if not self.chart.x.names
            ]
            grid += [f"M{_xy(left, self._y.at(tick))}H{_n(right)}" for tick, _ in self._y.ticks()]
            yield self._stroke("".join(grid), "rule", 1)
            if self._x.crosses_zero:
                yield self._rule(Rule(x=0), solid=True)
            if self._y.crosses_zero:
                yield self._rule(Rule(y=0), solid=True)
        yield from self._across(self.chart.x)
        yield from self._down(self.chart.y)

    def _across(self, axis: Axis) -> Iterator[str]:
        bottom = self._top + self._height
        y = self._top - GAP if axis.far else bottom + FONT + 4
        for tick, text in self._x_ticks:
            x = self._x.at(tick)
            if self._tilted:
                short, turn = fitted(text, ASLANT), -SLANT
                anchor = "start" if axis.far else "end"
                yield self._text(short, x, y if axis.far else y - 2, anchor, turn=turn, full=text)
            else:
                half = width_of(text) / 2
                inside = max(half, min(x, self.width - half))
                yield self._text(text, inside, y, "middle", tone="soft")
        if axis.title:
            middle = (self._left + self._right) / 2
            at_end = self._top - self._below + FONT if axis.far else bottom + self._below - 2
            x = min(middle, self.width - width_of(axis.title) / 2 - 2)
            yield self._title(axis.title, self.width - 20, x, at_end)

    def _down(self, axis: Axis) -> Iterator[str]:
        room = self._left - GAP - (FONT + GAP if axis.title else 0)
        for tick, text in self._y.ticks():
            tone: Tone = "ink" if axis.names else "soft"
            x, y, shown = self._left - GAP, self._y.at(tick) + 4, fitted(text, room + 1)
            yield self._text(shown, x, y, "end", tone=tone, full=text)
        if axis.title:
            middle = self._top + self._height / 2
            yield self._title(axis.title, self._height + 20, FONT, middle, turn=-90)

    # Layers

    def _layers(self) -> Iterator[str]:
        shift = self._shifts()
        for layer in self.chart.layers:
            match layer:
                case Rule():
                    yield self._rule(layer)
                case Boxes():
                    for box in layer.boxes:
                        yield self._box(box, layer)
                case Line():
                    yield from self._line(layer, shift.get(layer.name, 0.0))
                case Points():
                    for mark in layer.marks:
                        yield self._point(mark, layer, shift.get(layer.name, 0.0))

    def _rule(self, rule: Rule, *, solid: bool = False) -> str:
        if rule.x is not None:
            start, line = (self._x.at(rule.x), self._top), f"v{_n(self._height)}"
        else:
            start, line = (self._left, self._y.at(rule.y)), f"H{_n(self._right)}"
        return self._stroke(f"M{_xy(*start)}{line}", "soft", 1, "" if solid else rule.dash)

    def _shifts(self) -> dict[str, float]:
        """Return the offset by which each series is shifted, so that whiskers don't overlap."""
        layers = self.chart.layers
        dots = list(dict.fromkeys(layer.name for layer in layers if isinstance(layer, Points)))
        if len(dots) > 1 and bool(self.chart.x.names) != bool(self.chart.y.names):
            room = (self.width - self._left) / max(1, len(self.chart.x.names))
            room = self._height / len(self.chart.y.names) if self.chart.y.names else room
            return _side_by_side(dots, min(10.0, 0.7 * room / len(dots)))
        lines = [layer for layer in layers if isinstance(layer, Line) and not layer.band]
        lines = [line for line in lines if any(mark.y_ends for mark in line.marks)]
        room = (self._right - self._left) / max((len(line.marks) for line in lines), default=1)
        names = [line.name for line in lines]
        return _side_by_side(names, min(5.0, 0.5 * room / (len(names) or 1)))

    def _point(self, mark: Mark, layer: Points, shift: float) -> str:
        if mark.x is None or mark.y is None:
            return ""
        x, y = self._x.at(mark.x), self._y.at(mark.y)
        x, y = (x, y + shift) if self.chart.y.names else (x + shift, y)
        tone = layer.tone if mark.tone is None else mark.tone
        whiskers = self._whiskers(mark, x, y, tone)
        return self._linked(whiskers + self._shape(layer.shape, x, y, mark.size, tone), mark)

    def _whiskers(self, mark: Mark, x: float, y: float, tone: Tone, opacity: str = "") -> str:
        path = ""
        if mark.x_ends:
            low, high = map(self._x.at, mark.x_ends)
            path += f"M{_xy(low, y)}H{_n(high)}"
        if mark.y_ends:
            low, high = map(self._y.at, mark.y_ends)
            path += f"M{_xy(x, low)}V{_n(high)}"
        return self._stroke(path, tone, 1.5, opacity=opacity)

    def _line(self, line: Line, shift: float) -> Iterator[str]:
        runs: list[list[Mark]] = [[]]
        for mark in line.marks:
            if mark.x is None or mark.y is None:
                runs.append([])
            else:
                runs[-1].append(mark)
        for run in filter(None, runs):
            points = [(self._x.at(mark.x) + shift, self._y.at(mark.y)) for mark in run]
            if line.band:
                yield self._band(run, line.tone)
            path = f"M{_xy(points[0][0], points[0][1])}" + "".join(
                f"H{_n(x)}V{_n(y)}" if line.steps else f"L{_xy(x, y)}"
                for _, (x, y) in pairwise(points)
            )
            yield self._stroke(path, line.tone, line.width, line.dash)
            for mark, (x, y) in zip(run, points, strict=True):
                if line.dots:
                    dot = self._shape("dot", x, y, 3 if mark.size == 4 else mark.size, line.tone)
                    if not line.band:
                        dot = self._whiskers(mark, x, y, line.tone, "0.5") + dot
                    yield self._linked(dot, mark)

    def _band(self, run: Sequence[Mark], tone: Tone) -> str:
        intervals = [(self._x.at(mark.x), mark.y_ends) for mark in run if mark.y_ends]
        if len(intervals) < 2:
            return ""
        upper = [f"{_xy(x, self._y.at(ends[1]))}" for x, ends in intervals]
        lower = [f"{_xy(x, self._y.at(ends[0]))}" for x, ends in reversed(intervals)]
        outline = f"M{'L'.join([*upper, *lower])}Z"
        return _element("path", d=outline, fill=self._tone(tone), fill_opacity="0.15")

    def _box(self, box: Box, layer: Boxes) -> str:
        (left, right), (top, bottom) = (
            sorted(map(axis.at, ends)) for axis, ends in ((self._x, box.x), (self._y, box.y))
        )
        shape = {"x": left, "y": top, "width": right - left, "height": bottom - top}
        tone = self._tone(layer.tone)
        if layer.frame:
            return _element(
                "rect", **shape, fill="none", stroke=tone, stroke_width=str(layer.frame)
            )
        fill = tone if box.heat is None else self._heat(box.heat)
        label = ""
        if box.label and width_of(box.label) <= right - left + GAP / 2:
            label = self._text(box.label, (left + right) / 2, (top + bottom) / 2 + 4, "middle")
        return self._linked(_element("rect", **shape, fill=fill) + label, box)

    def _around(self) -> Iterator[str]:
        """Yield a radar chart: names in a circle, with values that increase from the centre."""
        names, middle = self.chart.x.names, (self.width / 2, self._top + self._height / 2)
        ring = self._height / 2 - 2 * FONT
        reach = scale(self.chart.y, self.chart.numbers("y"), 0, ring)

        def at(index: int, far: float) -> tuple[float, float]:
            angle = 2 * pi * index / len(names)
            return middle[0] + far * sin(angle), middle[1] - far * cos(angle)

        def path(points: Sequence[tuple[float, float]]) -> str:
            return "M" + "L".join(f"{_xy(x, y)}" for x, y in points) + "Z"

        for number, text in reach.ticks():
            far = reach.at(number)
            yield self._stroke(path([at(index, far) for index in range(len(names))]), "rule", 1)
            yield self._text(text, middle[0] + 4, middle[1] - far - 2, tone="soft")
        for index, name in enumerate(names):
            x, y = at(index, ring + FONT)
            anchor = "middle" if abs(x - middle[0]) < FONT else "start" if x > middle[0] else "end"
            room = self.width - x if anchor == "start" else x if anchor == "end" else self.width
            yield self._text(fitted(name, room), x, y + 4, anchor, full=name)
        for layer in self.chart.layers:
            if isinstance(layer, Line):
                points = [at(names.index(str(mark.x)), reach.at(mark.y)) for mark in layer.marks]
                yield self._stroke(path(points), layer.tone, layer.width, layer.dash)
                for mark, (x, y) in zip(layer.marks, points, strict=True):
                    yield self._linked(self._shape("dot", x, y, 3, layer.tone), mark)

    # SVG elements

    def _linked(self, content: str, mark: Mark | Box) -> str:
        if not mark.text and not mark.lead:
            return content
        title = f"<title>{escape(mark.text)}</title>" if mark.text else ""
        if mark.lead and self.href:
            return f'<a class="mark" href="{escape(self.href(mark.lead))}">{title}{content}</a>'
        return f'<g class="mark">{title}{content}</g>'

    def _shape(self, shape: Shape, x: float, y: float, size: float, tone: Tone) -> str:
        colour = self._tone(tone)
        if shape in ("dot", "ring"):
            look = {"fill": colour}
            if shape == "ring":
                look = {"fill": self.paint["paper"], "stroke": colour, "stroke_width": "1.5"}
            return _element("circle", cx=x, cy=y, r=size, **look)
        outline = re.sub(r"[\d.]+", lambda share: _n(float(share[0]) * size), OUTLINES[shape])
        path = f"M{_xy(x, y)}{outline}"
        if shape == "cross":
            return self._stroke(path, tone, 2)
        return _element("path", d=path, fill=colour)

    def _stroke(
        self, path: str, tone: Tone, width: float, dash: str = "", opacity: str = ""
    ) -> str:
        look = {"stroke_width": str(width), "stroke_dasharray": dash, "stroke_opacity": opacity}
        return path and _element("path", d=path, fill="none", stroke=self._tone(tone), **look)

    def _title(self, title: str, room: float, x: float, y: float, turn: int = 0) -> str:
        return self._text(fitted(title, room), x, y, "middle", tone="soft", turn=turn, full=title)

    def _text(
        self,
        text: str,
        x: float,
        y: float,
        anchor: str = "start",
        *,
        tone: Tone = "ink",
        turn: int = 0,
        full: str = "",
    ) -> str:
        look = {
            "text_anchor": "" if anchor == "start" else anchor,
            "fill": "" if tone == "ink" else self._tone(tone),
            "transform": f"rotate({turn} {_xy(x, y)})" if turn else "",
        }
        written = _element("text", escape(text), x=x, y=y, **look)
        if full in ("", text):
            return written
        return f"<g><title>{escape(full)}</title>{written}</g>"

    def _tone(self, tone: Tone) -> str:
        return self.paint[f"{tone % SERIES}" if isinstance(tone, int) else tone]

    def _heat(self, share: float) -> str:
        end = self.paint["heat-high" if share >= 0 else "heat-less"]
        return mixed(self.paint["heat-low"], end, abs(share))


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


def _xy(x: float, y: float) -> str:
    return f"{_n(x)} {_n(y)}"


def _element(tag: str, content: str | None = None, /, **attributes: float | str | None) -> str:
    """Return an SVG element; numbers are rounded, and attributes without a value are omitted."""
    shown = {name: value for name, value in attributes.items() if value not in (None, "")}
    written = "".join(
        f' {name.replace("_", "-")}="{value if isinstance(value, str) else _n(value or 0.0)}"'
        for name, value in shown.items()
    )
    return f"<{tag}{written}/>" if content is None else f"<{tag}{written}>{content}</{tag}>"


def _square(x: float, y: float, fill: str) -> str:
    return _element("rect", x=x, y=y, width=10, height=10, fill=fill)


def _side_by_side(names: Sequence[str], step: float) -> dict[str, float]:
    return {name: (index - (len(names) - 1) / 2) * step for index, name in enumerate(names)}


def mixed(start: str, other: str, share: float) -> str:
    """Return a mixture of two colours, given as CSS variables or as ``#rrggbb``.

    >>> mixed("#000000", "#ff8000", 0.5), mixed("var(--a)", "var(--b)", 0.25)
    ('#804000', 'color-mix(in srgb, var(--a), var(--b) 25%)')
    """
    share = min(max(share, 0.0), 1.0)
    if not start.startswith("#"):
        return f"color-mix(in srgb, {start}, {other} {share:.0%})"
    parts = [
        (int(start[offset : offset + 2], 16), int(other[offset : offset + 2], 16))
        for offset in (1, 3, 5)
    ]
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in parts)
