"""Means with their intervals, as the tables of recipes hold them."""

from collections.abc import Mapping, Sequence

import polars as pl
from scipy.special import stdtrit

from cheaptalk.reports.charts.kinds import HIGH, LOW
from cheaptalk.reports.recipes.margins import Margin
from cheaptalk.reports.recipes.tables import CLUSTERS, COUNT, ERROR, FREEDOM, WANTED
from cheaptalk.statistics import DEALS, STRATA, holm, mean_intervals, rank_ranges
from cheaptalk.statistics.intervals import ENOUGH, Bounds, BoundsColumns

PARTS = {
    "mean": "", "low": LOW, "high": HIGH, "error": ERROR, "n": COUNT, "clusters": CLUSTERS,
    "wanted": WANTED, "freedom": FREEDOM,
}  # fmt: skip
"""What stands behind a column's name for each column of :func:`.mean_intervals`."""


def means(
    frame: pl.DataFrame,
    values: Sequence[str],
    by: Sequence[str],
    *,
    bounds: Mapping[str, Bounds | BoundsColumns] | None = None,
    cluster: Sequence[str] = DEALS,
    strata: Sequence[str] = (),
) -> pl.DataFrame:
    """One row a cell, and for each value ``x`` its mean ``x`` with ``x.low``, ``x.high`` and so on.

    Args:
        frame: one row an observation.
        values: columns to take means of; a cell where one has no value has nulls there.
        by: the columns whose combinations are the cells, in the order in which they first appear.
        bounds, cluster, strata: see :func:`.mean_intervals`.
    """
    found = mean_intervals(frame, values, by, cluster=cluster, strata=strata, bounds=bounds)
    wide = frame.select(by).unique(maintain_order=True)
    for value in values:
        names = {part: value + ending for part, ending in PARTS.items()}
        own = found.filter(measure=value).select(*by, *names).rename(names)
        wide = wide.join(
            own, on=list(by), how="left", nulls_equal=True, maintain_order="left", validate="1:1"
        )
    return wide


def over_games(found: pl.DataFrame, value: str) -> pl.DataFrame:
    """The mean of each player's games, all of which weigh alike, with a 95 % interval.

    The error is the root of the sum of the games' squared errors, over their number; degrees of
    freedom are Welch and Satterthwaite's. A game whose values never varied adds as much as its
    interval allows for what went unseen, half of its width as two standard errors. There is no
    error where a game has none, and no interval where one never varied and has none. Where degrees
    of freedom are fewer than 25 deals give, the interval wants as many deals as the game that wants
    most. A single game keeps its interval.

    Args:
        found: one row a player and game, as :func:`means` makes them with configurations as
            strata.
        value: what is averaged.

    Returns:
        ``player`` in the order in which players first appear, ``value`` with its interval, error,
        count and the deals it wants, and ``games``, how many there are.
    """
    error = error_or_unseen(value)
    squares = error.pow(2).sum()
    fourths = (error.pow(4) / pl.max_horizontal(value + FREEDOM, 1)).sum()
    made = found.group_by("player", maintain_order=True).agg(
        pl.col(value).mean(),
        pl.col(value + COUNT).sum(),
        pl.len().alias("games"),
        pl.when(error.null_count() == 0).then(squares.sqrt() / pl.len()).alias(value + ERROR),
        pl.when(fourths > 0).then(squares.pow(2) / fourths).otherwise(1.0).alias("freedom"),
        pl.col(value + LOW, value + HIGH).first(),
        pl.col(value + WANTED).max(),
    )
    mean_error = pl.col(value + ERROR)
    width = pl.when(mean_error > 0).then(mean_error) * pl.Series(
        stdtrit(made["freedom"].to_numpy(), 0.975)
    )
    alone, few = pl.col("games") == 1, pl.col("freedom").round(6) < ENOUGH - 1
    ends = (
        pl.when(alone).then(end).otherwise(pl.col(value) + side * width).alias(end)
        for side, end in ((-1, value + LOW), (1, value + HIGH))
    )
    wanted = pl.when(alone | (width.is_not_null() & few)).then(value + WANTED)
    return made.with_columns(*ends, wanted).drop("freedom")


def error_or_unseen(value: str) -> pl.Expr:
    """Return the standard error, and for values that never varied what may be unseen.

    That is half of the interval's width as two standard errors. It is null if there is no interval.

    Args:
        value: of :func:`means`.
    """
    unseen = (pl.col(value + HIGH) - pl.col(value + LOW)) / 4
    return pl.coalesce(value + ERROR, unseen)


