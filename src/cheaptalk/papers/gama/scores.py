"""Scores and ranks of players that fill all seats, by game and overall."""

from functools import partial
from typing import Any

import polars as pl

from cheaptalk.frames.reader import parameters_in, varying
from cheaptalk.papers.printed import paper_table, position
from cheaptalk.records.store.reader import specs_of
from cheaptalk.reports.charts.chart import Lead
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.margins import Margin
from cheaptalk.reports.recipes.means import means, over_games, ranked_over_games
from cheaptalk.reports.recipes.parts import NoData
from cheaptalk.rules import get_game
from cheaptalk.statistics import INSTANCES, STRATA
from cheaptalk.statistics.columns import with_matching

table = partial(paper_table, "gama")
GAMES = {
    "guess_the_average": "Guess the average",
    "el_farol_bar": "El Farol bar",
    "divide_the_dollar": "Divide the dollar",
    "public_goods": "Public goods",
    "diners_dilemma": "Diner's dilemma",
    "sealed_bid_auction": "Sealed-bid auction",
    "battle_royale": "Battle royale",
    "pirate_game": "Pirate game",
}
"""The eight games with their titles, in the order of the paper's Table 1."""
VARIANTS = {"el_farol_bar": "feedback", "sealed_bid_auction": "price"}
"""Parameters with a value that the paper scores, and another value that the paper only plots."""
NUMBER = r"(\d+)(?:\+\d+)*$"
"""The number in an instance's key, without the suffix of replacement matches."""
COLUMNS = ("configuration", "standard", "variant", "instance", "repeat", "match_id", "score")
RANKS = {
    **dict.fromkeys(("rank", "rank.low", "rank.high"), pl.Int64),
    "sure": pl.String,
    "first": pl.Float64,
}
"""The columns of a player's rank; see :func:`ranked`."""
TREATMENT = "treatment"
"""The key of imported players' settings that differ from the paper's defaults."""
OVERALL = "overall"
"""The key of the mean of all games, in place of a game."""
TITLES = GAMES | {OVERALL: "Overall"}


def entries(evidence: Evidence) -> dict[str, dict[str, Any]]:
    """Return each player's settings; a missing prompt style is read from the matches."""
    if evidence.players:
        styles = evidence.once(_recorded_style)
        return {label: styles.get(label, {}) | spec for label, spec in evidence.players.items()}
    return {
        label: {name: value for name, value in spec.items() if name != TREATMENT}
        | spec.get(TREATMENT, {})
        for label, spec in evidence.once(_imported).items()
    }


def _recorded_style(evidence: Evidence) -> dict[str, dict[str, Any]]:
    styles = {}
    for label, recorded in specs_of(evidence.store, evidence.study).items():
        names = {spec["style"] for spec in recorded if "model" in spec and spec.get("style")}
        if len(names) == 1:
            styles[label] = {"style": names.pop()}
    return styles


def treated(evidence: Evidence) -> list[str]:
    """Return the imported players that were run with settings other than the paper's defaults."""
    return [label for label, spec in evidence.once(_imported).items() if spec.get(TREATMENT)]


def _imported(evidence: Evidence) -> dict[str, dict[str, Any]]:
    """The imported players' settings by label; empty if the matches were not imported."""
    specs = {} if evidence.players else specs_of(evidence.store, evidence.study)
    return {label: spec for label, (spec, *_) in specs.items()}


def single_player_runs(evidence: Evidence) -> pl.DataFrame:
    """Return the scored matches of all eight games in which one player fills all seats.

    Columns: ``game``, ``player``, ``configuration``, ``standard`` (whether all varying parameters
    have the paper's values), ``variant`` (the value of :data:`VARIANTS` if it is the only
    difference from the paper), ``instance``, ``repeat``, ``match_id``, ``score`` (0 to 100, or
    null), ``seats`` (the number of seats if the player also plays with others, else null),
    ``treated`` (see :func:`treated`) and ``run``, which numbers instances and repeats from 1.
    """
    parts = [_single_player_matches(evidence, game) for game in evidence.played(list(GAMES))]
    if not parts or (runs := pl.concat(parts)).is_empty():
        raise NoData(
            "no player in all seats has finished a match of GAMA-Bench's games; the preset "
            "gama, with pairing: self, has such matches"
        )
    number = pl.col("instance").str.extract(NUMBER).cast(pl.Int64)
    position = pl.struct(number.fill_null(-1), pl.col("repeat")).rank("dense").over("treated")
    is_treated = pl.col("player").is_in(evidence.once(treated))
    return runs.with_columns(treated=is_treated).with_columns(position.cast(pl.Int64).alias("run"))


def _single_player_matches(evidence: Evidence, game: str) -> pl.DataFrame:
    frame = evidence.scored(game)
    seats = [name for name in frame.columns if name.startswith("player_")]
    labels = pl.concat_list(seats).list.drop_nulls()
    mixed = frame.filter(labels.list.n_unique() > 1).select(labels.alias("met"))
    not_alone = set(mixed.explode("met")["met"])
    frame = frame.filter(labels.list.n_unique() == 1)
    joined = with_matching(frame, _standards(frame, game), "configuration", "m:1")
    return joined.select(
        pl.lit(game).alias("game"),
        pl.coalesce(seats).alias("player"),
        *COLUMNS,
        pl.when(pl.coalesce(seats).is_in(not_alone)).then(labels.list.len()).alias("seats"),
    )


