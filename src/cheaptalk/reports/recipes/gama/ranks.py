"""Ranks of players by their overall scores, and how sure they are."""

import polars as pl

from cheaptalk.statistics import DEALS, rank_ranges

RANKS = {"rank": pl.Int64, "rank.low": pl.Int64, "rank.high": pl.Int64, "sure": pl.String,
         "first": pl.Float64}  # fmt: skip
"""What is said of a player's rank; see :func:`ranked`."""


def ranked(runs: pl.DataFrame, draws: int, seed: int) -> pl.DataFrame:
    """Ranks by the mean of all games' means, the best first; see :func:`.rank_ranges`.

    Deals are drawn again game by game. All matches on a deal go together: those of all players
    where they share it, as players of one study do, and those of an import do not. Players who
    lack a game are left out. Ranges are null where a player has a single deal of a game.

    Returns:
        ``player``, ``rank``, ``rank.low`` and ``rank.high`` (its ranks in 95 % of draws),
        ``sure`` (ranks that hold for all players at once, as text) and ``first`` (the share of
        draws in which it is best).
    """
    count = runs["game"].n_unique()
    kept = runs.filter(pl.col("game").n_unique().over("player") == count)
    players = kept["player"].unique(maintain_order=True).to_list()
    matches = pl.len().over("player") / pl.len().over("player", "game")
    kept = kept.with_columns(
        weighted=pl.col("score") * matches / count,
        together=pl.col("player").unique().sort().str.join("\n").over("game", *DEALS),
    )
    kept = kept.with_columns(
        unit=pl.concat_str("game", *DEALS, separator="\n"),
        pool=pl.concat_str("game", "configuration", "together", separator="\n"),
    )
    deals = kept.group_by("player", "game").agg(pl.struct(DEALS).n_unique().alias("deals"))
    if len(players) < 2 or deals["deals"].eq(1).any():
        return _plain(kept)
    found = rank_ranges(
        kept, "weighted", "player", cluster=["unit"], strata=["pool"], draws=draws, seed=seed
    ).frame
    return found.select(
        pl.col("group").alias("player"), "rank",
        pl.col("low").alias("rank.low"), pl.col("high").alias("rank.high"),
        pl.format("{} to {}", "sure_low", "sure_high").alias("sure"), "first",
    )  # fmt: skip


def _plain(kept: pl.DataFrame) -> pl.DataFrame:
    """Ranks without ranges."""
    means = kept.group_by("player").agg(pl.col("weighted").mean().round(9))
    rank = pl.col("weighted").rank("min", descending=True).cast(pl.Int64)
    unknown = (pl.lit(None, kind).alias(name) for name, kind in RANKS.items() if name != "rank")
    return means.select("player", rank.alias("rank"), *unknown)
