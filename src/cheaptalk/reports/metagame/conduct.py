"""Figures of how item bargaining was played: mistakes, and how opposed interests were."""

from collections.abc import Sequence

import polars as pl

from cheaptalk.equilibrium.cells import SCORED
from cheaptalk.games.item_bargaining.conduct import MISTAKES
from cheaptalk.reports.figures import COLOURS, Panel, Trace, short
from cheaptalk.rules import counted

MISTAKEN = tuple(found.__name__ for found in MISTAKES)
GRID = "rgba(128, 128, 128, 0.35)"
BINS = 24
"""Of the histogram, over the levels from 0 to the square root of 2."""


def mistake_radar(frame: pl.DataFrame, labels: Sequence[str]) -> Panel | None:
    """How often each player makes the mistakes M1 to M5, in matches against itself (appendix B).

    The axes are times a match, both seats together. None where nobody met itself.

    Args:
        frame: matches of item bargaining, as :func:`.match_frames` makes them.
        labels: the players to show.
    """
    first, second = _seats(frame)
    own = frame.filter(SCORED & (pl.col(first) == pl.col(second)) & pl.col(first).is_in(labels))
    means = own.group_by(first).agg(pl.col(MISTAKEN).mean(), pl.len().alias("matches")).sort(first)
    if means.is_empty():
        return None
    around = [f"M{place + 1}" for place in range(len(MISTAKEN))]
    data: list[Trace] = []
    for place, row in enumerate(means.iter_rows(named=True)):
        times = [row[name] for name in MISTAKEN]
        data.append(
            {
                "type": "scatterpolar", "name": short(row[first]), "mode": "lines+markers",
                "r": [*times, times[0]], "theta": [*around, around[0]],
                "line": {"color": COLOURS[place % len(COLOURS)]},
                "text": [f"{row[first]}, {counted(row['matches'], 'match')}"] * (len(times) + 1),
                "hovertemplate": "%{text}<br>%{theta}: %{r:.2f} times a match<extra></extra>",
            }
        )  # fmt: skip
    polar = {
        "bgcolor": "rgba(0, 0, 0, 0)",
        "radialaxis": {"gridcolor": GRID, "linecolor": GRID, "rangemode": "tozero"},
        "angularaxis": {"gridcolor": GRID, "linecolor": GRID, "direction": "clockwise"},
    }
    layout = {"polar": polar, "showlegend": True, "legend": {"orientation": "h", "y": -0.12},
              "margin": {"l": 40, "r": 40, "t": 34, "b": 8}}  # fmt: skip
    return Panel("Mistakes in self-play", "times a match", 360, data, layout)


def opposition_histogram(frame: pl.DataFrame) -> Panel | None:
    """How opposed the players' interests were, a count a deal (appendix J).

    None where no match knows it.

    Args:
        frame: matches of item bargaining, as :func:`.match_frames` makes them.
    """
    deals = frame.filter(SCORED).unique(["configuration", "deal"])["opposition"].drop_nulls()
    if deals.is_empty():
        return None
    size = 2**0.5 / BINS
    tally = (deals / size).floor().cast(pl.Int64).value_counts().sort("opposition")
    data: Trace = {
        "type": "bar",
        "x": [(place + 0.5) * size for place in tally["opposition"]],
        "y": tally["count"].to_list(),
        "width": size * 0.92,
        "marker": {"color": COLOURS[0]},
        "hovertemplate": "around %{x:.2f}: %{y} deals<extra></extra>",
    }
    layout = {"xaxis": {"title": {"text": "distance, 0 is no conflict"}, "rangemode": "tozero"},
              "yaxis": {"title": {"text": "deals"}}}  # fmt: skip
    return Panel("Opposition of interests", "", 300, [data], layout)


def _seats(frame: pl.DataFrame) -> tuple[str, str]:
    first, second = (name for name in frame.columns if name.startswith("player."))
    return first, second