def varied(frame: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """Return the values of varying parameters, by configuration."""
    configurations = parameters_in(frame)
    names = varying(configurations)
    return {key: {name: values[name] for name in names} for key, values in configurations.items()}


def _standards(frame: pl.DataFrame, game: str) -> pl.DataFrame:
    """Whether each configuration has the paper's settings, and the name of its variant."""
    defaults = get_game(game).rules().model_dump(mode="json")
    rows = []
    for key, values in varied(frame).items():
        changed = {name: value for name, value in values.items() if value != defaults.get(name)}
        name = VARIANTS.get(game, "")
        variant = f"{changed[name]} {name}" if [*changed] == [name] else None
        rows.append((key, not changed, variant))
    kinds = {"configuration": pl.String, "standard": pl.Boolean, "variant": pl.String}
    return pl.DataFrame(rows, schema=kinds, orient="row")


def default_players(runs: pl.DataFrame) -> pl.DataFrame:
    """Return the matches of players with default settings or, without such players, all matches."""
    untreated = runs.filter(~pl.col("treated"))
    return runs if untreated.is_empty() else untreated


def default_runs(runs: pl.DataFrame, *, variants: bool = False) -> pl.DataFrame:
    """Return matches with the paper's settings; for games without such matches, return all."""
    included = pl.col("standard") | (pl.col("variant").is_not_null() & pl.lit(variants))
    return runs.filter(included | ~included.any().over("game"))


def scored(evidence: Evidence) -> pl.DataFrame:
    """Return the scored matches of players that fill all seats; raise NoData if there are none."""
    runs = evidence.once(single_player_runs).drop_nulls("score")
    if runs.is_empty():
        raise NoData(
            "no match with one player in all seats has a score; the paper defines none for "
            "second-price auctions, or for pirates who need more than half of the votes"
        )
    return runs


def lead(runs: pl.DataFrame, game: str, player: str) -> Lead | None:
    """Return a link to a player's matches of a game, or None if the runs contain no such match."""
    matches = runs.filter(pl.col("game") == game, pl.col("player") == player)
    if matches.is_empty():
        return None
    sizes = matches["seats"].drop_nulls().unique()
    numbers = range(1, sizes[0] + 1) if len(sizes) == 1 else ()
    seated = {f"player_player_{number}": player for number in numbers} or {"player": player}
    configurations = ",".join(matches["configuration"].unique(maintain_order=True))
    return Lead(game, seated | {"configuration": configurations, "status": "finished"})


def ranked(runs: pl.DataFrame, draws: int, seed: int) -> tuple[pl.DataFrame, list[Margin]]:
    """Rank players by their mean score over all games, with equal weight for each game.

    Instances are resampled game by game, with all matches of players who share an instance. Players
    without all games are omitted. If a player has only one instance of a game, ranges are null and
    leads have no intervals.
    """
    count = runs["game"].n_unique()
    complete = runs.filter(pl.col("game").n_unique().over("player") == count)
    cells = complete.group_by("player", "game", maintain_order=True).agg(
        pl.col("score").mean(), pl.struct(INSTANCES).n_unique().alias("instances")
    )
    if complete["player"].n_unique() < 2 or cells["instances"].eq(1).any():
        single = cells.group_by("player", maintain_order=True).agg(pl.col("score").mean().round(9))
        rank = pl.col("score").rank("min", descending=True).cast(pl.Int64)
        unknown = (pl.lit(None, kind).alias(name) for name, kind in RANKS.items() if name != "rank")
        order = single.sort(-pl.col("score"), "player").rows()
        instances = complete.select("game", *INSTANCES).n_unique()
        leads = [
            Margin(player, order[0][1] - score, None, None, instances, 1, None)
            for player, score in order[1:]
        ]
        return single.select("player", rank.alias("rank"), *unknown), leads
    players = pl.col("player").unique().sort().str.join("\n").over("game", *INSTANCES)
    named = complete.with_columns(players=players)
    ranks, _, leads = ranked_over_games(named, "score", ["configuration", "players"], draws, seed)
    return ranks, leads


def mean_scores(runs: pl.DataFrame) -> pl.DataFrame:
    """Return the mean scores of all players, with one row per game and one row overall.

    Confidence intervals are those of :func:`.mean_intervals`, clustered by instance within
    configurations and limited to possible scores. ``score.spread`` is the sample standard deviation
    over runs. The overall score is the mean of the games' means, for players of all games. The
    overall standard error is the root of the sum of the games' squared errors, divided by the
    number of games, with Welch-Satterthwaite degrees of freedom. The overall spread is over
    complete runs.
    """
    by, count = ["player", "game"], runs["game"].n_unique()
    bounds = {game: {"score": get_game(game).metrics["score"].bounds} for game in GAMES}
    games = pl.concat(
        means(part, ["score"], by, bounds=bounds[str(game)], strata=STRATA)
        for (game,), part in runs.group_by("game", maintain_order=True)
    )
    overall = over_games(games, "score").filter(games=count).drop("games")
    limits = pl.col("score.low", "score.high").clip(0, 100)
    overall = overall.with_columns(limits, game=pl.lit(OVERALL))
    spread = (
        by_run(runs)
        .group_by(by, maintain_order=True)
        .agg(pl.col("score").std().alias("score.spread"))
    )
    combined = with_matching(pl.concat([games, overall], how="diagonal"), spread, by)
    return combined.sort("player", position("game", TITLES))


def by_run(runs: pl.DataFrame) -> pl.DataFrame:
    """Return the scores by player, game and run, and the overall scores of complete runs."""
    run, score = ["player", "run"], pl.col("score").mean()
    single = runs.group_by("player", "game", "run", maintain_order=True).agg(score)
    complete = single.filter(pl.len().over(run) == runs["game"].n_unique())
    overall = complete.group_by(run, maintain_order=True).agg(score, game=pl.lit(OVERALL))
    return pl.concat([single, overall.select(single.columns)])
