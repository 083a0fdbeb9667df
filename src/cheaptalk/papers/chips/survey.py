"""The people behind the players: what they learn between games, and what they answer afterwards."""

from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Literal

import polars as pl
from scipy import stats

from cheaptalk.frames.people import plays, survey_answers
from cheaptalk.judges import answer_verdicts
from cheaptalk.papers.chips import paper_tables
from cheaptalk.papers.chips.games import GAME, Games, games
from cheaptalk.papers.chips.surplus import VARIANT
from cheaptalk.reports.charts.chart import Axis, Chart, Mark, Points
from cheaptalk.reports.charts.kinds import HIGH, LOW, bars, ends
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import PARTS, means, side_by_side
from cheaptalk.reports.recipes.parts import Charts, Lacking
from cheaptalk.reports.recipes.people import with_people
from cheaptalk.reports.recipes.tables import Header, ReportTable, finite
from cheaptalk.rules import SHARE, CheaptalkError
from cheaptalk.statistics import StatisticsError, correlation, mean_intervals, permutation_test
from cheaptalk.whole_files import read_whole

OPTION = "survey"
ABOUT = (
    "a CSV file of people's answers, a row for each game of each: participant, match, place; "
    "further columns of numbers are scales, theme.NAME says yes or no, texts are free answers"
)
KEYS = ("participant", "match", "place")
THEME = "theme."
RUBRIC = "theme-"
"""What the names of rubrics that code themes begin with."""
YES = ("1", "true", "yes")
NO = ("0", "false", "no")
GROUP = ("match",)
"""People of one first game influence each other, and are one cluster."""
INTERVALS = "Intervals are at 95 %, with the people of one game as one cluster."


@dataclass(frozen=True, eq=False)
class Survey:
    """What is known of the people who played.

    Attributes:
        source: where it is from, as sentences begin.
        games: one row a game of a participant, each participant's in the order in which they were
            played, or ended where a file tells of them:
            ``participant``, ``stage`` (1 for the first), ``match``, ``variant``, ``ratio`` (of the
            table's surplus), ``gain`` (what the participant was paid, in dollars), ``share`` (the
            gain over the table's bound; null where that is 0).
        people: one row a participant with the answers: ``participant``, ``match`` and ``variant``
            of the first game, ``share`` (mean over all games), scales and themes.
        scales, themes: columns of ``people``; themes are 1 or 0.
    """

    source: str
    games: pl.DataFrame
    people: pl.DataFrame
    scales: tuple[str, ...]
    themes: tuple[str, ...]


def survey(evidence: Evidence) -> Survey:
    """The survey of the study's people, or the one that the recipe is told of; read once.

    Raises:
        Lacking: nobody took part, and it is told of none.
        CheaptalkError: the file cannot be read, or does not fit the study.
    """
    path = evidence.options.get(OPTION)
    if path is not None:
        return _from_file(evidence, path)
    if not with_people(evidence):
        raise Lacking(
            "the study holds no survey, nor which person played which game; give both with "
            "--set survey=FILE.csv, a row for each game of a person: participant, match, place and "
            "the answers"
        )
    return _of_people(evidence)


def _from_file(evidence: Evidence, path: str) -> Survey:
    found = evidence.once(games)
    answers = _answers(Path(path))
    _check(answers, found, path)
    finished = evidence.scored(GAME).select("match", at="finished")
    seats = answers.select(KEYS).join(finished, on="match", validate="m:1", maintain_order="left")
    texts = answers.select(pl.exclude("match", "place"))
    kinds = {name: _numbers(texts[name], path) for name in texts.columns if name != "participant"}
    numbers = {name: values for name, values in kinds.items() if values is not None}
    told = texts.select("participant").with_columns(**numbers).unique(
        "participant", keep="first", maintain_order=True
    )  # fmt: skip
    return _survey(evidence, path, seats, told)


