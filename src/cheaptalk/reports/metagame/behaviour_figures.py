"""Charts of play: concession curves, and the radars and histograms of a game spec."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from cheaptalk.frames import round_frames
from cheaptalk.frames.matches import SCORED
from cheaptalk.frames.reader import places_in
from cheaptalk.records import Store
from cheaptalk.records.store.queries import seats_of
from cheaptalk.reports.charts.chart import DASHES, SERIES, Axis, Chart, Line, Mark
from cheaptalk.reports.charts.kinds import columns
from cheaptalk.rules import SHARE, counted, get_game
from cheaptalk.rules.empirical_view import Histogram, Radar
from cheaptalk.statistics import STRATA, mean_intervals

DEMAND = "demand"
"""The per-round metric of concession curves, which are shown for games that have it."""
BINS = 24
"""The number of bins of a histogram."""


def self_play_radar(frame: pl.DataFrame, labels: Sequence[str], radar: Radar) -> Chart | None:
    """Return a radar chart of players' mean metrics in self-play; None without self-play."""
    row_player, column_player = (f"player_{seat}" for seat in places_in(frame))
    metrics = list(radar.axes.values())
    self_play = frame.filter(
        SCORED & (pl.col(row_player) == pl.col(column_player)) & pl.col(row_player).is_in(labels)
    )
    means = (
        self_play.group_by(row_player, maintain_order=True)
        .agg(pl.col(metrics).mean(), pl.len().alias("matches"))
        .sort(row_player)
    )
    if means.is_empty():
        return None
    rows = means.select(row_player, "matches", pl.concat_list(metrics)).rows()
    return radar_panel(radar, radar.title, rows)


def radar_panel(
    radar: Radar, title: str, rows: Sequence[tuple[str, int, Sequence[float]]]
) -> Chart:
    """Return a radar chart with a line per row of a label, a number of matches and mean metrics."""
    layers = [
        Line(
            [
                Mark(
                    axis,
                    mean,
                    f"{name}, {counted(matches, 'match')}\n{axis}: {mean:.2f} {radar.unit}",
                )
                for axis, mean in zip(radar.axes, means, strict=True)
            ],
            name,
            index,
            DASHES[index // SERIES % len(DASHES)],
        )
        for index, (name, matches, means) in enumerate(rows)
    ]
    return Chart(
        title, radar.unit, layers, Axis(names=tuple(radar.axes)), Axis(zero=True), 240, round=True
    )


def instance_histogram(frame: pl.DataFrame, histogram: Histogram) -> Chart | None:
    """Return a histogram of an instance-level metric; None if it is undefined in all matches."""
    instances = (
        frame.filter(SCORED)
        .unique(["configuration", "instance"], maintain_order=True)[histogram.metric]
        .drop_nulls()
    )
    if instances.is_empty():
        return None
    size = histogram.top / BINS
    tally = (instances / size).floor().cast(pl.Int64).value_counts().sort(histogram.metric)
    middles = ((size * (index + 0.5), count) for index, count in tally.iter_rows())
    heights = [
        (middle, count, f"around {middle:.2f}: {count} instances") for middle, count in middles
    ]
    axes = Axis(histogram.axis, zero=True), Axis("instances", zero=True, integer=True)
    return Chart(histogram.title, "", [columns(heights, width=size * 0.92)], *axes)


def demands(store: Store, study: str) -> dict[str, pl.DataFrame]:
    """Return each player's demand in each round, for games that define the demand metric."""
    having = any(DEMAND in get_game(game).series for game in seats_of(store, study))
    return round_frames(store, study, only=[DEMAND]) if having else {}


def concession_curves(
    game: str, frame: pl.DataFrame, rounds: pl.DataFrame, labels: Sequence[str]
) -> Chart | None:
    """Chart each player's mean demand by round, with 95 % bands; None if there are no offers.

    Intervals are clustered by instance within configurations. A round includes the matches in which
    the player still made an offer; ``rounds`` can have demands of other matches, too.
    """
    offers = rounds.join(frame, on="match_id", how="semi").filter(pl.col("player").is_in(labels))
    means = mean_intervals(
        offers, [DEMAND], ["player", "round"], strata=STRATA, bounds={DEMAND: SHARE}
    ).sort("round")
    layers = [
        _curve(label_means, label, index)
        for index, label in enumerate(labels)
        if not (label_means := means.filter(player=label)).is_empty()
    ]
    if not layers:
        return None
    unit = get_game(game).series[DEMAND].unit
    across, up = Axis("round", integer=True), Axis(ends=(0, 1))
    return Chart("Demands by round", unit, layers, across, up, 260)


def _curve(means: pl.DataFrame, label: str, index: int) -> Line:
    marks = [
        Mark(
            row["round"],
            row["mean"],
            _mean_text(row),
            y_ends=None if row["low"] is None else (row["low"], row["high"]),
        )
        for row in means.iter_rows(named=True)
    ]
    return Line(marks, label, index, DASHES[index // SERIES % len(DASHES)], band=True)


def _mean_text(row: Mapping[str, Any]) -> str:
    parts = [f"{row['player']}, round {row['round']}: {row['mean']:.3f}"]
    if row["low"] is not None:
        low, high = (min(max(row[end], SHARE[0]), SHARE[1]) for end in ("low", "high"))
        parts.append(f"95 % interval {low:.3f} to {high:.3f}")
    matches, instances = counted(row["n"], "match"), counted(row["clusters"], "instance")
    return "\n".join([*parts, f"{matches} on {instances}"])
