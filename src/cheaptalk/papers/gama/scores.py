"""Scores and ranks of players alone at their tables, of each game and of all games together."""

from typing import Any

import polars as pl

from cheaptalk.frames.reader import decoded
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import averaged, means
from cheaptalk.reports.recipes.parts import Lacking, Lead
from cheaptalk.rules import game_box
from cheaptalk.statistics import DEALS, STRATA, rank_ranges

GAMES = {
    "guess_the_average": "Guess the average", "el_farol_bar": "El Farol bar",
    "divide_the_dollar": "Divide the dollar", "public_goods": "Public goods",
    "diners_dilemma": "Diner's dilemma", "sealed_bid_auction": "Sealed-bid auction",
    "battle_royale": "Battle royale", "pirate_game": "Pirate game",
}  # fmt: skip
"""The eight games with their titles, in the order of the paper's Table 1."""
VARIANTS = {"el_farol_bar": "feedback", "sealed_bid_auction": "price"}
"""Parameters of which the paper plots each value and scores one."""
NUMBER = r"(\d+)(?:\+\d+)*$"
"""The number that a deal's key ends with, a fresh deal's addition left out."""
COLUMNS = ("configuration", "standard", "variant", "deal", "repeat", "match", "score")
RANKS = {"rank": pl.Int64, "rank.low": pl.Int64, "rank.high": pl.Int64, "sure": pl.String,
         "first": pl.Float64}  # fmt: skip
"""What is said of a player's rank; see :func:`ranked`."""
OVERALL = "overall"
"""What stands in place of a game for the mean of all games."""
TITLES = GAMES | {OVERALL: "Overall"}


def alone(evidence: Evidence) -> pl.DataFrame:
    """The matches that count in which one player fills all places, of all eight games.

    Columns: ``game``, ``player``, ``configuration``, ``standard`` (whether what varies in the
    game's parameters has the rules' defaults, which are the paper's), ``variant`` (a value that
    the paper plots but does not score, if all else is standard), ``deal``, ``repeat``, ``match``,
    ``score`` (0 to 100, null where there is none), ``seats`` (how many, where the player also sits
    with others in the game, else null), and ``run``, which counts deals and repeats from 1, the
    same in all games.

    Raises:
        Lacking: there is no such match.
    """
    parts = [_alone(evidence, game) for game in evidence.played(list(GAMES))]
    if not parts or (found := pl.concat(parts)).is_empty():
        raise Lacking(
            "no player has finished a match of GAMA-Bench's games alone at its table; run the "
            "preset gama, or write pairing: self"
        )
    number = pl.col("deal").str.extract(NUMBER).cast(pl.Int64)
    place = pl.struct(number.fill_null(-1), pl.col("repeat")).rank("dense")
    return found.with_columns(place.cast(pl.Int64).alias("run"))


def _alone(evidence: Evidence, game: str) -> pl.DataFrame:
    frame = evidence.scored(game)
    seats = [name for name in frame.columns if name.startswith("player.")]
    labels = pl.concat_list(seats).list.drop_nulls()
    apart = frame.filter(labels.list.n_unique() > 1).select(labels.alias("met"))
    met = set(apart.explode("met")["met"])
    frame = frame.filter(labels.list.n_unique() == 1)
    return frame.join(_standards(frame, game), on="configuration", maintain_order="left").select(
        pl.lit(game).alias("game"), pl.coalesce(seats).alias("player"), *COLUMNS,
        pl.when(pl.coalesce(seats).is_in(met)).then(labels.list.len()).alias("seats"),
    )  # fmt: skip


def varied(frame: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """The parameters that differ between a game's matches, with their values, by configuration."""
    names = [name for name in frame.columns
             if name.startswith("game.") and frame[name].n_unique() > 1]  # fmt: skip
    rows = frame.select("configuration", *names).unique("configuration", maintain_order=True)
    return {
        key: {name.removeprefix("game."): decoded(value)
              for name, value in zip(names, values, strict=True)}
        for key, *values in rows.iter_rows()
    }  # fmt: skip


def _standards(frame: pl.DataFrame, game: str) -> pl.DataFrame:
    """Which configurations are the paper's default, and which its variants: one row each."""
    defaults = game_box(game).rules().model_dump(mode="json")
    rows = []
    for key, values in varied(frame).items():
        other = {name: of for name, of in values.items() if of != defaults.get(name)}
        one = VARIANTS.get(game, "")
        variant = f"{other[one]} {one}" if [*other] == [one] else None
        rows.append((key, not other, variant))
    kinds = {"configuration": pl.String, "standard": pl.Boolean, "variant": pl.String}
    return pl.DataFrame(rows, schema=kinds, orient="row")


def default_runs(runs: pl.DataFrame, *, variants: bool = False) -> pl.DataFrame:
    """The matches in the paper's default settings; of a game without these, all of them.

    Args:
        variants: with those of the paper's variants.
    """
    wanted = pl.col("standard")
    if variants:
        wanted = wanted | pl.col("variant").is_not_null()
    return runs.filter(wanted | ~wanted.any().over("game"))


def scored(evidence: Evidence) -> pl.DataFrame:
    """The rows of :func:`alone` that have a score.

    Raises:
        Lacking: there is no such match.
    """
    runs = evidence.once(alone).drop_nulls("score")
    if runs.is_empty():
        raise Lacking(
            "no match that a player finished alone has a score: the paper has none for auctions at "
            "the second price, nor for pirates who need more than half of the votes"
        )
    return runs


def lead(runs: pl.DataFrame, game: str, player: str) -> Lead | None:
    """The matches of a player alone in the configurations of a game that these runs hold.

    None for all games together, and where the player is none of theirs.
    """
    own = runs.filter(pl.col("game") == game, pl.col("player") == player)
    if own.is_empty():
        return None
    sizes = own["seats"].drop_nulls().unique()
    places = range(1, sizes[0] + 1) if len(sizes) == 1 else ()
    seated = {f"player.player_{place}": player for place in places} or {"player": player}
    configurations = ",".join(own["configuration"].unique(maintain_order=True))
    return Lead(game, seated | {"configuration": configurations, "status": "finished"})


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