def _of_people(evidence: Evidence) -> Survey:
    """What the people of the study played and answered, and what judges said of their answers."""
    store, study = evidence.store, evidence.study
    found = evidence.once(games).matches
    played = plays(store, study).filter(game=GAME).select(*KEYS, at="number")
    if played.join(found, on="match", how="semi").is_empty():
        raise Lacking(f"nobody who took part has finished a game of {GAME}")
    answers = survey_answers(store, study)
    told = answers.select("participant", pl.selectors.numeric())
    coded = _themes(answer_verdicts(store, study))
    said = told.join(coded, on="participant", how="left", maintain_order="left", validate="1:1")
    return _survey(evidence, "the survey", played, said)


def _themes(verdicts: pl.DataFrame) -> pl.DataFrame:
    """Whether anything that a person wrote has a theme: a row a person, a column a theme's rubric.

    Of several judges by one rubric the one that read most counts, of equal ones the last.
    """
    coded = verdicts.filter(pl.col("rubric").str.starts_with(RUBRIC)).drop_nulls("score")
    read = coded.group_by("rubric", "judge", maintain_order=True).len()
    chosen = read.sort("len", maintain_order=True).unique(
        "rubric", keep="last", maintain_order=True
    )
    people = coded.select("participant").unique(maintain_order=True)
    for rubric, judge in chosen.sort("rubric").select("rubric", "judge").iter_rows():
        name = THEME + rubric.removeprefix(RUBRIC).replace("-", "_")
        own = coded.filter(rubric=rubric, judge=judge).group_by("participant", maintain_order=True)
        people = people.join(
            own.agg(pl.col("score").max().alias(name)), on="participant", how="left",
            maintain_order="left", validate="1:1",
        )  # fmt: skip
    return people


def _survey(evidence: Evidence, source: str, seats: pl.DataFrame, told: pl.DataFrame) -> Survey:
    """A survey, given who sat where, in the order of ``at``, and what each said in numbers."""
    scored = evidence.scored(GAME).select("match", pl.col("^payoff\\..*$"))
    paid = scored.rename(lambda name: name.removeprefix("payoff.")).unpivot(
        index="match", variable_name="place", value_name="gain"
    )
    matches = evidence.once(games).matches.select("match", "variant", "bound", "ratio")
    own = (
        seats.join(matches, on="match", validate="m:1", maintain_order="left")
        .join(paid, on=["match", "place"], validate="m:1", maintain_order="left")
        .with_columns(share=pl.when(pl.col("bound") > 0).then(pl.col("gain") / pl.col("bound")))
        .sort("participant", "at", "match")
        .with_columns(stage=pl.int_range(1, pl.len() + 1).over("participant"))
    )
    firsts = own.filter(stage=1).select("participant", "match", "variant")
    shares = own.group_by("participant", maintain_order=True).agg(pl.col("share").mean())
    people = firsts.join(shares, on="participant", maintain_order="left", validate="1:1").join(
        told, on="participant", how="left", maintain_order="left", validate="1:1"
    )
    names = [name for name in told.columns if name != "participant"]
    themes = tuple(name for name in names if name.startswith(THEME))
    return Survey(source, own, people, tuple(n for n in names if n not in themes), themes)


def _answers(path: Path) -> pl.DataFrame:
    try:
        read = pl.read_csv(StringIO(read_whole(path)), infer_schema=False)
    except OSError as error:
        raise CheaptalkError(f"{path} cannot be read: {error.strerror or error}") from error
    except (pl.exceptions.PolarsError, UnicodeDecodeError) as error:
        raise CheaptalkError(f"{path} is no table of comma-separated values: {error}") from error
    absent = [name for name in KEYS if name not in read.columns]
    if absent:
        raise CheaptalkError(f"{path} has no column {', '.join(absent)}")
    return read.with_columns(pl.col(pl.String).str.strip_chars().replace("", None))


