"""Who plays best: GAMA-Bench's leaderboard, and what it is made of run by run."""

from collections.abc import Iterator, Sequence

import polars as pl

from cheaptalk.papers.gama import paper_tables
from cheaptalk.papers.gama.charts import dots
from cheaptalk.papers.gama.scores import (
    GAMES,
    OVERALL,
    TITLES,
    by_run,
    default_players,
    default_runs,
    lead,
    ranked,
    scored,
    scores,
    treated,
    varied,
)
from cheaptalk.reports.charts.chart import DASHES, SERIES, Axis, Chart, Line, Mark
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.margins import Margin
from cheaptalk.reports.recipes.means import side_by_side, with_told_ranges
from cheaptalk.reports.recipes.parts import Answer, Charts
from cheaptalk.reports.recipes.standings import first_answer
from cheaptalk.reports.recipes.tables import Header, ReportTable, estimate
from cheaptalk.rules import counted
from cheaptalk.text import fixed, plain, readable

UNIT = "0 to 100"
SURE = (
    "Ranks that hold for all players together with 95 % confidence: by differences of means whose "
    "intervals hold for all pairs at once (Bonferroni; Mogstad, Romano, Shaikh and Wilhelm 2024)."
)
SURE_COLUMNS = (
    Header("first", "Best", "of draws", 2, "The share of draws in which it is best."),
    Header("sure", "Ranks at once", "95 %", about=SURE),
)
SHOWN_RUNS = 10
"""Runs up to which each has a column of its own."""


def leaderboard(evidence: Evidence) -> Iterator[Answer | ReportTable | Charts]:
    """Scores of players who sit alone at their tables, in the paper's default settings.

    Where a game was played in several settings and one of them is the paper's, only that one
    counts; else all do, and a note says so. Of imported games, the paper's experiments stand
    apart. Each score is a mean over runs, with a 95 % interval clustered by deal (CR1, Student's t)
    and cut to what a score can be. Overall is the mean of the games' means, its interval by Welch
    and Satterthwaite from the games' errors; over games of which one never varied for a player
    there is none, and no range of ranks. Behind a rank stand the ranks that the player has in 95 %
    of bootstrap draws over deals, game by game; with five deals of a game these are a little too
    sure.
    """
    runs = default_runs(default_players(scored(evidence)))
    found = scores(runs)
    wide = side_by_side(found, "score", "game")
    if OVERALL not in wide.columns:
        wide = wide.with_columns(pl.lit(None, pl.Float64).alias(OVERALL))
    ranks, leads = ranked(runs, evidence.draws, evidence.seed)
    wide = wide.join(ranks, on="player", how="left", maintain_order="left", validate="1:1")
    if f"{OVERALL}.low" in wide.columns:
        wide = with_told_ranges(wide, OVERALL)
    wide = wide.sort("rank", "player", nulls_last=True)
    games = [game for game in GAMES if game in set(found["game"])]
    order = wide["player"].to_list()
    yield _first(wide, leads)
    yield Charts(
        "leaderboard", "Scores with their intervals",
        [dots(TITLES[game], UNIT, found.filter(game=game).to_dicts(), order)
         for game in [OVERALL, *games] if game in set(found["game"])],
        "A dot a player, the best overall on top. 100 is what the paper's formula of each game "
        "takes for best, such as the equilibrium's choice. Whiskers are 95 % intervals, and end "
        "where scores do; where all runs were alike they tell what may have gone unseen.",
    )  # fmt: skip
    yield ReportTable(
        "leaderboard", "Leaderboard", wide,
        (
            Header("player", "Player"),
            Header("rank", "Rank", "", 0),
            Header(OVERALL, TITLES[OVERALL], UNIT, 1),
            *(Header(game, GAMES[game], UNIT, 1) for game in games),
            *(SURE_COLUMNS if wide["sure"].count() else ()),
        ),
        notes=tuple(_notes(evidence, runs, wide)),
    )  # fmt: skip
    yield from paper_tables.leaderboard(evidence, found, order)


