"""GAMA-Bench's leaderboard, and scores by run."""

from collections.abc import Iterator, Sequence

import polars as pl

from cheaptalk.papers.gama import scores
from cheaptalk.papers.gama.paper_tables import MODELS, RUNS, in_paper_order, numbered_table, shown
from cheaptalk.papers.gama.rounds import mean_text
from cheaptalk.reports.charts.chart import DASHES, SERIES, Axis, Chart, Line, Mark
from cheaptalk.reports.charts.kinds import Row, dots
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.margins import Margin, first_answer
from cheaptalk.reports.recipes.means import side_by_side, with_ranges
from cheaptalk.reports.recipes.parts import Answer, Charts, Shown
from cheaptalk.reports.recipes.tables import ERROR, Header, ReportTable, estimate
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
MAX_RUN_COLUMNS = 10


def leaderboard(evidence: Evidence) -> Iterator[Shown]:
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
    runs = scores.default_runs(scores.default_players(scores.scored(evidence)))
    means = scores.mean_scores(runs)
    wide = side_by_side(means, "score", "game")
    if scores.OVERALL not in wide.columns:
        wide = wide.with_columns(pl.lit(None, pl.Float64).alias(scores.OVERALL))
    ranks, leads = scores.ranked(runs, evidence.draws, evidence.seed)
    wide = with_matching(wide, ranks, "player")
    if f"{scores.OVERALL}.low" in wide.columns:
        wide = with_ranges(wide, scores.OVERALL)
    wide = wide.sort("rank", "player", nulls_last=True)
    games = [game for game in scores.GAMES if game in set(means["game"])]
    order = wide["player"].to_list()
    yield _first(wide, leads)
    yield Charts(
        "leaderboard",
        "Scores with their intervals",
        [
            _dots(scores.TITLES[game], means.filter(game=game).to_dicts(), order)
            for game in [scores.OVERALL, *games]
            if game in set(means["game"])
        ],
        "One dot per player, with the best overall player on top. 100 is the best possible score "
        "by the paper's formula, such as the equilibrium choice. Whiskers are 95 % confidence "
        "intervals, limited to possible scores; if all runs had the same score, they allow for "
        "unobserved variation.",
    )
    columns = {
        "games": {game: scores.GAMES[game] for game in games},
        "ranks": RANKS if wide["sure"].count() else (),
    }
    yield scores.table(
        evidence, "leaderboard", wide, columns=columns, notes=_notes(evidence, runs, wide)
    )
    yield from _table_1(evidence, means, order)


def _table_1(
    evidence: Evidence, means: pl.DataFrame, order: Sequence[str]
) -> Iterator[ReportTable]:
    """Yield Table 1, with a row per game and a column per model, the paper's models first."""
    models = shown(evidence, order)
    if not models:
        return
    positions = list(MODELS.values())
    ordered = sorted(models.values(), key=lambda model: (*positions, model).index(model))
    headers = [Header(model.key, model.version, "", 1, group=model.family) for model in ordered]
    keys = {label: model.key for label, model in models.items()}
    selected = means.filter(pl.col("player").is_in(list(keys))).select(
        "game",
        pl.col("player").replace_strict(keys),
        "score",
        pl.col("score.spread").alias(f"score{ERROR}"),
    )
    wide = in_paper_order(side_by_side(selected, "score", "player"))
    yield scores.table(evidence, "table-1", wide, columns={"models": headers})


def _dots(title: str, rows: Sequence[Row], order: Sequence[str]) -> Chart:
    """Plot the mean scores of players, in the given order from the top."""
    ordered = sorted(rows, key=lambda row: order.index(row["player"]))
    names, texts = [row["player"] for row in ordered], list(map(mean_text, ordered))
    percent = all(0 <= row["score"] <= 100 for row in rows)
    axis = Axis(ends=(0, 100)) if percent else Axis()
    return dots(title, UNIT, names, ordered, "score", texts, axis=axis)


