"""What panels of several recipes are drawn with."""

from collections.abc import Sequence

from cheaptalk.reports.figures import COLOURS, Panel, Trace, error_bars, names_axis
from cheaptalk.reports.recipes.parts import HIGH, LOW, Lead, Row


def whiskers(rows: Sequence[Row], key: str, colour: str) -> Trace:
    """Error bars to the ends of a number's intervals; none where there is no interval.

    Args:
        rows: each with the number under ``key``, and the ends of its interval beside it.
    """
    return error_bars([reach(row, key) for row in rows], colour)


def reach(row: Row, key: str) -> tuple[float, float]:
    """How far a number's interval reaches below and above it; nowhere without one."""
    middle, low, high = row[key], row.get(key + LOW), row.get(key + HIGH)
    return (0.0, 0.0) if None in (middle, low, high) else (middle - low, high - middle)


def dots(
    title: str,
    unit: str,
    names: Sequence[str],
    rows: Sequence[Row],
    key: str,
    said: Sequence[str],
    leads: Sequence[Lead | None] = (),
) -> Panel:
    """A dot a row with its interval, from the top.

    Args:
        title, unit: of the panel.
        names: of the rows, no two alike.
        rows: each with the number under ``key``.
        key: what is drawn.
        said: what is told of each where somebody points at it.
        leads: the matches behind each, to which a click leads.
    """
    data: Trace = {
        "type": "scatter", "mode": "markers", "cliponaxis": False, "orientation": "h",
        "y": list(names), "x": [row[key] for row in rows], "text": list(said),
        "error_x": whiskers(rows, key, COLOURS[0]), "marker": {"color": COLOURS[0], "size": 8},
        "hovertemplate": "%{y}<br>%{text}<extra></extra>",
        "customdata": [asked(lead) for lead in leads] or None,
    }  # fmt: skip
    layout = {
        "yaxis": names_axis(names), "xaxis": {"zeroline": True, "zerolinewidth": 2},
        "showlegend": False,
    }  # fmt: skip
    return Panel(title, unit, 90 + 28 * len(names), [data], layout)


def asked(lead: Lead | None) -> dict[str, str] | None:
    """What a click on a chart looks for."""
    return None if lead is None else {"game": lead.game} | lead.query