def _check(answers: pl.DataFrame, found: Games, path: str) -> None:
    """Refuse rows of games that there are not, and a seat that is taken twice."""
    sizes = dict(found.matches.select("match", "players").iter_rows())
    rows = answers.select(KEYS).iter_rows()
    for line, (participant, match, place) in enumerate(rows, 2):
        if participant is None or match not in sizes:
            raise CheaptalkError(
                f"{path}, line {line}: "
                + ("it names no participant" if participant is None else
                   f'"{match}" is no finished game of chip_trading in this study')
            )  # fmt: skip
        if place not in {f"player_{number}" for number in range(1, sizes[match] + 1)}:
            raise CheaptalkError(
                f'{path}, line {line}: match {match} has no place "{place}"; they are player_1 to '
                f"player_{sizes[match]}"
            )
    for key in (["match", "place"], ["participant", "match"]):
        twice = answers.filter(pl.struct(key).is_duplicated())
        if twice.height:
            named = " and ".join(f"{name} {twice[name][0]}" for name in key)
            raise CheaptalkError(f"{path}: {named} stand together in more than one row")


def _numbers(answers: pl.Series, path: str) -> pl.Series | None:
    """A scale or a theme as numbers; None for free answers, and where nobody answered.

    Raises:
        CheaptalkError: a theme is neither yes nor no.
    """
    if answers.null_count() == len(answers):
        return None
    if answers.name.startswith(THEME):
        said = answers.str.to_lowercase()
        strange = answers.filter(~said.is_in([*YES, *NO]).fill_null(True))
        if len(strange):
            raise CheaptalkError(
                f'{path}: {answers.name} holds "{strange[0]}"; a theme is {" or ".join(YES)}, or '
                f"{' or '.join(NO)}"
            )
        return said.is_in(YES).cast(pl.Float64)
    numbers = answers.cast(pl.Float64, strict=False)
    is_scale = numbers.null_count() == answers.null_count()
    return numbers if is_scale and numbers.drop_nulls().is_finite().all() else None


def title(name: str) -> str:
    """A scale or a theme as people read it.

    >>> title("theme.profit_maximisation")
    'Profit maximisation'
    """
    return name.removeprefix(THEME).replace("_", " ").capitalize()


def figure_11(evidence: Evidence) -> Iterator[Charts | ReportTable]:
    """The first and the second game of everybody who played two of one kind, in the order in which
    they were played, or ended where a file tells of them: the surplus of the table over its bound,
    and what the person was paid. The difference is the second less the first. People of one first
    game are one cluster. p is of a paired permutation test, two-sided, with the means of these
    clusters as pairs.
    """
    found = evidence.once(survey)
    both = _two_games(found)
    if both.is_empty():
        raise Lacking("no participant of the survey has finished two games of one kind")
    values = ["first_ratio", "second_ratio", "learnt_ratio", "first_gain", "second_gain",
              "learnt_gain"]  # fmt: skip
    tested = [
        {"variant": one["variant"][0], "p": _p(one, evidence)}
        for one in both.partition_by("variant", maintain_order=True)
    ]
    frame = (
        means(both, values, ["variant"], cluster=GROUP)
        .join(both.group_by("variant", maintain_order=True).agg(pl.len().alias("people")),
              on="variant", maintain_order="left", validate="1:1")
        .join(pl.DataFrame(tested), on="variant", maintain_order="left", validate="1:1")
    )  # fmt: skip
    yield Charts(
        "learning", "Surplus over its bound in the first and the second game",
        [_learning(frame)], INTERVALS,
    )  # fmt: skip
    share = "share of the bound"
    yield ReportTable(
        "learning", "First and second games", frame,
        (
            VARIANT,
            Header("people", "People", "", 0),
            Header("first_ratio", "First game", share, 3),
            Header("second_ratio", "Second game", share, 3),
            Header("learnt_ratio", "Difference", share, 3),
            Header("p", "p", "", 4),
            Header("first_gain", "Paid at first", "dollars", 2),
            Header("second_gain", "Paid then", "dollars", 2),
            Header("learnt_gain", "Difference", "dollars", 2),
        ),
        INTERVALS,
    )  # fmt: skip


