"""Charts of empirical games: mixtures, regrets and payoffs, and of play in their matches."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from cheaptalk.equilibrium.analysis.analysis import Analysis
from cheaptalk.equilibrium.analysis.two_seats import Pair, SeatsAnalysis
from cheaptalk.equilibrium.empirical.bootstrap import Spread
from cheaptalk.frames import read_rounds
from cheaptalk.frames.matches import SCORED
from cheaptalk.frames.reader import places_in
from cheaptalk.records import Store
from cheaptalk.records.store.queries import seats_of
from cheaptalk.reports.charts.chart import (
    DASHES,
    SERIES,
    Axis,
    Box,
    Boxes,
    Chart,
    Lead,
    Line,
    Mark,
    Points,
    Tone,
)
from cheaptalk.reports.charts.kinds import CELL, Cell, bars, cells, columns
from cheaptalk.rules import SHARE, counted, get_game
from cheaptalk.rules.game_spec import Histogram, Radar
from cheaptalk.statistics import STRATA, mean_intervals
from cheaptalk.text import capital, fixed

DEMAND = "demand"
"""The per-round metric of concession curves, which are shown for games that have it."""
BINS = 24
"""The number of bins of a histogram."""


def mixture_bars(analysis: Analysis) -> Chart:
    """Chart each strategy's mean share at equilibrium as a bar with an interval."""
    shares = analysis.against("mixture")
    order = sorted(analysis.ranking, key=lambda index: -number(shares[index]))
    lengths = [(row, 0.0, number(shares[index]), "") for row, index in enumerate(order)]
    layers = (bars(lengths, tone="rule"), _along(analysis, shares, order, 3, "ink"))
    title = f"Equilibrium of {analysis.name}"
    return Chart(title, "probability", layers, Axis(ends=(0, 1)), _rows(analysis, order))


def regret_ranking(analysis: Analysis) -> Chart:
    """Chart each strategy's regret at equilibrium as dots with intervals, the lowest on top."""
    order, regrets = analysis.ranking, analysis.against("regret")
    points = [_along(analysis, regrets, order, analysis.payoff_decimals, 1)]
    axes = Axis(zero=True), _rows(analysis, order)
    return Chart("Regret at equilibrium", unit_of(analysis), points, *axes)


def payoff_map(analysis: Analysis) -> Chart:
    """Chart the mean payoff of each strategy (row) against each opposing strategy (column)."""
    labels, decimals = list(analysis.labels), analysis.payoff_decimals
    positions = {label: position for position, label in enumerate(labels)}
    counts, instances = analysis.game.counts(), analysis.game.instances()

    def cell(row: str, column: str) -> Cell:
        i, j = positions[row], positions[column]
        spread = analysis.payoffs[i][j]._replace(mean=analysis.payoffs[i][j].estimate)
        tooltip = f"{row} against {column}\n{_spread_text(spread, decimals)}"
        tooltip += _counts_text(counts[i, j], instances[i, j])
        return Cell(number(spread), tooltip, lead(analysis, row, column, status="finished"))

    titles = ("Payoff of", labels), ("Against", labels)
    return cells("Payoffs", unit_of(analysis), *titles, cell, decimals=decimals)


def unit_of(analysis: Analysis) -> str:
    """Return the unit of payoffs, or a placeholder for games from payoff files."""
    return analysis.selected.unit if analysis.selected else "in the game's unit"


def number(spread: Spread) -> float:
    """Return the mean over bootstrap draws or, without draws, the estimate; 0 if undefined."""
    return spread.mean if spread.mean is not None else spread.estimate or 0.0


def _rows(analysis: Analysis, order: Sequence[int]) -> Axis:
    return Axis(names=tuple(analysis.labels[index] for index in order))


def _along(
    analysis: Analysis, spreads: Sequence[Spread], order: Sequence[int], decimals: int, tone: Tone
) -> Points:
    return Points(
        [
            Mark(
                number(spreads[index]),
                analysis.labels[index],
                f"{analysis.labels[index]}\n{_spread_text(spreads[index], decimals)}",
                x_ends=_reach(spreads[index]),
            )
            for index in order
        ],
        tone=tone,
    )


def _reach(spread: Spread) -> tuple[float, float] | None:
    """Return the interval over the bootstrap draws, extended to include the mean."""
    if spread.low is None or spread.high is None:
        return None
    return min(spread.low, number(spread)), max(spread.high, number(spread))


def _spread_text(spread: Spread, decimals: int) -> str:
    if spread.low is None or spread.high is None:
        return fixed(number(spread), decimals)
    low, high = fixed(spread.low, decimals), fixed(spread.high, decimals)
    return f"{fixed(number(spread), decimals)}, 95 % of draws in {low} to {high}"


def _counts_text(matches: int, instances: int) -> str:
    if not matches:
        return ""
    return f"\n{counted(int(matches), 'match')} on {counted(int(instances), 'instance')}"


def lead(analysis: Analysis | SeatsAnalysis, row: str, column: str, **filters: str) -> Lead | None:
    """Return a link to the matches of two strategies; the strategy ``row`` is in the first seat."""
    if analysis.selected is None:
        return None
    first, second = (f"player_{seat}" for seat in places_in(analysis.selected.frame))
    query = {first: row, second: column} | analysis.selected.query | filters
    return Lead(analysis.selected.game_spec, query)


def payoff_maps(analysis: SeatsAnalysis) -> list[Chart]:
    """Chart each seat's payoff by strategy pair; frames mark best responses and equilibria."""
    return [_map(analysis, side) for side in (0, 1)]


def _map(analysis: SeatsAnalysis, side: int) -> Chart:
    rows, columns = map(list, analysis.labels)
    down, across = map(capital, analysis.seats)
    pairs = {(pair.row, pair.column): pair for pair in analysis.pairs}

    def cell(row: str, column: str) -> Cell:
        pair = pairs[row, column]
        text = _pair_text(pair, side, analysis.payoff_decimals)
        tooltip = f"{down} {row}, {across} {column}\n{text}"
        link = lead(analysis, row, column, status="finished")
        return Cell(number(pair.payoffs[side]), tooltip, link)

    frames_by_width = {
        width: [
            Box((j - CELL, j + CELL), (i - CELL, i + CELL))
            for i, row in enumerate(rows)
            for j, column in enumerate(columns)
            if (pair := pairs[row, column]).best[side] and pair.stable == (width > 2)
        ]
        for width in (1.5, 4)
    }
    frames = [
        Boxes(boxes, tone=1, frame=width) for width, boxes in frames_by_width.items() if boxes
    ]
    title, unit = f"Payoff of {capital(analysis.seats[side])}", analysis.units[side]
    options: dict[str, Any] = {"decimals": analysis.payoff_decimals, "frames": frames}
    return cells(title, unit, (down, rows), (across, columns), cell, **options)


def _pair_text(pair: Pair, side: int, decimals: int) -> str:
    parts = [_spread_text(pair.payoffs[side], decimals)]
    parts += ["best response"] * pair.best[side] + ["pure equilibrium"] * pair.stable
    if pair.support is not None:
        parts.append(f"an equilibrium in {pair.support:.1%} of draws")
    return "\n".join(parts) + _counts_text(pair.matches, pair.instances)


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
    return read_rounds(store, study, only=[DEMAND]) if having else {}


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
