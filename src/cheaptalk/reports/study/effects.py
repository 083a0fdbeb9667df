"""The effects of a game's parameters on its scores, all else equal."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import groupby
from typing import Any, NamedTuple

import polars as pl

from cheaptalk.frames.reader import in_order, parameters_in
from cheaptalk.records import FEW
from cheaptalk.reports.charts.chart import Chart, Lead
from cheaptalk.reports.charts.kinds import HIGH, LOW, dots
from cheaptalk.reports.recipes.parts import Charts
from cheaptalk.reports.recipes.tables import (
    CLUSTERS,
    COUNT,
    ERROR,
    Header,
    ReportTable,
    estimate,
    texts,
)
from cheaptalk.reports.study.scores import GameScores, Score
from cheaptalk.rules import counted
from cheaptalk.statistics import StatisticsError, regressions
from cheaptalk.statistics.regression import Regression
from cheaptalk.text import capital, decimals, plain, readable

MOST = 12
"""Maximum number of values of a parameter that are compared value by value."""
LINKED = 600
"""Maximum number of configurations that a link can contain."""
CAPTION = (
    "Dots are effects compared with the most frequent value, which is at 0; whiskers are 95 % "
    "intervals."
)
METHOD = (
    "One regression (ordinary least squares) per score, with all varying parameters and the "
    "player in each seat as factors. Each number is the change of the score compared with the "
    "reference value, all else equal. 95 % intervals and p are clustered by instance."
)
EFFECT = "effect"


class Varied(NamedTuple):
    """A varying parameter as a factor of a regression; the reference is its most frequent value."""

    name: str
    levels: tuple[str, ...]
    reference: str


def effects(game: GameScores) -> Iterator[Charts | ReportTable]:
    """Yield charts and a table of the effects of those game parameters that vary."""
    varied, frame = _with_levels(game)
    if not varied or frame.is_empty():
        return
    fits, notes = _fitted(game, varied, frame)
    rows = [row for score, fit in fits.items() for row in _rows(score, fit, varied)]
    if not rows:
        return
    many = [plain(item.name) for item in game.parameters if len(item.values) > MOST]
    if many:
        notes.append(f"Not compared because they have more than {MOST} values: {', '.join(many)}.")
    configurations = parameters_in(game.frame.sort("configuration"))
    lead = cache(partial(_lead, game.name, configurations))
    panels = [_panel(score, rows, lead) for score in fits]
    yield Charts(f"{game.name}-effects", "Effects of parameters", panels, CAPTION)
    columns = [
        *texts(name="Value", over="Compared with", score="Score"),
        Header(EFFECT, "Effect", "in the score's unit", "decimals"),
        Header("unit", "Unit"),
        Header("p", "p", "two-sided", 3),
    ]
    shown = [row for row in rows if not row["reference"]]
    yield ReportTable.of(
        f"{game.name}-parameter-effects",
        "Effects by value",
        shown,
        columns,
        METHOD,
        tuple(notes),
        leads=lambda row: lead(row["parameter"], row["level"]),
        counts=("match", "instance"),
    )


def _with_levels(game: GameScores) -> tuple[list[Varied], pl.DataFrame]:
    """Return the varying parameters, and the scored matches with their values as text."""
    frame, factors = game.scored, []
    configurations = parameters_in(frame)
    for parameter in game.parameters:
        if not 1 < len(parameter.values) <= MOST:
            continue
        values = {key: settings.get(parameter.name) for key, settings in configurations.items()}
        levels = tuple(dict.fromkeys(map(readable, sorted(values.values(), key=in_order))))
        if len(levels) < 2:
            continue
        texts = {key: readable(value) for key, value in values.items()}
        named = pl.col("configuration").replace_strict(texts, return_dtype=pl.Enum(levels))
        frame = frame.with_columns(named.alias(parameter.name))
        counts = dict(frame[parameter.name].cast(pl.String).value_counts().iter_rows())
        factors.append(Varied(parameter.name, levels, max(levels, key=counts.__getitem__)))
    return factors, frame


def _fitted(
    game: GameScores, varied: Sequence[Varied], frame: pl.DataFrame
) -> tuple[dict[Score, Regression], list[str]]:
    gains = {game.gain(role).key for role in game.roles}
    players = {
        f"player_{seat}": frame[f"player_{seat}"].mode().sort()[0]
        for seat in game.seats
        if len(game.seats) <= FEW and frame[f"player_{seat}"].n_unique() > 1
    }
    reference = {factor.name: factor.reference for factor in varied} | players
    width = 1 + sum(frame[name].n_unique() - 1 for name in reference)
    fits_by_score: dict[Score, Regression] = {}
    remarks: list[tuple[str, str]] = []
    for score in game.scores:
        if score.key not in frame.columns or (score.is_payoff and score.key not in gains):
            continue
        defined = frame.filter(pl.col(score.key).is_not_null())
        if defined.height <= width:
            matches, coefficients = counted(defined.height, "match"), counted(width, "effect")
            remarks.append((f"{matches} are too few to estimate {coefficients}", score.title))
            continue
        here = {name: _present(defined, name, level) for name, level in reference.items()}
        try:
            fits = regressions(
                defined, [score.key], [*here], reference=here, errors=["cluster"], partial=True
            )
        except StatisticsError as error:
            remarks.append((str(error), score.title))
            continue
        fits_by_score[score] = fits[score.key, "cluster"]
        remarks += [(note, score.title) for note in fits_by_score[score].notes]
    remarks.sort(key=lambda statement: statement[0])
    return fits_by_score, [
        f"{', '.join(title for _, title in scores)}: {note}."
        for note, scores in groupby(remarks, key=lambda remark: remark[0])
    ]


def _present(frame: pl.DataFrame, name: str, level: str) -> str:
    """Return the reference level, or the most frequent level if the reference does not occur."""
    texts = frame[name].cast(pl.String)
    return level if level in texts else str(texts.mode().sort()[0])


def _rows(score: Score, fit: Regression, varied: Sequence[Varied]) -> Iterator[dict[str, Any]]:
    ends = {"estimate": "", "low": LOW, "high": HIGH, "error": ERROR, "n": COUNT}
    for factor in varied:
        frame = fit.frame.filter(factor=factor.name)
        if not frame.filter(~pl.col("reference"))["estimate"].count():
            continue
        digits = decimals(frame["estimate"].drop_nulls().to_list())
        (over,) = frame.filter("reference")["level"]
        for row in frame.iter_rows(named=True):
            yield {
                "parameter": factor.name,
                "level": row["level"],
                "reference": row["reference"],
                "name": f"{plain(factor.name)} {row['level']}",
                "over": over,
                "score": score.title,
                "unit": score.unit,
                "decimals": digits,
                "p": row["p"],
                **{EFFECT + end: row[name] for name, end in ends.items()},
                EFFECT + CLUSTERS: fit.clusters,
            }


def _panel(
    score: Score, rows: Sequence[dict[str, Any]], lead: Callable[[str, str], Lead | None]
) -> Chart:
    selected = [row for row in rows if row["score"] == score.title]
    texts = [
        "reference value"
        if row["reference"]
        else f"{row[EFFECT] or 0:,.{row['decimals']}f} "
        f"{estimate(row, EFFECT).told(row['decimals'], ('match', 'instance'))}"
        for row in selected
    ]
    leads = [lead(row["parameter"], row["level"]) for row in selected]
    names = [row["name"] for row in selected]
    return dots(capital(score.title), score.unit, names, selected, EFFECT, texts, leads)


def _lead(
    game: str, configurations: Mapping[str, Mapping[str, Any]], parameter: str, level: str
) -> Lead | None:
    digests = [
        digest
        for digest, settings in configurations.items()
        if readable(settings.get(parameter)) == level
    ]
    if not 0 < len(digests) <= LINKED:
        return None
    return Lead(game, {"configuration": ",".join(digests)})
