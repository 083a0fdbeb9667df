"""Figures as plain data for Plotly: small panels that share their rows, so that they compare.

Colours are Okabe and Ito's, which colour-blind readers tell apart, and readable on light and dark
paper alike; the page's script adds what depends on the theme.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import polars as pl

from cheaptalk.records import FEW
from cheaptalk.reports.score_lines import Score, ScoreEstimate, ScoreLine
from cheaptalk.reports.scores import GameScores
from cheaptalk.rules import counted
from cheaptalk.text import capital, fixed

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#8A6D00", "#4C9BC9")
"""By role, in the game's order."""
LONG = 18
"""Characters of a label that axes show."""
PRINTED = 6
"""Rows and columns up to which a matrix has its numbers printed in it."""
Trace = dict[str, Any]


class Panel(NamedTuple):
    """One small chart.

    Attributes:
        title: the score it shows.
        unit: of its value axis.
        height: in pixels.
        data, layout: as Plotly takes them.
    """

    title: str
    unit: str
    height: int
    data: list[Trace]
    layout: dict[str, Any]


def gains(game: GameScores) -> list[Panel]:
    """For every score, what players got in each role, over all others: dots with whiskers.

    Those with a scored match are shown, who gained most in the first role on top.

    Payoffs are shown of roles with several places, whose players no measure tells apart.
    """
    played = [line for role in game.roles for line in game.players[role] if line.estimates]
    order = list(dict.fromkeys(label for line in played for label in line.players.values()))
    panels = []
    for score in game.scores:
        if score.key.startswith("payoff.") and not game.shared(score.role or ""):
            continue
        roles = [score.role] if score.role else list(game.roles)
        data = [_dots(game, role, score) for role in reversed(roles)]  # the last is drawn on top
        layout = {"yaxis": names_axis(order), "scattermode": "group", "scattergap": 0.6}
        if not any(value for trace in data for value in trace["x"]):
            layout["xaxis"] = {"range": [0, 1]}  # of nothing but zeros, Plotly shows -1 to 1
        panels.append(Panel(score.title, score.unit, 60 + 34 * len(order), data, layout))
    return panels


def _dots(game: GameScores, role: str, score: Score) -> Trace:
    lines = [line for line in game.players[role] if score.key in line.estimates]
    found = [line.estimates[score.key] for line in lines]
    colour = COLOURS[list(game.roles).index(role) % len(COLOURS)]
    return {
        "type": "scatter",
        "mode": "markers",
        "cliponaxis": False,
        "name": capital(role),
        "y": [line.players[role] for line in lines],
        "x": [one.mean for one in found],
        "error_x": _whiskers(found, colour),
        "marker": {"color": colour, "size": 8},
        "orientation": "h",
        "offsetgroup": role,
        "text": [_hover_text(one, game.decimals[score.key]) for one in found],
        "customdata": [line.query for line in lines],
        "hovertemplate": f"%{{y}} as {capital(role)}<br>%{{text}}<extra></extra>",
    }


def _whiskers(found: Sequence[ScoreEstimate], colour: str) -> dict[str, Any]:
    """Error bars; none where two deals give an interval so wide that it would hide the others."""
    sides = [one.sides if one.sides and one.clusters > 2 else (0, 0) for one in found]
    return error_bars(sides, colour)


def error_bars(sides: Sequence[tuple[float, float]], colour: str) -> dict[str, Any]:
    """Error bars that reach so far below and above each number."""
    return {
        "type": "data", "symmetric": False, "color": colour, "thickness": 1.5, "width": 0,
        "arrayminus": [below for below, _ in sides], "array": [above for _, above in sides],
    }  # fmt: skip


def names_axis(names: Sequence[str]) -> dict[str, Any]:
    """An axis of names from the top, long ones shortened."""
    return {
        "type": "category", "categoryorder": "array", "categoryarray": list(names)[::-1],
        "tickvals": list(names), "ticktext": list(map(short, names)),
        "ticks": "outside", "ticklen": 6, "tickcolor": "rgba(0, 0, 0, 0)",
        "range": [-0.6, len(names) - 0.4],
    }  # fmt: skip


def labels_axis(labels: Sequence[str]) -> dict[str, Any]:
    """An axis of labels as they come, long ones shortened."""
    return {"type": "category", "tickvals": list(labels), "ticktext": list(map(short, labels))}


def legend_above(shown: bool = True) -> dict[str, Any]:
    """A layout's legend above the plot, where it is to be shown."""
    return {
        "showlegend": shown, "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
    }  # fmt: skip


def _hover_text(one: ScoreEstimate, places: int) -> str:
    matches, deals = counted(one.n, "match"), counted(one.clusters, "deal")
    return f"{fixed(one.mean, places)} {one.interval(places)}<br>{matches} in {deals}"


