"""Participants of chip trading: learning between games, and survey answers."""

from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any, Literal

import polars as pl
from scipy import stats

from cheaptalk.atomic_files import read_whole
from cheaptalk.frames.people import read_plays, read_survey_answers
from cheaptalk.judges import answer_verdicts
from cheaptalk.papers.chips.games import GAME, Games, games, paper_game, table
from cheaptalk.reports.charts.chart import Axis, Chart, Mark, Points
from cheaptalk.reports.charts.kinds import HIGH, LOW, bars, ends
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import PARTS, means, side_by_side
from cheaptalk.reports.recipes.parts import Charts, NoData, Shown
from cheaptalk.reports.recipes.people import with_people
from cheaptalk.reports.recipes.tables import ERROR, Header, ReportTable, finite
from cheaptalk.rules import SHARE, CheaptalkError
from cheaptalk.statistics import StatisticsError, correlation, mean_intervals, permutation_test
from cheaptalk.statistics.columns import with_matching

OPTION = "survey"
ABOUT = (
    "a CSV file of survey answers, with a row per participant and game: participant, match_id, "
    "seat; numeric columns are scales, theme.NAME is yes or no, other columns are free text"
)
KEYS = ("participant", "match_id", "seat")
THEME = "theme."
RUBRIC = "theme-"
"""The prefix of names of rubrics that code themes."""
YES = ("1", "true", "yes")
NO = ("0", "false", "no")
MEASURES = ("ratio", "gain")
GROUP = ("match_id",)
"""Participants of the same first game influence each other and form one cluster."""


@dataclass(frozen=True, eq=False)
class Survey:
    """The participants of a study, their games and their answers.

    Attributes:
        source: the file of the answers, or "the survey".
        games: one row per participant and game, in the order of play (of the end of games if
            answers come from a file): ``participant``, ``stage`` (1 for the first game),
            ``match_id``, ``variant``, ``ratio`` (surplus over bound), ``gain`` (the participant's
            earnings, in dollars), ``share`` (gain over bound; null if the bound is 0).
        people: one row per participant with answers: ``participant``, ``match_id`` and ``variant``
            of the first game, ``share`` (mean over all games), scales and themes.
        scales, themes: columns of ``people``; themes are 1 or 0.
    """

    source: str
    games: pl.DataFrame
    people: pl.DataFrame
    scales: tuple[str, ...]
    themes: tuple[str, ...]


def survey(evidence: Evidence) -> Survey:
    """Return participants' answers, or those in the file of the option ``survey``."""
    path = evidence.options.get(OPTION)
    if path is not None:
        data, answers = evidence.once(games), _answers(Path(path))
        _check(answers, data, path)
        end = pl.coalesce("ended_at", "imported_at")
        finished = evidence.scored(GAME).select("match_id", at=end)
        seats = with_matching(answers.select(KEYS), finished, "match_id", "m:1")
        texts = answers.select(pl.exclude("match_id", "seat"))
        names = [name for name in texts.columns if name != "participant"]
        kinds = {name: _numbers(texts[name], path) for name in names}
        numbers = {name: values for name, values in kinds.items() if values is not None}
        answered = texts.select("participant").with_columns(**numbers)
        unique = answered.unique("participant", keep="first", maintain_order=True)
        return _survey(evidence, path, seats, unique)
    if not with_people(evidence):
        raise NoData(
            "the study has no participants; let people play the preset chip-trading-human, or add "
            "answers with the recipe option survey=FILE.csv (--recipe-option in commands), a file "
            "with a row per participant and game: participant, match_id, seat and the answers"
        )
    store, study, data = evidence.store, evidence.study, evidence.once(games)
    played = read_plays(store, study).filter(game=GAME).select(*KEYS, at="number")
    if played.join(data.matches, on="match_id", how="semi").is_empty():
        raise NoData(f"no participant has finished a game of {GAME}")
    numeric = read_survey_answers(store, study).select("participant", pl.selectors.numeric())
    coded = with_matching(numeric, _themes(answer_verdicts(store, study)), "participant")
    return _survey(evidence, "the survey", played, coded)


