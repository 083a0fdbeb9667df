"""Figures of how games were played: concessions, and what a game's box says is worth drawing."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from cheaptalk.frames import round_frames
from cheaptalk.frames.matches import SCORED
from cheaptalk.frames.reader import places_in
from cheaptalk.records import Store
from cheaptalk.records.store.queries import places_of
from cheaptalk.reports.charts.chart import DASHES, SERIES, Axis, Chart, Line, Mark
from cheaptalk.reports.charts.kinds import columns
from cheaptalk.rules import SHARE, counted, game_box
from cheaptalk.rules.empirical_view import Histogram, Radar
from cheaptalk.statistics import STRATA, mean_intervals

DEMAND = "demand"
"""The series that concession curves are of; a game that has it gets them."""
BINS = 24
"""Of a histogram."""


def self_play_radar(frame: pl.DataFrame, labels: Sequence[str], radar: Radar) -> Chart | None:
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
    means = (
        own.group_by(first, maintain_order=True)
        .agg(pl.col(measures).mean(), pl.len().alias("matches"))
        .sort(first)
    )
    if means.is_empty():
        return None
    rows = means.select(first, "matches", pl.concat_list(measures)).rows()
    return radar_panel(radar, radar.title, rows)


def radar_panel(
    radar: Radar, title: str, rows: Sequence[tuple[str, int, Sequence[float]]]
) -> Chart:
    """Means of a radar's measures around a circle, a line a row.

    Args:
        title: of the panel.
        rows: what each line is called, how many matches it is of, and its means.
    """
    layers = [
        Line(
            [
                Mark(axis, mean, f"{name}, {counted(matches, 'match')}\n{axis}: {mean:.2f} "
                                 f"{radar.unit}")
                for axis, mean in zip(radar.axes, means, strict=True)
            ],
            name, place, DASHES[place // SERIES % len(DASHES)],
        )
        for place, (name, matches, means) in enumerate(rows)
    ]  # fmt: skip
    return Chart(title, radar.unit, layers, Axis(names=tuple(radar.axes)), Axis(zero=True), 240,
                 round=True)  # fmt: skip


def deal_histogram(frame: pl.DataFrame, histogram: Histogram) -> Chart | None:
    """A measure of deals, a count a deal; None where no match knows it.

    Args:
        frame: matches of one game, as :func:`.match_frames` makes them.
        histogram: which measure.
    """
    deals = (
        frame.filter(SCORED)
        .unique(["configuration", "deal"], maintain_order=True)[histogram.measure]
        .drop_nulls()
    )
    if deals.is_empty():
        return None
    size = histogram.top / BINS
    tally = (deals / size).floor().cast(pl.Int64).value_counts().sort(histogram.measure)
    heights = [
        ((place + 0.5) * size, count, f"around {(place + 0.5) * size:.2f}: {count} deals")
        for place, count in tally.iter_rows()
    ]
    return Chart(
        histogram.title, "", [columns(heights, width=size * 0.92)],
        Axis(histogram.axis, zero=True), Axis("deals", zero=True, whole=True),
    )  # fmt: skip


def demands(store: Store, study: str) -> dict[str, pl.DataFrame]:
    """What players of each game demanded round by round, for games with such a series."""
    having = any(DEMAND in game_box(game).series for game in places_of(store, study))
    return round_frames(store, study, only=[DEMAND]) if having else {}


def concession_curves(
    game: str, frame: pl.DataFrame, rounds: pl.DataFrame, labels: Sequence[str]
) -> Chart | None:
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
    layers = [
        _curve(own, label, place)
        for place, label in enumerate(labels)
        if not (own := means.filter(player=label)).is_empty()
    ]
    if not layers:
        return None
    unit = game_box(game).series[DEMAND].unit
    across, up = Axis("round", whole=True), Axis(ends=(0, 1))
    return Chart("Demands by round", unit, layers, across, up, 260)


def _curve(means: pl.DataFrame, label: str, place: int) -> Line:
    """A line through a player's means, on the band of their intervals."""
    marks = [
        Mark(row["round"], row["mean"], _mean_text(row),
             y_ends=None if row["low"] is None else (row["low"], row["high"]))
        for row in means.iter_rows(named=True)
    ]  # fmt: skip
    return Line(marks, label, place, DASHES[place // SERIES % len(DASHES)], band=True)


def _mean_text(row: Mapping[str, Any]) -> str:
    parts = [f"{row['player']}, round {row['round']}: {row['mean']:.3f}"]
    if row["low"] is not None:
        low, high = (min(max(row[end], SHARE[0]), SHARE[1]) for end in ("low", "high"))
        parts.append(f"95 % interval {low:.3f} to {high:.3f}")
    matches, deals = counted(row["n"], "match"), counted(row["clusters"], "deal")
    return "\n".join([*parts, f"{matches} on {deals}"])
