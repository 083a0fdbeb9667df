"""GAMA-Bench's leaderboard, and scores by run."""

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
    table,
    treated,
    varied,
)
from cheaptalk.reports.charts.chart import DASHES, SERIES, Axis, Chart, Line, Mark
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.margins import Margin, first_answer
from cheaptalk.reports.recipes.means import side_by_side, with_ranges
from cheaptalk.reports.recipes.parts import Answer, Charts
from cheaptalk.reports.recipes.tables import Header, ReportTable, estimate
from cheaptalk.rules import counted
from cheaptalk.statistics.columns import with_matching
from cheaptalk.text import fixed, plain, readable

UNIT = "0 to 100"
SIMULTANEOUS = (
    "Ranks with simultaneous 95 % confidence for all players, from differences of means with "
    "Bonferroni-corrected intervals for all pairs (Mogstad, Romano, Shaikh and Wilhelm 2024)."
)
RANKS = (
    Header("first", "Best", "of draws", 2, "The share of draws in which the player is best."),
    Header("sure", "Simultaneous ranks", "95 %", about=SIMULTANEOUS),
)
SHOWN_RUNS = 10
"""The maximum number of columns for runs."""


def leaderboard(evidence: Evidence) -> Iterator[Answer | ReportTable | Charts]:
    """Report the scores of players that fill all seats, with the paper's default settings.

    If matches of a game have different settings, only matches with the paper's settings count. If
    there are none, all settings count, with a note. In imported data, the paper's experiments are
    reported separately.

    Scores are means over runs, with 95 % confidence intervals clustered by instance (CR1, Student's
    t) and limited to possible scores. The overall score is the mean of the games' means, with an
    interval from the games' standard errors (Welch-Satterthwaite). If a player's score in one game
    never varied, the overall score has no interval and no range of ranks. Ranges of ranks contain
    the rank in 95 % of bootstrap draws of instances. With five instances per game, these ranges are
    slightly too narrow.
    """
    runs = default_runs(default_players(scored(evidence)))
    means = scores(runs)
    wide = side_by_side(means, "score", "game")
    if OVERALL not in wide.columns:
        wide = wide.with_columns(pl.lit(None, pl.Float64).alias(OVERALL))
    ranks, leads = ranked(runs, evidence.draws, evidence.seed)
    wide = with_matching(wide, ranks, "player")
    if f"{OVERALL}.low" in wide.columns:
        wide = with_ranges(wide, OVERALL)
    wide = wide.sort("rank", "player", nulls_last=True)
    games = [game for game in GAMES if game in set(means["game"])]
    order = wide["player"].to_list()
    yield _first(wide, leads)
    yield Charts(
        "leaderboard",
        "Scores with their intervals",
        [
            dots(TITLES[game], UNIT, means.filter(game=game).to_dicts(), order)
            for game in [OVERALL, *games]
            if game in set(means["game"])
        ],
        "One dot per player, with the best overall player on top. 100 is the best possible score "
        "by the paper's formula, such as the equilibrium choice. Whiskers are 95 % confidence "
        "intervals, limited to possible scores; if all runs had the same score, they allow for "
        "unobserved variation.",
    )
    columns = {
        "games": {game: GAMES[game] for game in games},
        "ranks": RANKS if wide["sure"].count() else (),
    }
    yield table(evidence, "leaderboard", wide, columns=columns, notes=_notes(evidence, runs, wide))
    yield from paper_tables.leaderboard(evidence, means, order)


def _notes(evidence: Evidence, runs: pl.DataFrame, wide: pl.DataFrame) -> Iterator[str]:
    """Yield notes on differences from the paper, such as missing games or other settings."""
    present = [game for game in GAMES if game in set(runs["game"])]
    if absent := [GAMES[game] for game in GAMES if game not in present]:
        yield f"The overall score is the mean of the games played. Missing: {', '.join(absent)}."
    if partial := wide.filter(pl.col(OVERALL).is_null())["player"].to_list():
        yield f"Not ranked, because they did not play every game: {', '.join(partial)}."
    for game in present:
        own = runs.filter(pl.col("game") == game)
        if not own["standard"].any():
            yield f"{GAMES[game]}: all {own['configuration'].n_unique()} settings count equally."
    if separate := set(evidence.once(treated)) - set(runs["player"]):
        yield f"Recorded experiments have separate tables: {counted(len(separate), 'player')}."
    settings = {game: varied(evidence.scored(game)) for game in present}
    for game, values_by_setting in settings.items():
        selected = set(runs.filter(pl.col("game") == game)["configuration"])
        if len(values_by_setting) > len(selected) == 1:
            values = values_by_setting[selected.pop()].items()
            yield f"{GAMES[game]}: with {readable({plain(name): value for name, value in values})}."


def _first(wide: pl.DataFrame, leads: Sequence[Margin]) -> Answer:
    ranked = wide.drop_nulls(OVERALL)
    if ranked.is_empty():
        return Answer("No player has played all games, so that there is no overall ranking.")
    first, *others = ranked.rows(named=True)
    if not others:
        scored = f"{fixed(first[OVERALL], 1)} of 100{estimate(first, OVERALL).within(1)}"
        return Answer(f"{first['player']} has {scored}; no other player has played all games.")
    standing = f"with {fixed(first[OVERALL], 1)} of 100"
    return first_answer(ranked, OVERALL, leads, standing, 1)


def runs_apart(evidence: Evidence) -> Iterator[ReportTable | Charts]:
    """Report each player's scores by run, with mean, confidence interval and spread.

    A run is one instance and repeat of each game; the overall score of a run is the mean over
    games. The spread is the sample standard deviation over runs, which the paper prints after ±.
    """
    runs = default_runs(default_players(scored(evidence)))
    means = scores(runs)
    numbers = [f"run {number}" for number in sorted(runs["run"].unique())]
    single = by_run(runs)
    wide = single.with_columns(pl.format("run {}", "run").alias("run")).pivot(
        "run", index=["player", "game"], values="score"
    )
    frame = (
        with_matching(means, wide, ["player", "game"])
        .with_columns(pl.col("game").replace_strict(TITLES).alias("title"))
        .select("title", "player", "game", pl.col("^score.*$"), *numbers)
    )
    note = f"The first {SHOWN_RUNS} of {len(numbers)} runs; the exported files contain all runs."
    yield table(
        evidence,
        "scores-by-run",
        frame,
        columns={"runs": {name: name.capitalize() for name in numbers[:SHOWN_RUNS]}},
        notes=[note] * (len(numbers) > SHOWN_RUNS),
        leads=lambda row: lead(runs, row["game"], row["player"]),
    )
    yield from paper_tables.runs(evidence, means, single)
    panels = []
    for game in TITLES:
        played = single.filter(game=game)
        layers = []
        for index, player in enumerate(played["player"].unique().sort()):
            points = played.filter(player=player).sort("run").select("run", "score").rows()
            marks = [
                Mark(run, score, f"{player}, run {run}: {fixed(score, 1)}") for run, score in points
            ]
            layers.append(Line(marks, player, index, DASHES[index // SERIES % len(DASHES)]))
        if layers:
            panels.append(Chart(TITLES[game], UNIT, layers, Axis("run", integer=True)))
    yield Charts("runs", "Scores by run", panels, "One line per player.")