def _themes(verdicts: pl.DataFrame) -> pl.DataFrame:
    """Participants' themes, coded for each rubric by the judge with the most verdicts."""
    coded = verdicts.filter(pl.col("rubric").str.starts_with(RUBRIC)).drop_nulls("score")
    counts = coded.group_by("rubric", "judge", maintain_order=True).len()
    ordered = counts.sort("len", maintain_order=True)
    judges = ordered.unique("rubric", keep="last", maintain_order=True).sort("rubric")
    people = coded.select("participant").unique(maintain_order=True)
    for rubric, judge in judges.select("rubric", "judge").iter_rows():
        name = THEME + rubric.removeprefix(RUBRIC).replace("-", "_")
        rows = coded.filter(rubric=rubric, judge=judge)
        theme = rows.group_by("participant", maintain_order=True).agg(pl.max("score").alias(name))
        people = with_matching(people, theme, "participant")
    return people


def _survey(evidence: Evidence, source: str, seats: pl.DataFrame, answers: pl.DataFrame) -> Survey:
    """Participants' numeric answers, and their seats in chronological order."""
    scored = evidence.scored(GAME).select("match_id", pl.col("^payoff_.*$"))
    paid = scored.rename(lambda name: name.removeprefix("payoff_")).unpivot(
        index="match_id", variable_name="seat", value_name="gain"
    )
    matches = evidence.once(games).matches.select("match_id", "variant", "bound", "ratio")
    own = (
        seats.join(matches, on="match_id", validate="m:1", maintain_order="left")
        .join(paid, on=["match_id", "seat"], validate="m:1", maintain_order="left")
        .with_columns(share=pl.when(pl.col("bound") > 0).then(pl.col("gain") / pl.col("bound")))
        .sort("participant", "at", "match_id")
        .with_columns(stage=pl.int_range(1, pl.len() + 1).over("participant"))
    )
    firsts = own.filter(stage=1).select("participant", "match_id", "variant")
    shares = own.group_by("participant", maintain_order=True).agg(pl.col("share").mean())
    people = with_matching(with_matching(firsts, shares, "participant"), answers, "participant")
    names = [name for name in answers.columns if name != "participant"]
    themes = tuple(name for name in names if name.startswith(THEME))
    scales = tuple(name for name in names if name not in themes)
    return Survey(source, own, people, scales, themes)


def _answers(path: Path) -> pl.DataFrame:
    try:
        table = pl.read_csv(StringIO(read_whole(path)), infer_schema=False)
    except OSError as error:
        raise CheaptalkError(f"cannot read {path}: {error.strerror or error}") from error
    except (pl.exceptions.PolarsError, UnicodeDecodeError) as error:
        raise CheaptalkError(f"{path} is not a valid CSV file: {error}") from error
    absent = [name for name in KEYS if name not in table.columns]
    if absent:
        raise CheaptalkError(f"{path} has no column {', '.join(absent)}")
    return table.with_columns(pl.col(pl.String).str.strip_chars().replace("", None))


def _check(answers: pl.DataFrame, data: Games, path: str) -> None:
    sizes = dict(data.matches.select("match_id", "players").iter_rows())
    rows = answers.select(KEYS).iter_rows()
    for line, (participant, match, seat) in enumerate(rows, 2):
        if participant is None:
            raise CheaptalkError(f"{path}, line {line}: the participant is missing")
        if match not in sizes:
            raise CheaptalkError(
                f'{path}, line {line}: "{match}" is not a finished game of chip_trading in this '
                "study"
            )
        if seat not in {f"player_{number}" for number in range(1, sizes[match] + 1)}:
            raise CheaptalkError(
                f'{path}, line {line}: match {match} has no seat "{seat}"; expected player_1 to '
                f"player_{sizes[match]}"
            )
    for key in (["match_id", "seat"], ["participant", "match_id"]):
        duplicates = answers.filter(pl.struct(key).is_duplicated())
        if duplicates.height:
            named = " and ".join(f"{name} {duplicates[name][0]}" for name in key)
            raise CheaptalkError(f"{path}: more than one row has {named}")


def _numbers(answers: pl.Series, path: str) -> pl.Series | None:
    """Survey answers as numbers; None if they are free text or all missing."""
    if answers.null_count() == len(answers):
        return None
    if answers.name.startswith(THEME):
        lower = answers.str.to_lowercase()
        invalid = answers.filter(~lower.is_in([*YES, *NO]).fill_null(True))
        if len(invalid):
            raise CheaptalkError(
                f'{path}: {answers.name} contains "{invalid[0]}"; expected {", ".join(YES)}, '
                f"{', '.join(NO)}"
            )
        return lower.is_in(YES).cast(pl.Float64)
    numbers = answers.cast(pl.Float64, strict=False)
    is_scale = numbers.null_count() == answers.null_count()
    return numbers if is_scale and numbers.drop_nulls().is_finite().all() else None


