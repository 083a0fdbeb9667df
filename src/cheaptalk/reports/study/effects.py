"""What each parameter of a game does to what matches come to, all else equal."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import polars as pl

from cheaptalk.frames.reader import decoded
from cheaptalk.records import FEW
from cheaptalk.reports.charts.chart import Chart, Lead
from cheaptalk.reports.charts.kinds import HIGH, LOW, dots
from cheaptalk.reports.recipes.parts import Charts
from cheaptalk.reports.recipes.tables import CLUSTERS, COUNT, ERROR, Header, ReportTable, estimate
from cheaptalk.reports.study.scores import GameScores, Score
from cheaptalk.rules import counted
from cheaptalk.statistics import StatisticsError, regressions
from cheaptalk.statistics.regression import Regression
from cheaptalk.text import capital, decimals, plain, readable

MOST = 12
"""Values up to which a parameter is compared value by value."""
LINKED = 600
"""Configurations up to which an address can name them."""
CAPTION = (
    "Dots are effects over the value that most matches have, which stands at 0; whiskers are 95 % "
    "intervals."
)
METHOD = (
    "For each score one regression (ordinary least squares) has every parameter that varies, and "
    "who sat in each place, as factors: a number is how much the value adds to the score over the "
    "value it is compared with, all else equal. Intervals of 95 % and p are clustered by deal."
)
EFFECT = "effect"


class Varied(NamedTuple):
    """A parameter that varies, as a factor.

    Attributes:
        name: of the parameter; ``game.NAME`` is its column.
        levels: its values as people read them, in order.
        reference: the one that most matches have.
    """

    name: str
    levels: tuple[str, ...]
    reference: str


def effects(game: GameScores) -> Iterator[Charts | ReportTable]:
    """The effects of a game's parameters, as charts and a table; nothing where none varies."""
    varied, frame = _with_levels(game)
    if not varied or frame.is_empty():
        return
    found, notes = _fitted(game, varied, frame)
    rows = [row for score, fit in found.items() for row in _rows(score, fit, varied)]
    if not rows:
        return
    many = [plain(one.name) for one in game.parameters if one.varies and len(one.values) > MOST]
    if many:
        notes.append(f"Of more than {MOST} values, and not compared: {', '.join(many)}.")
    panels = [_panel(game, score, rows) for score in found]
    yield Charts(f"{game.name}-effects", "What parameters do", panels, CAPTION)
    table = pl.DataFrame([row for row in rows if not row["reference"]], infer_schema_length=None)
    yield ReportTable(
        f"{game.name}-parameter-effects", "Effect of every value", table,
        (Header("name", "Value"), Header("over", "Over"), Header("score", "Score"),
         Header(EFFECT, "Effect", "in the score's unit", "decimals"), Header("unit", "Unit"),
         Header("p", "p", "two-sided", 3)),
        METHOD, tuple(notes), leads=lambda row: _lead(game, row["parameter"], row["level"]),
        counts=("match", "deal"),
    )  # fmt: skip


def _with_levels(game: GameScores) -> tuple[list[Varied], pl.DataFrame]:
    """The parameters that vary, and the scored matches with their values as people read them."""
    frame, found = game.scored, []
    for one in game.parameters:
        if not 1 < len(one.values) <= MOST:
            continue
        column = f"game.{one.name}"
        values = {value: decoded(value) for value in frame[column].unique(maintain_order=True)}
        texts = {value: readable(meant) for value, meant in values.items()}
        numeric = all(isinstance(meant, int | float) for meant in values.values())
        order = sorted(values, key=lambda value: values[value] if numeric else texts[value])
        levels = tuple(dict.fromkeys(texts[value] for value in order))
        if len(levels) < 2:
            continue
        named = pl.col(column).replace_strict(texts, return_dtype=pl.Enum(levels))
        frame = frame.with_columns(named.alias(one.name))
        counts = dict(
            frame.group_by(pl.col(one.name).cast(pl.String), maintain_order=True).len().iter_rows()
        )
        found.append(Varied(one.name, levels, max(levels, key=counts.__getitem__)))
    return found, frame