def _notes(evidence: Evidence, runs: pl.DataFrame, wide: pl.DataFrame) -> Iterator[str]:
    """Yield notes on differences from the paper, such as missing games or other settings."""
    present = [game for game in scores.GAMES if game in set(runs["game"])]
    if absent := [scores.GAMES[game] for game in scores.GAMES if game not in present]:
        yield f"The overall score is the mean of the games played. Missing: {', '.join(absent)}."
    if partial := wide.filter(pl.col(scores.OVERALL).is_null())["player"].to_list():
        yield f"Not ranked, because they did not play every game: {', '.join(partial)}."
    for game in present:
        own, title = runs.filter(pl.col("game") == game), scores.GAMES[game]
        if not own["standard"].any():
            yield f"{title}: all {own['configuration'].n_unique()} settings count equally."
    if separate := set(evidence.once(scores.treated)) - set(runs["player"]):
        yield f"Recorded experiments have separate tables: {counted(len(separate), 'player')}."
    settings = {game: scores.varied(evidence.scored(game)) for game in present}
    for game, values_by_setting in settings.items():
        selected = set(runs.filter(pl.col("game") == game)["configuration"])
        if len(values_by_setting) > len(selected) == 1:
            values = values_by_setting[selected.pop()].items()
            setting = readable({plain(name): value for name, value in values})
            yield f"{scores.GAMES[game]}: with {setting}."


def _first(wide: pl.DataFrame, leads: Sequence[Margin]) -> Answer:
    ranked = wide.drop_nulls(scores.OVERALL)
    if ranked.is_empty():
        return Answer("No player has played all games, so that there is no overall ranking.")
    first, *others = ranked.rows(named=True)
    if not others:
        scored = (
            f"{fixed(first[scores.OVERALL], 1)} of 100{estimate(first, scores.OVERALL).within(1)}"
        )
        return Answer(f"{first['player']} has {scored}; no other player has played all games.")
    standing = f"with {fixed(first[scores.OVERALL], 1)} of 100"
    return first_answer(ranked, scores.OVERALL, leads, standing, 1)


def runs_apart(evidence: Evidence) -> Iterator[Shown]:
    """Report each player's scores by run, with mean, confidence interval and spread.

    A run is one instance and repeat of each game; the overall score of a run is the mean over
    games. The spread is the sample standard deviation over runs, which the paper prints after ±.
    """
    runs = scores.default_runs(scores.default_players(scores.scored(evidence)))
    means = scores.mean_scores(runs)
    numbers = [f"run {number}" for number in sorted(runs["run"].unique())]
    single = scores.by_run(runs)
    wide = single.with_columns(pl.format("run {}", "run").alias("run")).pivot(
        "run", index=["player", "game"], values="score"
    )
    frame = (
        with_matching(means, wide, ["player", "game"])
        .with_columns(pl.col("game").replace_strict(scores.TITLES).alias("title"))
        .select("title", "player", "game", pl.col("^score.*$"), *numbers)
    )
    note = (
        f"The first {MAX_RUN_COLUMNS} of {len(numbers)} runs; the exported files contain all runs."
    )
    yield scores.table(
        evidence,
        "scores-by-run",
        frame,
        columns={"runs": {name: name.capitalize() for name in numbers[:MAX_RUN_COLUMNS]}},
        notes=[note] * (len(numbers) > MAX_RUN_COLUMNS),
        leads=lambda row: scores.lead(runs, row["game"], row["player"]),
    )
    yield from _tables_of_runs(evidence, means, single)
    panels = []
    for game in scores.TITLES:
        played = single.filter(game=game)
        layers = []
        for index, player in enumerate(played["player"].unique().sort()):
            points = played.filter(player=player).sort("run").select("run", "score").rows()
            marks = [
                Mark(run, score, f"{player}, run {run}: {fixed(score, 1)}") for run, score in points
            ]
            layers.append(Line(marks, player, index, DASHES[index // SERIES % len(DASHES)]))
        if layers:
            panels.append(Chart(scores.TITLES[game], UNIT, layers, Axis("run", integer=True)))
    yield Charts("runs", "Scores by run", panels, "One line per player.")


def _tables_of_runs(
    evidence: Evidence, means: pl.DataFrame, by_run: pl.DataFrame
) -> Iterator[ReportTable]:
    """Yield Tables 4, 10, 14 and 18: each player's scores by game and run, with mean and spread."""
    ranked = means.filter(game=scores.OVERALL)["player"].to_list()
    for label, model in shown(evidence, ranked).items():
        played = by_run.filter(player=label)
        numbers = sorted(played["run"].unique())[:RUNS]
        wide = played.filter(pl.col("run").is_in(numbers)).select(
            "game", pl.format("run {}", "run").alias("run"), "score"
        )
        average = {"average": "score", f"average{ERROR}": "score.spread"}
        frame = with_matching(
            side_by_side(wide, "score", "run"),
            means.filter(player=label).select("game", **average),
            "game",
        )
        titles = {
            f"run {number}": f"T{number}" + " (Default)" * (number == 1) for number in numbers
        }
        columns = {"runs": titles}
        yield numbered_table(evidence, "runs", model, label, in_paper_order(frame), columns=columns)