def title(name: str) -> str:
    """Return a readable name, such as "Profit maximisation" for ``theme.profit_maximisation``."""
    return name.removeprefix(THEME).replace("_", " ").capitalize()


def figure_11(evidence: Evidence) -> Iterator[Shown]:
    """Compare the first and the second game of participants who played two games of the same kind.
    The table shows the share of the bound, the participant's payment, and the difference between
    the second and the first game. Intervals are clustered by first game. p is the p-value of a
    two-sided paired permutation test of cluster means. If answers come from a file, games are
    ordered by their end.
    """
    data = evidence.once(survey)
    pairs = _two_games(data)
    if pairs.is_empty():
        raise NoData("no participant of the survey has finished two games of the same kind")
    values = [f"{when}_{key}" for key in MEASURES for when in ("first", "second", "learnt")]
    groups = pairs.group_by("variant", maintain_order=True)
    tested = [{"variant": name, "p": _p(group, evidence)} for (name,), group in groups]
    frame = means(pairs, values, ["variant"], cluster=GROUP)
    for part in (groups.agg(pl.len().alias("people")), pl.DataFrame(tested)):
        frame = with_matching(frame, part, "variant")
    lines = [
        Points(
            [
                Mark(row[key], name, f"{label}, {name}: {row[key]:.1%}", x_ends=ends(row, key))
                for row in frame.iter_rows(named=True)
                for name in [row["variant"]]
            ],
            label,
            tone,
        )
        for tone, (key, label) in enumerate(
            (("first_ratio", "first game"), ("second_ratio", "second game"))
        )
    ]
    across = Axis("surplus over its bound", percent=True, zero=True)
    names = Axis(names=tuple(frame["variant"]))
    shown = table(evidence, "learning", frame)
    yield Charts(
        "learning",
        "Share of the bound in the first and the second game",
        [Chart("First and second game", "", lines, across, names)],
        shown.caption,
    )
    yield shown


def _two_games(data: Survey) -> pl.DataFrame:
    played = data.games.drop_nulls("ratio").group_by("participant", "variant", maintain_order=True)
    values = pl.col(MEASURES)
    pairs = played.agg(
        pl.col("match_id").first(),
        values.get(0, null_on_oob=True).name.prefix("first_"),
        values.get(1, null_on_oob=True).name.prefix("second_"),
    ).drop_nulls("second_ratio")
    learnt = ((pl.col(f"second_{k}") - pl.col(f"first_{k}")).alias(f"learnt_{k}") for k in MEASURES)
    return pairs.with_columns(learnt).sort("variant", "participant")


def _p(pairs: pl.DataFrame, evidence: Evidence) -> float:
    ratios = pl.col("second_ratio", "first_ratio").mean()
    groups = pairs.group_by(GROUP, maintain_order=True).agg(ratios).sort(GROUP)
    second, first = (groups[name].to_numpy() for name in ("second_ratio", "first_ratio"))
    draws, seed = evidence.draws, evidence.seed
    return permutation_test(second, first, paired=True, draws=draws, seed=seed).p


def table_1(evidence: Evidence) -> Iterator[ReportTable]:
    """Report the mean answer on each survey scale.
    Standard errors are clustered by game. The Kruskal-Wallis test (1952) compares the ranks of
    answers between games with different numbers of colours, and treats participants as independent.
    """
    data = evidence.once(survey)
    if not data.scales:
        raise NoData(f"{data.source} has no scale: no column contains only numbers")
    scales = [name for name in data.scales if data.people[name].count()]
    if not scales:
        raise NoData(f"{data.source} has no answer of a participant whose match counts")
    cells = mean_intervals(data.people, scales, ["variant"], cluster=GROUP).sort("variant")
    parts = {part: f"answer{end}" for part, end in PARTS.items() if end not in (LOW, HIGH)}
    named = cells.select("metric", "variant", *parts).rename(parts)
    wide = side_by_side(named, "answer", "variant")
    tests = [(name, title(name), _kruskal(data.people, name)) for name in scales]
    schema = {"metric": pl.String, "scale": pl.String, "p": pl.Float64}
    tested = pl.DataFrame(tests, schema=schema, orient="row")
    frame = with_matching(tested, wide, "metric").drop("metric")
    variants = {name: name for name in cells["variant"].unique(maintain_order=True)}
    yield table(evidence, "survey", frame, columns={"variants": variants})
    rows: dict[str, dict[str, Any]] = {}
    for row in cells.iter_rows(named=True):
        means_of_game = rows.setdefault(row["variant"], {"variant": paper_game(row["variant"])})
        means_of_game |= {row["metric"]: row["mean"], f"{row['metric']}{ERROR}": row["error"]}
    by_game = pl.DataFrame(list(rows.values()), infer_schema_length=None)
    titles = {name: title(name) for name in scales}
    yield table(evidence, "table-1", by_game, columns={"scales": titles})