def ranked_over_games(
    rows: pl.DataFrame, value: str, together: Sequence[str], draws: int, seed: int
) -> tuple[pl.DataFrame, tuple[str, ...], list[Margin]]:
    """Ranks by the mean of each player's games' means, the best first; see :func:`.rank_ranges`.

    Weighting each row makes the mean over rows the mean over games. Leave players out who lack a
    game that others have: they would be ranked by those that they played.

    Args:
        rows: one row an observation, with ``player``, ``game`` and the columns of :data:`DEALS`.
        value: what players are ranked by.
        together: the columns that tell apart, game by game, which deals are drawn together.
        draws: how many.
        seed: of these.

    Returns:
        ``player``, ``rank``, ``rank.low`` and ``rank.high`` (its ranks in 95 % of draws),
        ``sure`` (ranks that hold for all players at once, as text) and ``first`` (the share of
        draws in which it is best); what a reader should know; and the leads of the first player,
        with the intervals that decide its rank.
    """
    share = pl.len().over("player") / pl.len().over("player", "game")
    weighted = rows.with_columns(
        pl.col(value) * share / pl.col("game").n_unique().over("player"),
        unit=pl.concat_str("game", *DEALS, separator="\n"),
        pool=pl.concat_str("game", *together, separator="\n"),
    )
    found = rank_ranges(
        weighted, value, "player", cluster=["unit"], strata=["pool"], draws=draws, seed=seed
    )
    ranks = found.frame.select(
        pl.col("group").alias("player"), "rank",
        pl.col("low").alias("rank.low"), pl.col("high").alias("rank.high"),
        pl.format("{} to {}", "sure_low", "sure_high").alias("sure"), "first",
    )  # fmt: skip
    pairs = len(ranks) * (len(ranks) - 1) // 2
    leads = []
    for lead in found.leads:
        played = rows.filter(pl.col("player").is_in([ranks["player"][0], lead.behind]))
        deals = played.select("game", *DEALS).n_unique()
        leads.append(
            Margin(
                lead.behind, lead.size, lead.low, lead.high, deals, pairs, found.more, lead.sure,
                lead.constant, played.select("game", *STRATA).n_unique(), lead.freedom,
            )
        )  # fmt: skip
    return ranks, found.notes, leads


def with_told_ranges(board: pl.DataFrame, value: str) -> pl.DataFrame:
    """Ranks with their ranges where all ranked have an interval; else with none.

    What never varied moves nobody in any draw, so that ranges would be too sure.

    Args:
        board: one row a player, with the columns of :func:`ranked_over_games` and of ``value``.
        value: by what players are ranked.
    """
    if not board.filter(pl.col(value).is_not_null())[value + LOW].null_count():
        return board
    return without_ranges(board)


def without_ranges(board: pl.DataFrame) -> pl.DataFrame:
    """Ranks with no ranges; see :func:`with_told_ranges`."""
    columns = ("rank.low", "rank.high", "sure", "first")
    return board.with_columns(pl.lit(None, board[name].dtype).alias(name) for name in columns)


def with_holm(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """The frame with its column ``p`` corrected, as ``name``, among all rows that have one."""
    tested = frame.with_row_index("at").drop_nulls("p")
    corrected = pl.DataFrame({"at": tested["at"], name: holm(tested["p"].to_numpy())})
    numbered = frame.with_columns(pl.col("p").cast(pl.Float64)).with_row_index("at")
    return numbered.join(
        corrected, on="at", how="left", maintain_order="left", validate="1:1"
    ).drop("at")


def side_by_side(frame: pl.DataFrame, value: str, across: str) -> pl.DataFrame:
    """Cells of one value in columns named after what ``across`` holds, with all that goes with it.

    >>> rows = {"who": ["a", "a", "b"], "game": ["x", "y", "x"], "gain": [1, 2, 3],
    ...         "gain.n": [7, 8, 9]}
    >>> side_by_side(pl.DataFrame(rows), "gain", "game").rows(named=True)[1]
    {'who': 'b', 'x': 3, 'x.n': 9, 'y': None, 'y.n': None}
    """
    parts = [name for name in frame.columns if name == value or name.startswith(f"{value}.")]
    rest = [name for name in frame.columns if name not in (*parts, across)]
    wide = frame.select(rest).unique(maintain_order=True)
    for level in frame[across].unique(maintain_order=True):
        names = {part: f"{level}{part.removeprefix(value)}" for part in parts}
        own = frame.filter(pl.col(across) == level).select(*rest, *parts).rename(names)
        wide = wide.join(
            own, on=rest, how="left", nulls_equal=True, maintain_order="left", validate="1:1"
        )
    return wide
