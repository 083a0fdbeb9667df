"""Payoff maps of a game of two seats, as plain data for Plotly."""

from typing import Any

from cheaptalk.reports.figures import COLOURS, PRINTED, Panel, Trace, short
from cheaptalk.reports.metagame.figures import in_cells, number
from cheaptalk.reports.metagame.seats import Pair, SeatsAnalysis
from cheaptalk.reports.pages import capital, fixed
from cheaptalk.rules import counted

OFF = 0.47
"""How far the frame of a cell is from its middle, in cells."""


def payoff_maps(one: SeatsAnalysis) -> list[Panel]:
    """What either seat gets in every pair; frames are best replies, thick ones equilibria."""
    return [_map(one, side) for side in (0, 1)]


def _map(one: SeatsAnalysis, side: int) -> Panel:
    rows, columns = map(list, one.labels)
    down, across = map(capital, one.seats)
    cells = {(pair.row, pair.column): pair for pair in one.pairs}
    grid = [[cells[row, column] for column in columns] for row in rows]
    places = one.places
    trace: Trace = {
        "type": "heatmap", "x": columns, "y": rows,
        "z": [[number(pair.gets[side]) for pair in line] for line in grid],
        "text": [[_said(pair, side, places) for pair in line] for line in grid],
        "customdata": [[query(one, pair) for pair in line] for line in grid],
        "hovertemplate": f"{down} %{{y}}, {across} %{{x}}<br>%{{text}}<extra></extra>",
        "xgap": 1, "ygap": 1,
    }  # fmt: skip
    if max(len(rows), len(columns)) <= PRINTED:
        trace |= {"texttemplate": in_cells(trace["z"], places), "showscale": False}
    layout = {
        "yaxis": _axis(rows) | {"autorange": "reversed", "title": {"text": down}},
        "xaxis": _axis(columns) | {"side": "top", "title": {"text": across}},
        "shapes": [_frame(i, j, pair) for i, line in enumerate(grid)
                   for j, pair in enumerate(line) if pair.best[side]],
    }  # fmt: skip
    height = 110 + max(4, len(rows)) * (38 if len(rows) < 8 else 26)
    return Panel(f"What {capital(one.seats[side])} gets", one.units[side], height, [trace], layout)


def query(one: SeatsAnalysis, pair: Pair) -> dict[str, str] | None:
    """What picks a pair's matches out in the viewer; None where there are none."""
    if one.selected is None:
        return None
    first, second = (f"player.{seat}" for seat in one.seats)
    return {first: pair.row, second: pair.column} | one.selected.query


def _axis(labels: list[str]) -> dict[str, Any]:
    return {"type": "category", "tickvals": labels, "ticktext": list(map(short, labels))}


def _frame(row: int, column: int, pair: Pair) -> dict[str, Any]:
    return {
        "type": "rect", "x0": column - OFF, "x1": column + OFF, "y0": row - OFF, "y1": row + OFF,
        "line": {"color": COLOURS[1], "width": 4 if pair.stable else 1.5},
    }  # fmt: skip


def _said(pair: Pair, side: int, places: int) -> str:
    got = pair.gets[side]
    parts = [fixed(number(got), places)]
    if got.low is not None and got.high is not None:
        parts[0] += f", 95 % of draws in {fixed(got.low, places)} to {fixed(got.high, places)}"
    parts += ["best reply"] * pair.best[side] + ["pure equilibrium"] * pair.stable
    if pair.support is not None:
        parts.append(f"an equilibrium in {pair.support:.1%} of draws")
    if pair.matches:
        parts.append(f"{counted(pair.matches, 'match')} on {counted(pair.deals, 'deal')}")
    return "<br>".join(parts)