def _kruskal(people: pl.DataFrame, scale: str) -> float | None:
    answered = people.drop_nulls(scale)
    groups = [group[scale].to_numpy() for group in answered.partition_by("variant")]
    if len(groups) < 2 or answered[scale].n_unique() < 2:
        return None
    return finite(float(stats.kruskal(*groups).pvalue))


def figure_9(evidence: Evidence) -> Iterator[Shown]:
    """Count the participants who mention each theme when they describe their strategy.
    An answer can have several themes, so shares can add up to more than 1.
    """
    data = evidence.once(survey)
    themes = data.themes
    if not themes:
        sources = evidence.sources
        study = next((name for name in sources if sources[name].get("people")), evidence.study)
        method = (
            "a judge or by hand, in columns theme.NAME"
            if OPTION in evidence.options
            else f"cheaptalk judge run {study} --rubric theme-profit --model MODEL"
        )
        raise NoData(f"{data.source} has no coded themes; code free-text answers with {method}")
    pooled = data.people.with_columns(variant=pl.lit("all"))
    people = pl.concat([pooled, data.people.sort("variant")])
    cells = means(people, themes, ["variant"], cluster=GROUP, bounds=dict.fromkeys(themes, SHARE))
    mentions = pl.col(themes).sum().cast(pl.Int64).name.suffix(" people")
    counts = people.group_by("variant", maintain_order=True).agg(pl.len().alias("people"), mentions)
    frame = with_matching(counts, cells, "variant")
    first = frame.row(0, named=True)
    lengths, headers = [], []
    order = sorted(themes, key=lambda theme: first[f"{theme} people"])[::-1]
    for row, theme in enumerate(order):
        number, name = first[f"{theme} people"], title(theme)
        text = f"{name}: {number}, {first[theme]:.0%} of {first['people']} people"
        lengths.append((row, 0.0, number, text))
        headers += [Header(f"{theme} people", name, "people", 0), Header(theme, name, "share", 3)]
    names = tuple(map(title, order))
    across = Axis("people", zero=True, integer=True)
    chart = Chart("Participants by theme", "", [bars(lengths)], across, Axis(names=names))
    yield Charts("themes", "Participants by theme", [chart])
    yield table(evidence, "themes", frame, columns={"themes": headers})


def performance(evidence: Evidence) -> Iterator[ReportTable]:
    """Correlate participants' survey answers with their earnings.
    Earnings are the participant's payment over the bound of the game, averaged over the
    participant's games. The correlation is Spearman's for scales and Pearson's for themes (1 for
    yes, 0 for no). Intervals are bootstrapped over first games.
    """
    data = evidence.once(survey)
    kinds: dict[str, Literal["pearson", "spearman"]] = {
        **dict.fromkeys(data.scales, "spearman"),
        **dict.fromkeys(data.themes, "pearson"),
    }
    if not kinds:
        raise NoData(f"{data.source} has no scales or themes")
    rows, notes = [], []
    for name, method in kinds.items():
        draws, seed = evidence.draws, evidence.seed
        try:
            result = correlation(
                data.people, name, "share", method=method, cluster=GROUP, draws=draws, seed=seed
            )
        except StatisticsError as error:
            notes.append(f"{title(name)}: {error}.")
            continue
        values = (result.estimate, result.low, result.high, result.n)
        rows.append((title(name), method.capitalize(), *values))
        notes += [f"{title(name)}: {note}." for note in result.notes]
    if not rows:
        raise NoData(" ".join(notes))
    numbers = [f"correlation{end}" for end in ("", LOW, HIGH)]
    texts = dict.fromkeys(("answer", "method"), pl.String)
    schema = texts | dict.fromkeys(numbers, pl.Float64) | {"correlation.n": pl.Int64}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    yield table(evidence, "answers-and-success", frame, notes=notes)
