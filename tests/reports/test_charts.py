"""SVG charts: marks are drawn at their numbers, and nothing exceeds the drawing."""

import math
import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cheaptalk.reports.charts.chart import (
    SERIES,
    Axis,
    Box,
    Boxes,
    Chart,
    Lead,
    Line,
    Mark,
    Points,
    Rule,
    coloured,
    tones_of,
)
from cheaptalk.reports.charts.kinds import Cell, cells, dots
from cheaptalk.reports.charts.scales import scale, width_of
from cheaptalk.reports.charts.svg import PAGE, drawing
from cheaptalk.reports.pages import source

SVG = "{http://www.w3.org/2000/svg}"


def drawn(chart: Chart, **options: Any) -> ElementTree.Element:
    return ElementTree.fromstring(drawing(chart, **options))  # noqa: S314 - made here


def texts(root: ElementTree.Element) -> list[str]:
    return ["".join(element.itertext()) for element in root.iter(f"{SVG}text")]


def middles(root: ElementTree.Element) -> list[tuple[float, float]]:
    return [(float(dot.attrib["cx"]), float(dot.attrib["cy"])) for dot in root.iter(f"{SVG}circle")]


def test_dots_are_in_row_order_with_their_whiskers() -> None:
    rows: list[dict[str, Any]] = [
        {"gain": 1.0, "gain.low": 0.0, "gain.high": 2.0},
        {"gain": 3.0},
        {"gain": None},
    ]
    root = drawn(dots("Gain", "coins", ["a", "b", "c"], rows, "gain", ["1", "3", "none"]))
    (first, second) = middles(root)
    assert first[0] < second[0]
    assert first[1] < second[1]
    paths = [path.attrib["d"] for path in root.iter(f"{SVG}path") if "1.5" in path.attrib.values()]
    (ends,) = (re.fullmatch(r"M([\d.]+) ([\d.]+)H([\d.]+)", whisker) for whisker in paths)
    assert ends is not None
    low, at, high = map(float, ends.groups())
    assert at == first[1]
    assert first[0] - low == pytest.approx(high - first[0], abs=0.2)
    assert high == pytest.approx((first[0] + second[0]) / 2, abs=0.2)
    assert {"a", "b", "c"} <= set(texts(root))


@given(
    st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=5),
    st.sampled_from([Axis(), Axis(zero=True), Axis(integer=True), Axis(turned=True)]),
)
def test_numbers_and_ticks_are_within_the_axis(numbers: list[float], axis: Axis) -> None:
    made = scale(axis, numbers, 50, 350)
    assert all(50 - 1e-6 <= made.at(number) <= 350 + 1e-6 for number in numbers)
    ticks = made.ticks()
    assert len(ticks) < 12
    beyond = 1e-9 * max(abs(made.low), abs(made.high)) + 1e-9
    assert all(made.low - beyond <= at <= made.high + beyond for at, _ in ticks)


def by_row(values: dict[str, Cell]) -> Callable[[str, str], Cell]:
    return lambda row, _: values[row]


def test_numbers_of_any_size_are_drawn() -> None:
    for number in (1e308, -1e308, 1e-320, 1e15 + 0.125):
        both = [Mark(number, -number, x_ends=(-1e308, 1e308)), Mark(1e308, 0)]
        names = ("", ["a", "b"])
        values = {"a": Cell(number), "b": Cell(-1e308)}
        grid = cells("", "", names, names, by_row(values))
        for chart in (Chart("", "", [Points(both)]), Chart("", "", [Points(both[:1])]), grid):
            assert not re.search(r"\b(nan|inf)\b", drawing(chart))


def test_player_names_are_escaped() -> None:
    evil = "<script>alert(1)</script>\"'&"
    chart = Chart(
        evil,
        evil,
        [Points([Mark(1, evil, evil, Lead("g", {"player": evil}))], evil), Points([], "other")],
        Axis(evil),
        Axis(evil, names=(evil,)),
    )
    root = drawn(chart, href=lambda lead: f"http://127.0.0.1/?{lead.query['player']}")
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags <= {"svg", "text", "title", "path", "circle", "a", "g"}
    assert evil in [title.text for title in root.iter(f"{SVG}title")]
    (link,) = root.iter(f"{SVG}a")
    assert link.attrib["href"].endswith(evil)


def test_marks_without_position_or_target() -> None:
    chart = Chart("", "", [Points([Mark(1, 2, "told", Lead("g", {}))])])
    assert not list(drawn(chart).iter(f"{SVG}a"))
    assert [title.text for title in drawn(chart).iter(f"{SVG}title")] == ["told"]

    marks = [Mark(1, 1), Mark(2, 2), Mark(3, None), Mark(4, 2), Mark(5, 1)]
    root = drawn(Chart("", "", [Line(marks, tone=0, width=9)]))
    paths = [path for path in root.iter(f"{SVG}path") if path.attrib.get("stroke-width") == "9"]
    assert [path.attrib["d"].count("L") for path in paths] == [1, 1]
    assert len(middles(root)) == 4

    chart = Chart(
        "", "", [Points([Mark(0.5, "a", x_ends=(-9, 9))])], Axis(ends=(0, 1)), Axis(names=("a",))
    )
    (whisker,) = [
        path.attrib["d"]
        for path in drawn(chart).iter(f"{SVG}path")
        if path.attrib["stroke-width"] == "1.5"
    ]
    start, end = map(float, re.findall(r"[MH]([\d.]+)", whisker))
    assert (start > 5, end) == (True, 350)


