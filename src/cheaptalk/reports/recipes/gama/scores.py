"""Mean scores of players alone at their tables, of each game and of all games together."""

import polars as pl

from cheaptalk.reports.recipes.cells import averaged, means
from cheaptalk.reports.recipes.gama.runs import GAMES
from cheaptalk.rules import game_box
from cheaptalk.statistics import STRATA

OVERALL = "overall"
"""What stands in place of a game for the mean of all games."""
TITLES = GAMES | {OVERALL: "Overall"}


def scores(runs: pl.DataFrame) -> pl.DataFrame:
    """Mean scores of every player, one row a game and one for all games together.

    A game's interval is that of :func:`.mean_intervals`, clustered by deal within configurations
    and cut to what a score can be. The spread is the sample standard deviation over runs. Overall
    is the mean of the games' means, of players who have played all games here; its error is the
    root of the sum of the games' squared errors, divided by their number, with degrees of freedom
    by Welch and Satterthwaite; its spread is that of the runs' means, of runs that hold all games.

    Returns:
        ``player``, ``game``, ``score`` with ``.low``, ``.high``, ``.error``, ``.n`` (matches) and
        ``.clusters`` (deals; null overall), and ``score.spread``; in the order of players, then
        of games.
    """
    by = ["player", "game"]
    spread = _by_run(runs, by).group_by(by).agg(pl.col("score").std().alias("score.spread"))
    settings = runs.group_by(by).agg(pl.col("configuration").n_unique().alias("settings"))
    games = (
        means(runs, ["score"], by, strata=STRATA)
        .join(spread, on=by)
        .join(settings, on=by)
        .with_columns(_within("score.low"), _within("score.high"))
    )
    found = pl.concat([games.drop("settings"), _overall(runs, games)], how="diagonal")
    order = pl.col("game").replace_strict(list(TITLES), range(len(TITLES)))
    return found.sort("player", order)


def by_run(runs: pl.DataFrame) -> pl.DataFrame:
    """One row a player, game and run, and one for all games of a run that holds them all."""
    single = _by_run(runs, ["player", "game"])
    whole = pl.col("game").n_unique() == runs["game"].n_unique()
    overall = single.group_by("player", "run").agg(pl.col("score").mean(), whole=whole)
    overall = overall.filter("whole").with_columns(game=pl.lit(OVERALL))
    return pl.concat([single, overall.select(single.columns)])


def _by_run(runs: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    return runs.group_by(*by, "run").agg(pl.col("score").mean())


def _within(name: str) -> pl.Expr:
    """An end of an interval, no further than the game's scores can be."""
    bounds = {game: game_box(game).measures["score"].bounds for game in GAMES}
    least, most = (
        pl.col("game").replace_strict({game: ends[side] for game, ends in bounds.items()},
                                      return_dtype=pl.Float64)
        for side in (0, 1)
    )  # fmt: skip
    return pl.col(name).clip(least, most)


def _overall(runs: pl.DataFrame, games: pl.DataFrame) -> pl.DataFrame:
    """The mean of all games for each player who has played them all."""
    spread = by_run(runs).filter(game=OVERALL).group_by("player").agg(
        pl.col("score").std().alias("score.spread")
    )  # fmt: skip
    return (
        averaged(games, "player", "score", "settings")
        .filter(pl.col("cells") == runs["game"].n_unique())
        .join(spread, on="player", how="left", maintain_order="left")
        .with_columns(pl.lit(OVERALL).alias("game"))
        .drop("cells")
    )
