"""Figures of empirical games as plain data for Plotly; see :mod:`cheaptalk.reports.figures`."""

from collections.abc import Sequence

from cheaptalk.equilibrium.analysis.analysis import Analysis
from cheaptalk.equilibrium.analysis.two_seats import Pair, SeatsAnalysis
from cheaptalk.equilibrium.empirical.bootstrap import Spread
from cheaptalk.frames.reader import places_in
from cheaptalk.reports.figures import (
    COLOURS,
    PRINTED,
    Panel,
    Trace,
    error_bars,
    labels_axis,
    names_axis,
)
from cheaptalk.rules import counted
from cheaptalk.text import DECIMALS, LONG, capital, fixed

OFF = 0.47
"""How far the frame of a cell is from its middle, in cells."""


def mixture_bars(analysis: Analysis) -> Panel:
    """The share of each strategy at equilibrium, the mean over draws, as bars with intervals."""
    order = sorted(analysis.ranking, key=lambda one: -number(analysis.against("mixture")[one]))
    trace = _along(analysis, analysis.against("mixture"), order, 3)
    trace |= {"type": "bar", "marker": {"color": COLOURS[0], "opacity": 0.75}, "width": 0.6}
    return _rows("Mixture at equilibrium", "probability", analysis, order, trace, [0, 1.02])


def regret_ranking(analysis: Analysis) -> Panel:
    """The regret of each strategy at equilibrium, the least on top, as dots with intervals."""
    regrets = analysis.against("regret")
    places = analysis.places
    trace = _along(analysis, regrets, analysis.ranking, places)
    trace |= {"type": "scatter", "mode": "markers", "cliponaxis": False,
              "marker": {"color": COLOURS[1], "size": 9}}  # fmt: skip
    return _rows("Regret at equilibrium", "in the game's unit", analysis, analysis.ranking, trace)


def payoff_map(analysis: Analysis) -> Panel:
    """What each strategy, down, gets against each, across, on the mean of all matches."""
    labels = list(analysis.labels)
    cells = [[one._replace(mean=one.estimate) for one in row] for row in analysis.payoffs]
    means = [[number(one) for one in row] for row in cells]
    places = analysis.places
    counts, deals = analysis.game.counts(), analysis.game.deals()
    trace: Trace = {
        "type": "heatmap", "x": labels, "y": labels, "z": means,
        "text": [
            [_spread_text(one, places) + _of(counts[i, j], deals[i, j])
             for j, one in enumerate(row)]
            for i, row in enumerate(cells)
        ],
        "customdata": _queries(analysis),
        "hovertemplate": "%{y} against %{x}<br>%{text}<extra></extra>",
        "xgap": 1, "ygap": 1,
    }  # fmt: skip
    if len(labels) <= PRINTED:
        trace |= {"texttemplate": in_cells(means, places), "showscale": False}
    axis = labels_axis(labels)
    layout = {"yaxis": axis | {"autorange": "reversed", "title": {"text": "Gets the payoff"}},
              "xaxis": axis | {"side": "top", "title": {"text": "Against"}}}  # fmt: skip
    height = 110 + max(4, len(labels)) * (38 if len(labels) < 8 else 26)
    return Panel("Payoffs", "in the game's unit", height, [trace], layout)


def in_cells(values: Sequence[Sequence[float]], places: int) -> str:
    """How Plotly writes the numbers of a heat map: with an exponent where some are very long."""
    long = places > DECIMALS or any(abs(value) >= LONG for row in values for value in row)
    return "%{z:.3e}" if long else f"%{{z:,.{places if places > 3 else min(places, 2)}f}}"


def number(one: Spread) -> float:
    """The mean over draws, or where there are none the estimate; 0 where it is undefined."""
    return one.mean if one.mean is not None else one.estimate or 0.0