def _fitted(
    game: GameScores, varied: Sequence[Varied], frame: pl.DataFrame
) -> tuple[dict[Score, Regression], list[str]]:
    """A regression for each score that matches tell something of, and what readers must know."""
    gains = {game.gain(role).key for role in game.roles}
    players = {
        f"player.{place}": frame[f"player.{place}"].mode().sort()[0]
        for place in game.places
        if len(game.places) <= FEW and frame[f"player.{place}"].n_unique() > 1
    }
    reference = {one.name: one.reference for one in varied} | players
    width = 1 + sum(frame[name].n_unique() - 1 for name in reference)
    found: dict[Score, Regression] = {}
    said: list[tuple[str, str]] = []
    for score in game.scores:
        if score.key not in frame.columns or (score.is_payoff and score.key not in gains):
            continue
        known = frame.filter(pl.col(score.key).is_not_null())
        if known.height <= width:
            few = f"{counted(known.height, 'match')} cannot tell {counted(width, 'effect')} apart"
            said.append((few, score.title))
            continue
        here = {name: _present(known, name, wanted) for name, wanted in reference.items()}
        try:
            fits = regressions(
                known, [score.key], [*here], reference=here, errors=["cluster"], partial=True
            )
        except StatisticsError as error:
            said.append((str(error), score.title))
            continue
        found[score] = fits[score.key, "cluster"]
        said += [(note, score.title) for note in found[score].notes]
    said.sort(key=lambda one: one[0])
    return found, [
        f"{', '.join(title for _, title in of)}: {note}."
        for note, of in groupby(said, key=lambda one: one[0])
    ]


def _present(frame: pl.DataFrame, name: str, wanted: str) -> str:
    """The value that others are compared with, or what occurs most often where it does not."""
    texts = frame[name].cast(pl.String)
    return wanted if wanted in texts else str(texts.mode().sort()[0])


def _rows(score: Score, fit: Regression, varied: Sequence[Varied]) -> Iterator[dict[str, Any]]:
    """The effects of all values on a score, of those that others are compared with, too."""
    ends = {"estimate": "", "low": LOW, "high": HIGH, "error": ERROR, "n": COUNT}
    for one in varied:
        frame = fit.frame.filter(factor=one.name)
        if not frame.filter(~pl.col("reference"))["estimate"].count():
            continue
        places = decimals(frame["estimate"].drop_nulls().to_list())
        (over,) = frame.filter("reference")["level"]
        for row in frame.iter_rows(named=True):
            yield {
                "parameter": one.name, "level": row["level"], "reference": row["reference"],
                "name": f"{plain(one.name)} {row['level']}", "over": over,
                "score": score.title, "unit": score.unit, "decimals": places, "p": row["p"],
                **{EFFECT + end: row[name] for name, end in ends.items()},
                EFFECT + CLUSTERS: fit.clusters,
            }  # fmt: skip


def _panel(game: GameScores, score: Score, rows: Sequence[dict[str, Any]]) -> Chart:
    """The effects on a score; a value that others are compared with stands at 0."""
    own = [row for row in rows if row["score"] == score.title]
    said = [
        "the others are compared with it" if row["reference"]
        else f"{row[EFFECT] or 0:,.{row['decimals']}f} "
        f"{estimate(row, EFFECT).told(row['decimals'], ('match', 'deal'))}"
        for row in own
    ]  # fmt: skip
    leads = [_lead(game, row["parameter"], row["level"]) for row in own]
    names = [row["name"] for row in own]
    return dots(capital(score.title), score.unit, names, own, EFFECT, said, leads)


def _lead(game: GameScores, parameter: str, level: str) -> Lead | None:
    """The matches that have a value of a parameter."""
    column = f"game.{parameter}"
    values = [one for one in game.frame[column].unique() if readable(decoded(one)) == level]
    digests = game.frame.filter(pl.col(column).is_in(values))["configuration"].unique().sort()
    if not 0 < len(digests) <= LINKED:
        return None
    return Lead(game.name, {"configuration": ",".join(digests)})