def _notes(evidence: Evidence, runs: pl.DataFrame, wide: pl.DataFrame) -> Iterator[str]:
    """What is not as in the paper: games that are missing, players without all games, settings."""
    present = [game for game in GAMES if game in set(runs["game"])]
    if absent := [GAMES[game] for game in GAMES if game not in present]:
        yield f"Overall is the mean of the games played. Not played: {', '.join(absent)}."
    if partial := wide.filter(pl.col(OVERALL).is_null())["player"].to_list():
        yield f"Not ranked, since a game that others played is missing: {', '.join(partial)}."
    for game in present:
        own = runs.filter(pl.col("game") == game)
        if not own["standard"].any():
            yield f"{GAMES[game]}: all {own['configuration'].n_unique()} settings count alike."
    if apart := set(evidence.once(treated)) - set(runs["player"]):
        yield f"Recorded experiments have tables of their own: {counted(len(apart), 'player')}."
    settings = {game: varied(evidence.scored(game)) for game in present}
    for game, by in settings.items():
        chosen = set(runs.filter(pl.col("game") == game)["configuration"])
        if len(by) > len(chosen) == 1:
            values = {plain(name): value for name, value in by[chosen.pop()].items()}
            yield f"{GAMES[game]}: with {readable(values)}."


def _first(wide: pl.DataFrame, leads: Sequence[Margin]) -> Answer:
    """Who is first over all games, and whether its rank is sure."""
    ranked = wide.drop_nulls(OVERALL)
    if ranked.is_empty():
        return Answer("Who is first cannot be told: nobody has played all games that others have.")
    first, *others = ranked.rows(named=True)
    if not others:
        scored = f"{fixed(first[OVERALL], 1)} of 100{estimate(first, OVERALL).within(1)}"
        return Answer(f"{first['player']} has {scored}, and nobody else has played all games.")
    standing = f"with {fixed(first[OVERALL], 1)} of 100"
    return first_answer(ranked, OVERALL, leads, standing, 1)


def runs_apart(evidence: Evidence) -> Iterator[ReportTable | Charts]:
    """Each player's score in each run, with mean, interval and spread.

    A run is one deal (and repeat) of each game; overall, a run's score is the mean over its games.
    The spread is the sample standard deviation over runs, the paper's figure behind ±.
    """
    runs = default_runs(default_players(scored(evidence)))
    found = scores(runs)
    numbers = [f"run {number}" for number in sorted(runs["run"].unique())]
    single = by_run(runs)
    wide = single.with_columns(pl.format("run {}", "run").alias("run")).pivot(
        "run", index=["player", "game"], values="score"
    )  # fmt: skip
    frame = (
        found.join(wide, on=["player", "game"], how="left", maintain_order="left", validate="1:1")
        .with_columns(pl.col("game").replace_strict(TITLES).alias("title"))
        .select("title", "player", "game", pl.col("^score.*$"), *numbers)
    )
    columns = (
        Header("title", "Game"), Header("player", "Player"),
        Header("score", "Mean", UNIT, 1), Header("score.spread", "Spread", "s.d. over runs", 1),
        *(Header(name, name.capitalize(), "", 1) for name in numbers[:SHOWN_RUNS]),
    )  # fmt: skip
    more = f"The first {SHOWN_RUNS} of {len(numbers)} runs; the frame and the files hold all."
    yield ReportTable(
        "scores-by-run", "Scores by run", frame, columns,
        notes=(more,) if len(numbers) > SHOWN_RUNS else (),
        leads=lambda row: lead(runs, row["game"], row["player"]),
    )  # fmt: skip
    yield from paper_tables.runs(evidence, found, single)
    yield Charts(
        "runs", "Scores by run",
        [_run_panel(game, single.filter(game=game)) for game in TITLES
         if game in set(single["game"])],
        "A line a player.",
    )  # fmt: skip


def _run_panel(game: str, single: pl.DataFrame) -> Chart:
    """A game's scores by run, a line a player."""
    layers = []
    for place, player in enumerate(single["player"].unique().sort()):
        own = single.filter(player=player).sort("run").select("run", "score").rows()
        marks = [Mark(run, score, f"{player}, run {run}: {fixed(score, 1)}") for run, score in own]
        layers.append(Line(marks, player, place, DASHES[place // SERIES % len(DASHES)]))
    return Chart(TITLES[game], UNIT, layers, Axis("run", whole=True))
