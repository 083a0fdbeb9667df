"""Means with confidence intervals, in the format of the tables of recipes."""

from collections.abc import Mapping, Sequence

import polars as pl

from cheaptalk.reports.charts.kinds import HIGH, LOW
from cheaptalk.reports.recipes.margins import Margin
from cheaptalk.reports.recipes.tables import CLUSTERS, COUNT, ERROR, FREEDOM, WANTED
from cheaptalk.statistics import INSTANCES, STRATA, holm, mean_intervals, rank_ranges
from cheaptalk.statistics.columns import with_matching
from cheaptalk.statistics.intervals import ENOUGH
from cheaptalk.statistics.limits import Bounds, BoundsColumns, t_quantile, welch

PARTS = {
    "mean": "",
    "low": LOW,
    "high": HIGH,
    "error": ERROR,
    "n": COUNT,
    "clusters": CLUSTERS,
    "wanted": WANTED,
    "freedom": FREEDOM,
}
"""The suffix of a column's name for each column of :func:`.mean_intervals`."""


def means(
    frame: pl.DataFrame,
    values: Sequence[str],
    by: Sequence[str],
    *,
    bounds: Mapping[str, Bounds | BoundsColumns] | None = None,
    cluster: Sequence[str] = INSTANCES,
    strata: Sequence[str] = (),
) -> pl.DataFrame:
    """Return the means of values by cell, with related columns; see :func:`.mean_intervals`."""
    intervals = mean_intervals(frame, values, by, cluster=cluster, strata=strata, bounds=bounds)
    wide = frame.select(by).unique(maintain_order=True)
    for value in values:
        names = {value + ending: part for part, ending in PARTS.items()}
        columns = intervals.lazy().filter(metric=value).select(*by, **names).collect()
        wide = with_matching(wide, columns, [*by])
    return wide


def over_games(by_game: pl.DataFrame, value: str) -> pl.DataFrame:
    """Return the mean over each player's games, equally weighted, with a 95 % interval.

    The standard error is the root of the sum of the games' squared errors, divided by their number;
    the degrees of freedom are Welch and Satterthwaite's. A game without variation contributes half
    of the width of its interval, as two standard errors. There is no error if a game has none, and
    no interval if a game never varied and has none. If there are fewer degrees of freedom than 25
    instances give, the interval needs as many instances as the game that needs most. A single game
    keeps its interval.
    """
    error = error_or_unseen(value)
    squares = error.pow(2).sum()
    fourths = (error.pow(4) / pl.max_horizontal(value + FREEDOM, 1)).sum()
    pooled = by_game.group_by("player", maintain_order=True).agg(
        pl.col(value).mean(),
        pl.col(value + COUNT).sum(),
        pl.len().alias("games"),
        pl.when(error.null_count() == 0).then(squares.sqrt() / pl.len()).alias(value + ERROR),
        welch(squares, fourths).alias("freedom"),
        pl.col(value + LOW, value + HIGH).first(),
        pl.col(value + WANTED).max(),
    )
    mean_error = pl.col(value + ERROR)
    width = pl.when(mean_error > 0).then(mean_error) * pl.Series(t_quantile(pooled["freedom"]))
    single_game, few = pl.col("games") == 1, pl.col("freedom").round(6) < ENOUGH - 1
    ends = (
        pl.when(single_game).then(end).otherwise(pl.col(value) + side * width).alias(end)
        for side, end in ((-1, value + LOW), (1, value + HIGH))
    )
    needed = pl.when(single_game | (width.is_not_null() & few)).then(value + WANTED)
    return pooled.with_columns(*ends, needed).drop("freedom")


def error_or_unseen(value: str) -> pl.Expr:
    """Return the standard error or, for constant values, a quarter of the interval's width."""
    unseen = (pl.col(value + HIGH) - pl.col(value + LOW)) / 4
    return pl.coalesce(value + ERROR, unseen)


