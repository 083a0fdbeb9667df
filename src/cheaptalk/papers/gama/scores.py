"""Scores and ranks of players alone at their tables, of each game and of all games together."""

from typing import Any

import polars as pl

from cheaptalk.frames.reader import parameters_in, varying
from cheaptalk.records.store.reader import specs_of
from cheaptalk.reports.charts.chart import Lead
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.margins import Margin
from cheaptalk.reports.recipes.means import means, over_games, ranked_over_games
from cheaptalk.reports.recipes.parts import Lacking
from cheaptalk.rules import game_box
from cheaptalk.statistics import DEALS, STRATA

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
TREATMENT = "treatment"
"""Where imported players have the settings in which they differ from the paper's default."""
OVERALL = "overall"
"""What stands in place of a game for the mean of all games."""
TITLES = GAMES | {OVERALL: "Overall"}


def entries(evidence: Evidence) -> dict[str, dict[str, Any]]:
    """The players by label with their settings: as the study writes them, or as imported.

    A model that the study gives no version of the prompts has the one that was recorded, if it is
    the same in all games.
    """
    if evidence.players:
        return {
            label: evidence.once(_recorded_style).get(label, {}) | entry
            for label, entry in evidence.players.items()
        }
    return {
        label: {name: value for name, value in spec.items() if name != TREATMENT}
        | spec.get(TREATMENT, {})
        for label, spec in evidence.once(_imported).items()
    }


def _recorded_style(evidence: Evidence) -> dict[str, dict[str, Any]]:
    """The version of the prompts that each model was recorded with, where there is just one."""
    specs = specs_of(evidence.store, evidence.study)
    styles = {label: {spec["style"] for spec in of if "model" in spec and spec.get("style")}
              for label, of in specs.items()}  # fmt: skip
    return {label: {"style": next(iter(of))} for label, of in styles.items() if len(of) == 1}


def treated(evidence: Evidence) -> list[str]:
    """The players of imported games that were played as an experiment, and not by default."""
    return [label for label, spec in evidence.once(_imported).items() if spec.get(TREATMENT)]


def _imported(evidence: Evidence) -> dict[str, dict[str, Any]]:
    """The imported players by label, as the store keeps them; none of games that were played."""
    if evidence.players:
        return {}
    specs = specs_of(evidence.store, evidence.study)
    return {label: spec for label, (spec, *_) in specs.items()}


def alone(evidence: Evidence) -> pl.DataFrame:
    """The matches that count in which one player fills all places, of all eight games.

    Columns: ``game``, ``player``, ``configuration``, ``standard`` (whether what varies in the
    game's parameters has the rules' defaults, which are the paper's), ``variant`` (a value that
    the paper plots but does not score, if all else is standard), ``deal``, ``repeat``, ``match``,
    ``score`` (0 to 100, null where there is none), ``seats`` (how many, where the player also sits
    with others in the game, else null), ``treated`` (see :func:`treated`), and ``run``, which
    counts deals and repeats from 1, the same in all games.

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
    place = pl.struct(number.fill_null(-1), pl.col("repeat")).rank("dense").over("treated")
    apart = pl.col("player").is_in(evidence.once(treated))
    return found.with_columns(treated=apart).with_columns(place.cast(pl.Int64).alias("run"))


def _alone(evidence: Evidence, game: str) -> pl.DataFrame:
    frame = evidence.scored(game)
    seats = [name for name in frame.columns if name.startswith("player.")]
    labels = pl.concat_list(seats).list.drop_nulls()
    apart = frame.filter(labels.list.n_unique() > 1).select(labels.alias("met"))
    met = set(apart.explode("met")["met"])
    frame = frame.filter(labels.list.n_unique() == 1)
    standards = _standards(frame, game)
    return frame.join(
        standards, on="configuration", maintain_order="left", validate="m:1"
    ).select(
        pl.lit(game).alias("game"), pl.coalesce(seats).alias("player"), *COLUMNS,
        pl.when(pl.coalesce(seats).is_in(met)).then(labels.list.len()).alias("seats"),
    )  # fmt: skip


def varied(frame: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """The parameters that differ between a game's matches, with their values, by configuration."""
    found = parameters_in(frame)
    names = varying(found)
    return {key: {name: of[name] for name in names} for key, of in found.items()}


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