def matrices(game: GameScores) -> list[Panel]:
    """For every score, the means of all pairings: rows play the first place, columns the second.

    There are none where a game has not exactly two places. Where these have one role, no measure
    tells them apart, and what the first got is shown too.
    """
    scored = [line for line in game.pairings if line.estimates]
    if len(game.places) != 2 or len(scored) < 2:
        return []
    down, across = game.places
    rows = sorted({line.players[down] for line in scored})
    columns = sorted({line.players[across] for line in scored})
    height = 110 + max(4, len(rows)) * (34 if len(rows) < 8 else 24)
    layout = {
        "yaxis": {"type": "category", "autorange": "reversed", "title": {"text": capital(down)},
                  "tickvals": rows, "ticktext": list(map(short, rows))},
        "xaxis": {"type": "category", "side": "top", "title": {"text": capital(across)},
                  "tickvals": columns, "ticktext": list(map(short, columns))},
    }  # fmt: skip
    return [
        Panel(score.title, score.unit, height, [_heat(game, score, rows, columns)], layout)
        for score in game.pairing_scores
        if not score.key.startswith("payoff.")
        or (game.shares and score.key == f"payoff.{down}")
    ]  # fmt: skip


def _heat(game: GameScores, score: Score, rows: list[str], columns: list[str]) -> Trace:
    places = game.decimals[score.key]
    seated = {tuple(line.players.values()): line for line in game.pairings}
    cells = [[seated.get((row, column)) for column in columns] for row in rows]
    found = [[line and line.estimates.get(score.key) for line in row] for row in cells]
    said = [[_hover_text(one, places) if one else "no value" for one in row] for row in found]
    down, across = map(capital, game.places)
    trace: Trace = {
        "type": "heatmap",
        "x": columns,
        "y": rows,
        "z": [[one and one.mean for one in row] for row in found],
        "text": said,
        "customdata": [[line and line.query for line in row] for row in cells],
        "hovertemplate": f"{down} %{{y}}, {across} %{{x}}<br>%{{text}}<extra></extra>",
        "xgap": 1,
        "ygap": 1,
        "hoverongaps": False,
    }
    if max(len(rows), len(columns)) <= PRINTED:
        trace |= {"texttemplate": f"%{{z:,.{min(places, 2)}f}}", "showscale": False}
    return trace


def trade_off(game: GameScores) -> list[Panel]:
    """Efficiency against fairness, a dot a pairing, coloured by who plays the first place."""
    keys = ("efficiency", "fairness")
    titles = {score.key: score for score in game.scores}
    lines = [line for line in game.pairings if all(key in line.estimates for key in keys)]
    if len(lines) < 2:
        return []
    first = game.places[0]
    labels = sorted({line.players[first] for line in lines})
    groups = [[line for line in lines if line.players[first] == label] for label in labels]
    if len(labels) > len(COLOURS) or len(game.places) > FEW:
        groups, labels = [lines], ["all pairings"]
    data = [_cloud(group, label, place, keys) for place, (group, label)
            in enumerate(zip(groups, labels, strict=True))]  # fmt: skip
    layout = {
        "xaxis": {"title": {"text": f"efficiency, {titles['efficiency'].unit}"}},
        "yaxis": {"title": {"text": f"fairness, {titles['fairness'].unit}"}},
        "showlegend": len(groups) > 1,
        "legend": {"title": {"text": f"{capital(first)} is "}, "orientation": "h",
                   "y": 1.02, "yanchor": "bottom"},
    }  # fmt: skip
    return [Panel("Efficiency and fairness", "", 380, data, layout)]


def _cloud(lines: list[ScoreLine], label: str, place: int, keys: tuple[str, str]) -> Trace:
    across, up = ([line.estimates[key] for line in lines] for key in keys)
    colour = COLOURS[place % len(COLOURS)]
    symbols = ("circle", "diamond", "square", "triangle-up", "cross", "x")
    return {
        "type": "scatter",
        "mode": "markers",
        "name": short(label),
        "x": [one.mean for one in across],
        "y": [one.mean for one in up],
        "error_x": _whiskers(across, f"{colour}80") | {"thickness": 1},
        "error_y": _whiskers(up, f"{colour}80") | {"thickness": 1},
        "marker": {"color": colour, "size": 9, "symbol": symbols[place % len(symbols)]},
        "text": [line.label for line in lines],
        "customdata": [line.query for line in lines],
        "hovertemplate": "%{text}<br>efficiency %{x:.3f}, fairness %{y:.3f}<extra></extra>",
    }


def distributions(game: GameScores) -> list[Panel]:
    """How often each value came, for scores that are whole numbers and more than yes or no."""
    panels = []
    for score in game.scores:
        values = game.scored[score.key].drop_nulls()
        if score.key.startswith("payoff.") or values.n_unique() < 3:
            continue
        if not (values == values.round()).all():
            continue
        tally = values.cast(pl.Int64).value_counts(sort=False).sort(score.key)
        data: Trace = {
            "type": "bar",
            "x": tally[score.key].to_list(),
            "y": (tally["count"] / len(values)).to_list(),
            "text": [counted(number, "match") for number in tally["count"]],
            "textposition": "none",
            "marker": {"color": COLOURS[0]},
            "hovertemplate": f"%{{x}} {score.unit}: %{{y:.1%}}, %{{text}}<extra></extra>",
        }
        layout = {"yaxis": {"tickformat": ".0%", "title": {"text": "share of matches"}},
                  "xaxis": {"title": {"text": score.unit}}}  # fmt: skip
        panels.append(Panel(score.title, "", 260, [data], layout))
    return panels


def short(label: str) -> str:
    """A label that fits an axis."""
    return label if len(label) <= LONG else label[: LONG - 1] + "…"