def ranked_over_games(
    rows: pl.DataFrame, value: str, together: Sequence[str], draws: int, seed: int
) -> tuple[pl.DataFrame, tuple[str, ...], list[Margin]]:
    """Rank players by the mean over each player's games; return ranks, notes and the first's leads.

    Each row is weighted so that the mean over rows is the mean over games; see
    :func:`.rank_ranges`. Exclude players who lack a game that others have, because they would be
    ranked by a different set of games. ``together`` identifies, within a game, the instances that
    are drawn together.

    The columns are ``player``, ``rank``, ``rank.low`` and ``rank.high`` (in 95 % of draws),
    ``sure`` (ranks that hold for all players simultaneously, as text) and ``first`` (the share of
    draws in which the player is best).
    """
    share = pl.len().over("player") / pl.len().over("player", "game")
    weighted = rows.with_columns(
        pl.col(value) * share / pl.col("game").n_unique().over("player"),
        unit=pl.concat_str("game", *INSTANCES, separator="\n"),
        pool=pl.concat_str("game", *together, separator="\n"),
    )
    ranges = rank_ranges(
        weighted, value, "player", cluster=["unit"], strata=["pool"], draws=draws, seed=seed
    )
    ranks = ranges.frame.select(
        pl.col("group").alias("player"),
        "rank",
        pl.col("low").alias("rank.low"),
        pl.col("high").alias("rank.high"),
        pl.format("{} to {}", "sure_low", "sure_high").alias("sure"),
        "first",
    )
    pairs = len(ranks) * (len(ranks) - 1) // 2
    leads = []
    for lead in ranges.leads:
        played = rows.filter(pl.col("player").is_in([ranks["player"][0], lead.behind]))
        instances, strata = (played.select("game", *by).n_unique() for by in (INSTANCES, STRATA))
        size = (lead.behind, lead.size, lead.low, lead.high, instances, pairs, ranges.growth)
        leads.append(Margin(*size, lead.sure, lead.constant, strata, lead.freedom))
    return ranks, ranges.notes, leads


def with_ranges(board: pl.DataFrame, value: str) -> pl.DataFrame:
    """Clear the ranges of ranks, which are too narrow, if a player has no interval."""
    if not board.filter(pl.col(value).is_not_null())[value + LOW].null_count():
        return board
    return without_ranges(board)


def without_ranges(board: pl.DataFrame) -> pl.DataFrame:
    """Clear the ranges of ranks in a leaderboard, which then shows ranks only."""
    columns = ("rank.low", "rank.high", "sure", "first")
    return board.with_columns(pl.lit(None, board[name].dtype).alias(name) for name in columns)


def with_holm(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """Add a column ``name`` with the Holm-corrected p-values of the column ``p``."""
    tested = frame.with_row_index("at").drop_nulls("p")
    corrected = pl.DataFrame({"at": tested["at"], name: holm(tested["p"].to_numpy())})
    numbered = frame.with_columns(pl.col("p").cast(pl.Float64)).with_row_index("at")
    return numbered.join(
        corrected, on="at", how="left", maintain_order="left", validate="1:1"
    ).drop("at")


def side_by_side(frame: pl.DataFrame, value: str, across: str) -> pl.DataFrame:
    """Pivot a value and its related columns into separate columns for each level of ``across``.

    >>> rows = {"who": ["a", "a", "b"], "game": ["x", "y", "x"], "gain": [1, 2, 3],
    ...         "gain.n": [7, 8, 9]}
    >>> side_by_side(pl.DataFrame(rows), "gain", "game").rows(named=True)[1]
    {'who': 'b', 'x': 3, 'x.n': 9, 'y': None, 'y.n': None}
    """
    parts = [name for name in frame.columns if name == value or name.startswith(f"{value}.")]
    keys = [name for name in frame.columns if name not in (*parts, across)]
    wide = frame.select(keys).unique(maintain_order=True)
    for level in frame[across].unique(maintain_order=True):
        names = {part: f"{level}{part.removeprefix(value)}" for part in parts}
        columns = frame.filter(pl.col(across) == level).select(*keys, *parts).rename(names)
        wide = with_matching(wide, columns, keys)
    return wide