def _two_games(found: Survey) -> pl.DataFrame:
    """One row a participant with two games of one variant, both with something to gain."""
    played = found.games.drop_nulls("ratio").group_by("participant", "variant", maintain_order=True)
    return (
        played.agg(
            pl.col("match").first(),
            *(pl.col("ratio", "gain").get(place, null_on_oob=True).name.prefix(name)
              for place, name in enumerate(("first_", "second_"))),
        )
        .drop_nulls("second_ratio")
        .with_columns(
            learnt_ratio=pl.col("second_ratio") - pl.col("first_ratio"),
            learnt_gain=pl.col("second_gain") - pl.col("first_gain"),
        )
        .sort("variant", "participant")
    )  # fmt: skip


def _p(both: pl.DataFrame, evidence: Evidence) -> float:
    groups = (
        both.group_by(GROUP, maintain_order=True)
        .agg(pl.col("first_ratio", "second_ratio").mean())
        .sort(GROUP)
    )
    return permutation_test(
        groups["second_ratio"].to_numpy(), groups["first_ratio"].to_numpy(),
        paired=True, draws=evidence.draws, seed=evidence.seed,
    ).p  # fmt: skip


def _learning(frame: pl.DataFrame) -> Chart:
    layers = [
        Points(
            [
                Mark(row[key], row["variant"], f"{label}, {row['variant']}: {row[key]:.1%}",
                     x_ends=ends(row, key))
                for row in frame.iter_rows(named=True)
            ],
            label, tone,
        )
        for tone, (key, label) in enumerate(
            (("first_ratio", "first game"), ("second_ratio", "second game"))
        )
    ]  # fmt: skip
    across = Axis("surplus over its bound", percent=True, zero=True)
    return Chart("First and second game", "", layers, across, Axis(names=tuple(frame["variant"])))


def table_1(evidence: Evidence) -> Iterator[ReportTable]:
    """Means of the scales that people answered after their games, with standard errors that take
    the people of one game as one cluster. Whether answers differ between games of different size
    is tested by ranks (Kruskal and Wallis 1952), which takes people as independent.
    """
    found = evidence.once(survey)
    scales = found.scales
    if not scales:
        raise Lacking(f"{found.source} has no column of numbers, which a scale is")
    cells = mean_intervals(found.people, scales, ["variant"], cluster=GROUP).sort("variant")
    parts = {part: f"answer{end}" for part, end in PARTS.items() if end not in (LOW, HIGH)}
    named = cells.select("measure", "variant", *parts).rename(parts)
    wide = side_by_side(named, "answer", "variant")
    tests = [(name, title(name), _kruskal(found.people, name)) for name in scales]
    schema = {"measure": pl.String, "scale": pl.String, "p": pl.Float64}
    frame = (
        pl.DataFrame(tests, schema=schema, orient="row")
        .join(wide, on="measure", maintain_order="left", validate="1:1")
        .drop("measure")
    )
    yield ReportTable(
        "survey", "Answers on scales", frame,
        (
            Header("scale", "Scale"),
            *(Header(name, name, "", 2) for name in cells["variant"].unique(maintain_order=True)),
            Header("p", "p", "of no difference", 4),
        ),
        "In parentheses: standard errors.",
    )  # fmt: skip
    called = pl.col("measure").replace_strict(list(scales), list(map(title, scales)))
    yield paper_tables.survey(evidence, cells.with_columns(title=called))


def _kruskal(people: pl.DataFrame, scale: str) -> float | None:
    """p of no difference between variants; None with one variant, or where all answer alike."""
    answered = people.drop_nulls(scale)
    groups = [one[scale].to_numpy() for one in answered.partition_by("variant")]
    if len(groups) < 2 or answered[scale].n_unique() < 2:
        return None
    return finite(float(stats.kruskal(*groups).pvalue))


