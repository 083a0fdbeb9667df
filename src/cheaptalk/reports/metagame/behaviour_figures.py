"""Figures of how games were played: concessions, and what a game's box says is worth drawing."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from cheaptalk.frames import round_frames
from cheaptalk.frames.matches import SCORED
from cheaptalk.frames.reader import places_in
from cheaptalk.records import Store
from cheaptalk.records.store.queries import places_of
from cheaptalk.reports.figures import COLOURS, Panel, Trace, short
from cheaptalk.rules import SHARE, counted, game_box
from cheaptalk.rules.empirical_view import Histogram, Radar
from cheaptalk.statistics import STRATA, mean_intervals

DEMAND = "demand"
"""The series that concession curves are of; a game that has it gets them."""
DASHES = ("solid", "dash", "dot")
"""Of lines whose colours come round again."""
GRID = "rgba(128, 128, 128, 0.35)"
BETWEEN = 54
"""Degrees: where numbers stand, between the first two of five axes, and how far they turn back."""
BINS = 24
"""Of a histogram."""


def self_play_radar(frame: pl.DataFrame, labels: Sequence[str], radar: Radar) -> Panel | None:
    """Each player's means of a radar's measures in matches against itself.

    None where nobody met itself.

    Args:
        frame: matches of one game of two places, as :func:`.match_frames` makes them.
        labels: the players to show.
        radar: which measures.
    """
    first, second = (f"player.{place}" for place in places_in(frame))
    measures = list(radar.axes.values())
    own = frame.filter(SCORED & (pl.col(first) == pl.col(second)) & pl.col(first).is_in(labels))
    means = own.group_by(first).agg(pl.col(measures).mean(), pl.len().alias("matches")).sort(first)
    if means.is_empty():
        return None
    rows = means.select(first, "matches", pl.concat_list(measures)).rows()
    return radar_panel(radar, radar.title, rows)


def radar_panel(
    radar: Radar, title: str, rows: Sequence[tuple[str, int, Sequence[float]]]
) -> Panel:
    """Means of a radar's measures around a circle, a line a row.

    Args:
        title: of the panel.
        rows: what each line is called, how many matches it is of, and its means.
    """
    around = list(radar.axes)
    data: list[Trace] = [
        {
            "type": "scatterpolar", "name": short(name), "mode": "lines+markers",
            "r": [*means, means[0]], "theta": [*around, around[0]],
            "line": {"color": COLOURS[place % len(COLOURS)]},
            "text": [f"{name}, {counted(matches, 'match')}"] * (len(means) + 1),
            "hovertemplate": f"%{{text}}<br>%{{theta}}: %{{r:.2f}} {radar.unit}<extra></extra>",
        }
        for place, (name, matches, means) in enumerate(rows)
    ]  # fmt: skip
    polar = {
        "bgcolor": "rgba(0, 0, 0, 0)",
        "radialaxis": {"gridcolor": GRID, "linecolor": GRID, "rangemode": "tozero",
                       "angle": BETWEEN, "tickangle": BETWEEN, "nticks": 4},
        "angularaxis": {"gridcolor": GRID, "linecolor": GRID, "direction": "clockwise"},
    }  # fmt: skip
    layout = {"polar": polar, "showlegend": True, "legend": {"orientation": "h", "y": -0.12},
              "margin": {"l": 40, "r": 40, "t": 34, "b": 8}}  # fmt: skip
    return Panel(title, radar.unit, 360, data, layout)


def deal_histogram(frame: pl.DataFrame, histogram: Histogram) -> Panel | None:
    """A measure of deals, a count a deal; None where no match knows it.

    Args:
        frame: matches of one game, as :func:`.match_frames` makes them.
        histogram: which measure.
    """
    deals = frame.filter(SCORED).unique(["configuration", "deal"])[histogram.measure].drop_nulls()
    if deals.is_empty():
        return None
    size = histogram.top / BINS
    tally = (deals / size).floor().cast(pl.Int64).value_counts().sort(histogram.measure)
    data: Trace = {
        "type": "bar",
        "x": [(place + 0.5) * size for place in tally[histogram.measure]],
        "y": tally["count"].to_list(),
        "width": size * 0.92,
        "marker": {"color": COLOURS[0]},
        "hovertemplate": "around %{x:.2f}: %{y} deals<extra></extra>",
    }
    layout = {"xaxis": {"title": {"text": histogram.axis}, "rangemode": "tozero"},
              "yaxis": {"title": {"text": "deals"}}}  # fmt: skip
    return Panel(histogram.title, "", 300, [data], layout)


def demands(store: Store, study: str) -> dict[str, pl.DataFrame]:
    """What players of each game demanded round by round, for games with such a series."""
    having = any(DEMAND in game_box(game).series for game in places_of(store, study))
    return round_frames(store, study, only=[DEMAND]) if having else {}


def concession_curves(
    game: str, frame: pl.DataFrame, rounds: pl.DataFrame, labels: Sequence[str]
) -> Panel | None:
    """What each player's offers demand for itself by round: means with 95 % intervals as bands.

    Intervals are clustered by deal within configurations (see :func:`.mean_intervals`). A round
    counts the matches in which the player still made an offer in it. None where nobody made one.

    Args:
        game: the name of its rules.
        frame: matches of the game, as :func:`.match_frames` makes them.
        rounds: of these matches and perhaps others, as :func:`demands` makes them.
        labels: the players to show.
    """
    made = rounds.join(frame, on="match", how="semi").filter(pl.col("player").is_in(labels))
    means = mean_intervals(
        made, [DEMAND], ["player", "round"], strata=STRATA, bounds={DEMAND: SHARE}
    ).sort("round")
    data = [
        trace
        for place, label in enumerate(labels)
        for trace in _curve(means.filter(player=label), label, place)
    ]
    if not data:
        return None
    layout = {
        "xaxis": {"title": {"text": "round"}, "tick0": 1, "dtick": 1 + means["round"][-1] // 10},
        "yaxis": {"range": [0, 1.02]},
        "showlegend": True, "legend": {"orientation": "h", "y": -0.25},
    }  # fmt: skip
    unit = game_box(game).series[DEMAND].unit
    return Panel("Demands by round", unit, 360, data, layout)


def _curve(means: pl.DataFrame, label: str, place: int) -> list[Trace]:
    """A line through a player's means, on the band of their intervals."""
    if means.is_empty():
        return []
    colour = COLOURS[place % len(COLOURS)]
    band = means.drop_nulls("low")
    there = {"legendgroup": label, "name": short(label), "type": "scatter"}
    shade: Trace = there | {
        "x": [*band["round"], *band["round"].reverse()],
        "y": [*band["high"], *band["low"].reverse()],
        "mode": "none", "fill": "toself", "fillcolor": colour, "opacity": 0.15,
        "showlegend": False, "hoverinfo": "skip",
    }  # fmt: skip
    line: Trace = there | {
        "x": means["round"].to_list(), "y": means["mean"].to_list(), "mode": "lines+markers",
        "line": {"color": colour, "dash": DASHES[place // len(COLOURS) % len(DASHES)]},
        "text": [_mean_text(row) for row in means.iter_rows(named=True)],
        "hovertemplate": "%{text}<extra></extra>",
    }  # fmt: skip
    return [shade, line]


def _mean_text(row: Mapping[str, Any]) -> str:
    parts = [f"{row['player']}, round {row['round']}: {row['mean']:.3f}"]
    if row["low"] is not None:
        low, high = (min(max(row[end], SHARE[0]), SHARE[1]) for end in ("low", "high"))
        parts.append(f"95 % interval {low:.3f} to {high:.3f}")
    matches, deals = counted(row["n"], "match"), counted(row["clusters"], "deal")
    return "<br>".join([*parts, f"{matches} on {deals}"])