def test_long_names_stay_within_the_drawing() -> None:
    for width in (360, 720):
        for length in (3, 18, 60):
            names = tuple(f"{place}{'m' * length}" for place in range(9))
            chart = cells("", "", ("Alice", names), ("Bob", names), lambda row, column: Cell(1.0))
            root = drawn(chart, width=width)
            assert float(root.attrib["width"]) == width
            for box in root.iter(f"{SVG}rect"):
                assert float(box.attrib["x"]) >= 0
                assert float(box.attrib["x"]) + float(box.attrib["width"]) <= width
            for element in root.iter(f"{SVG}text"):
                shown, x = element.text or "", float(element.attrib["x"])
                turned = re.search(r"rotate\((-?\d+)", element.attrib.get("transform", ""))
                share = abs(math.cos(math.radians(float(turned[1])))) if turned else 1.0
                reach = {"end": (-1, 0), "middle": (-0.5, 0.5)}.get(
                    element.attrib.get("text-anchor", ""), (0, 1)
                )
                ends = [x + side * share * width_of(shown) for side in reach]
                assert ends[0] >= -1
                assert ends[1] <= width + 1


def test_cell_heat_follows_values_and_large_grids_have_a_scale() -> None:
    names = [str(place) for place in range(7)]
    chart = cells("", "", ("", names), ("", names), lambda row, column: Cell(float(row)))
    assert chart.scale == ("0.00", "6.00")
    (layer,) = chart.layers
    assert isinstance(layer, Boxes)
    assert [box.heat for box in layer.boxes[::7]] == [place / 6 for place in range(7)]
    few = cells(
        "", "", ("", names[:2]), ("", names[:2]), lambda row, _: Cell(-float(row)), middle=True
    )
    assert few.scale is None
    (layer,) = few.layers
    assert isinstance(layer, Boxes)
    assert [(box.label, box.heat) for box in layer.boxes[::2]] == [("0.00", 0), ("-1.00", -1)]


def test_colours_follow_players_and_the_page() -> None:
    layers = [Points([Mark(1, "a")], name, tone) for tone, name in enumerate("xyz")]
    root = drawn(Chart("", "", layers, Axis(), Axis(names=("a", "b"))))
    legend, shown = middles(root)[:3], middles(root)[3:]
    assert len({y for _, y in shown}) == 3
    assert len({x for x, _ in shown}) == 1
    assert len({y for _, y in legend}) == 1
    assert {"x", "y", "z"} <= set(texts(root))

    chart = Chart("", "", [Boxes([Box((0, 1), (0, 1), heat=0.5)]), Rule(y=0.5)])
    assert "var(--heat-low)" in drawing(chart, paint=PAGE)
    assert "var(" not in drawing(chart)

    tones = tones_of(["fair", "chance", "hard"])
    rows = Axis(names=("hard", "fair"))
    roles = [
        Points([Mark(1, "hard"), Mark(2, "fair")], "Alice", 0),
        Points([Mark(3, "fair")], "Bob", 1),
    ]
    by_role = Chart("Gain", "", roles, y=rows)
    rounds = Chart("Rounds", "", [Line([Mark(1, 2)], "hard"), Line([Mark(1, 2)], "mean")])
    alice, bob = coloured(by_role, tones).layers
    assert isinstance(alice, Points)
    assert isinstance(bob, Points)
    assert [mark.tone for mark in (*alice.marks, *bob.marks)] == [2, 1, 1]
    assert (alice.shape, bob.shape) == ("dot", "diamond")
    hard, mean = coloured(rounds, tones).layers
    assert isinstance(hard, Line)
    assert (hard.tone, mean) == (2, rounds.layers[1])


def test_non_finite_number_is_rejected() -> None:
    for number in (math.nan, math.inf):
        with pytest.raises(ValueError, match="has a number that is not finite"):
            Chart("", "", [Points([Mark(0, number)])])


def luminance(colour: str) -> float:
    """Return the relative luminance of ``#rrggbb`` (WCAG 2)."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_text_contrast_is_sufficient_on_all_backgrounds(scheme: int) -> None:
    style = str(source("style.css"))
    pairs = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", style)
    colours = {name: luminance((light, dark)[scheme]) for name, light, dark in pairs}

    def contrast(foreground: str, background: str) -> float:
        low, high = sorted((colours[foreground], colours[background]))
        return (high + 0.05) / (low + 0.05)

    backgrounds = ["paper", "raised", "warn-paper", "heat-less", "heat-low", "heat-high"]
    assert min(contrast("ink", name) for name in backgrounds) >= 4.5
    others = ["soft", "accent", "warn", "red", *(f"role-{number}" for number in range(SERIES))]
    assert min(contrast(name, "paper") for name in others) >= 4.5