def _rows(
    title: str, unit: str, analysis: Analysis, order: Sequence[int], trace: Trace,
    reach: list[float] | None = None,
) -> Panel:  # fmt: skip
    labels = [analysis.labels[one] for one in order]
    across = {"range": reach} if reach else {"rangemode": "tozero"}
    return Panel(
        title, unit, 60 + 34 * len(order), [trace], {"yaxis": names_axis(labels), "xaxis": across}
    )


def _along(
    analysis: Analysis, spreads: Sequence[Spread], order: Sequence[int], places: int
) -> Trace:
    """Numbers by strategy, along a line each, with their intervals."""
    found = [spreads[one] for one in order]
    values = [number(one) for one in found]
    sides = [  # where draws disagree, a mean can lie outside
        (0 if one.low is None else max(0, number(one) - one.low),
         0 if one.high is None else max(0, one.high - number(one)))
        for one in found
    ]  # fmt: skip
    return {
        "orientation": "h", "x": values, "y": [analysis.labels[one] for one in order],
        "error_x": error_bars(sides, "#808080"),
        "text": [_spread_text(one, places) for one in found], "textposition": "none",
        "hovertemplate": "%{y}<br>%{text}<extra></extra>",
    }  # fmt: skip


def _spread_text(one: Spread, places: int) -> str:
    if one.low is None or one.high is None:
        return fixed(number(one), places)
    low, high = fixed(one.low, places), fixed(one.high, places)
    return f"{fixed(number(one), places)}, 95 % of draws in {low} to {high}"


def _of(matches: int, deals: int) -> str:
    return (
        f"<br>{counted(int(matches), 'match')} on {counted(int(deals), 'deal')}" if matches else ""
    )


def _queries(analysis: Analysis) -> list[list[dict[str, str] | None]]:
    """What picks a cell's matches out in the viewer: those in which the row sits first."""
    if analysis.selected is None:
        return [[None] * len(analysis.labels)] * len(analysis.labels)
    first, second = (f"player.{place}" for place in places_in(analysis.selected.frame))
    rest = analysis.selected.query
    return [
        [{first: row, second: column} | rest for column in analysis.labels]
        for row in analysis.labels
    ]


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
        "text": [[_pair_text(pair, side, places) for pair in line] for line in grid],
        "customdata": [[query(one, pair) for pair in line] for line in grid],
        "hovertemplate": f"{down} %{{y}}, {across} %{{x}}<br>%{{text}}<extra></extra>",
        "xgap": 1, "ygap": 1,
    }  # fmt: skip
    if max(len(rows), len(columns)) <= PRINTED:
        trace |= {"texttemplate": in_cells(trace["z"], places), "showscale": False}
    layout = {
        "yaxis": labels_axis(rows) | {"autorange": "reversed", "title": {"text": down}},
        "xaxis": labels_axis(columns) | {"side": "top", "title": {"text": across}},
        "shapes": [
            {"type": "rect", "x0": j - OFF, "x1": j + OFF, "y0": i - OFF, "y1": i + OFF,
             "line": {"color": COLOURS[1], "width": 4 if pair.stable else 1.5}}
            for i, line in enumerate(grid) for j, pair in enumerate(line) if pair.best[side]
        ],
    }  # fmt: skip
    height = 110 + max(4, len(rows)) * (38 if len(rows) < 8 else 26)
    return Panel(f"What {capital(one.seats[side])} gets", one.units[side], height, [trace], layout)


def query(one: SeatsAnalysis, pair: Pair) -> dict[str, str] | None:
    """What picks a pair's matches out in the viewer; None where there are none."""
    if one.selected is None:
        return None
    first, second = (f"player.{seat}" for seat in one.seats)
    return {first: pair.row, second: pair.column} | one.selected.query


def _pair_text(pair: Pair, side: int, places: int) -> str:
    parts = [_spread_text(pair.gets[side], places)]
    parts += ["best reply"] * pair.best[side] + ["pure equilibrium"] * pair.stable
    if pair.support is not None:
        parts.append(f"an equilibrium in {pair.support:.1%} of draws")
    return "<br>".join(parts) + _of(pair.matches, pair.deals)