def figure_9(evidence: Evidence) -> Iterator[Charts | ReportTable]:
    """How many people spoke of a theme when asked for their strategy. One answer can have several
    themes, so that shares can add up to more than one.
    """
    found = evidence.once(survey)
    themes = found.themes
    if not themes:
        how = (
            "a judge, or by hand, into columns theme.NAME" if OPTION in evidence.options
            else f"cheaptalk judge {evidence.study} --judge theme-profit --model MODEL"
        )  # fmt: skip
        raise Lacking(f"{found.source} has no coded theme; code free answers with {how}")
    everybody = found.people.with_columns(variant=pl.lit("all"))
    people = pl.concat([everybody, found.people.sort("variant")])
    cells = means(people, themes, ["variant"], cluster=GROUP,
                  bounds=dict.fromkeys(themes, SHARE))  # fmt: skip
    counts = people.group_by("variant", maintain_order=True).agg(
        pl.len().alias("people"), *(pl.col(one).sum().cast(pl.Int64).alias(f"{one} people")
                                    for one in themes)
    )  # fmt: skip
    frame = counts.join(cells, on="variant", maintain_order="left", validate="1:1")
    first = frame.row(0, named=True)
    order = sorted(themes, key=lambda one: first[f"{one} people"])
    lengths = [
        (row, 0.0, first[f"{one} people"],
         f"{title(one)}: {first[f'{one} people']}, {first[one]:.0%} of {first['people']} people")
        for row, one in enumerate(order[::-1])
    ]  # fmt: skip
    names = tuple(title(one) for one in order[::-1])
    chart = Chart(
        "People who spoke of a theme", "", [bars(lengths)], Axis("people", zero=True, whole=True),
        Axis(names=names),
    )  # fmt: skip
    yield Charts("themes", "People by theme", [chart])
    yield ReportTable(
        "themes", "Themes of free answers", frame,
        (
            VARIANT, Header("people", "People", "", 0),
            *(column for one in order[::-1] for column in (
                Header(f"{one} people", title(one), "people", 0),
                Header(one, title(one), "share", 3),
            )),
        ),
        INTERVALS,
    )  # fmt: skip


def performance(evidence: Evidence) -> Iterator[ReportTable]:
    """Whether answers go with success: correlations over people of each scale (by ranks) and theme
    (Pearson's, of yes as 1 and no as 0) with what the person was paid over the bound of the table,
    the mean over the person's games. Intervals are bootstrapped over first games.
    """
    found = evidence.once(survey)
    kinds: dict[str, Literal["pearson", "spearman"]] = {
        **dict.fromkeys(found.scales, "spearman"),
        **dict.fromkeys(found.themes, "pearson"),
    }
    if not kinds:
        raise Lacking(f"{found.source} has no scale and no theme")
    rows, notes = [], []
    for name, method in kinds.items():
        try:
            one = correlation(
                found.people, name, "share", method=method, cluster=GROUP,
                draws=evidence.draws, seed=evidence.seed,
            )  # fmt: skip
        except StatisticsError as error:
            notes.append(f"{title(name)}: {error}.")
            continue
        rows.append((title(name), method.capitalize(), one.estimate, one.low, one.high, one.n))
        notes += [f"{title(name)}: {note}." for note in one.notes]
    schema = {
        "answer": pl.String, "method": pl.String, "correlation": pl.Float64,
        "correlation.low": pl.Float64, "correlation.high": pl.Float64, "correlation.n": pl.Int64,
    }  # fmt: skip
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    if frame.is_empty():
        raise Lacking(" ".join(notes))
    yield ReportTable(
        "answers-and-success", "Answers and success", frame,
        (
            Header("answer", "Answer"),
            Header("method", "Correlation"),
            Header("correlation", "With the share of the bound", "", 3),
        ),
        "Intervals are at 95 %, bootstrapped over the people's first games.", tuple(notes),
    )  # fmt: skip