def default_players(runs: pl.DataFrame) -> pl.DataFrame:
    """The matches of players who are none of an imported experiment's; all if there is no other."""
    kept = runs.filter(~pl.col("treated"))
    return runs if kept.is_empty() else kept


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


def ranked(runs: pl.DataFrame, draws: int, seed: int) -> tuple[pl.DataFrame, list[Margin]]:
    """Ranks by the mean of all games' means, and the leads; see :func:`.ranked_over_games`.

    Deals are drawn again game by game. All matches on a deal go together: those of all players
    where they share it, as players of one study do, and those of an import do not. Players who
    lack a game are left out. Ranges are null where a player has a single deal of a game, and leads
    have no intervals then.
    """
    count = runs["game"].n_unique()
    kept = runs.filter(pl.col("game").n_unique().over("player") == count)
    cells = kept.group_by("player", "game", maintain_order=True).agg(
        pl.col("score").mean(), pl.struct(DEALS).n_unique().alias("deals")
    )
    if kept["player"].n_unique() < 2 or cells["deals"].eq(1).any():
        single = cells.group_by("player", maintain_order=True).agg(pl.col("score").mean().round(9))
        rank = pl.col("score").rank("min", descending=True).cast(pl.Int64)
        unknown = (pl.lit(None, kind).alias(name) for name, kind in RANKS.items() if name != "rank")
        order = single.sort(-pl.col("score"), "player").rows()
        deals = kept.select("game", *DEALS).n_unique()
        leads = [
            Margin(player, order[0][1] - score, None, None, deals, 1, None)
            for player, score in order[1:]
        ]
        return single.select("player", rank.alias("rank"), *unknown), leads
    players = pl.col("player").unique().sort().str.join("\n").over("game", *DEALS)
    named = kept.with_columns(players=players)
    ranks, _, leads = ranked_over_games(named, "score", ["configuration", "players"], draws, seed)
    return ranks, leads


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
    spread = (
        _by_run(runs)
        .group_by(by, maintain_order=True)
        .agg(pl.col("score").std().alias("score.spread"))
    )
    bounds = {game: {"score": game_box(game).measures["score"].bounds} for game in GAMES}
    games = pl.concat(
        means(part, ["score"], by, bounds=bounds[str(game)], strata=STRATA)
        for (game,), part in runs.group_by("game", maintain_order=True)
    ).join(spread, on=by, validate="1:1", maintain_order="left")
    single = by_run(runs).filter(game=OVERALL).group_by("player", maintain_order=True)
    overall = (
        over_games(games, "score")
        .filter(pl.col("games") == runs["game"].n_unique())
        .join(single.agg(pl.col("score").std().alias("score.spread")), on="player", how="left",
              maintain_order="left", validate="1:1")
        .with_columns(pl.lit(OVERALL).alias("game"), pl.col("score.low", "score.high").clip(0, 100))
        .drop("games")
    )  # fmt: skip
    found = pl.concat([games, overall], how="diagonal")
    order = pl.col("game").replace_strict(list(TITLES), range(len(TITLES)))
    return found.sort("player", order)


def by_run(runs: pl.DataFrame) -> pl.DataFrame:
    """One row a player, game and run, and one for all games of a run that holds them all."""
    single = _by_run(runs)
    whole = pl.col("game").n_unique() == runs["game"].n_unique()
    overall = single.group_by("player", "run", maintain_order=True).agg(
        pl.col("score").mean(), whole=whole
    )
    overall = overall.filter("whole").with_columns(game=pl.lit(OVERALL))
    return pl.concat([single, overall.select(single.columns)])


def _by_run(runs: pl.DataFrame) -> pl.DataFrame:
    return runs.group_by("player", "game", "run", maintain_order=True).agg(pl.col("score").mean())
