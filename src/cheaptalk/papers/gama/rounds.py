"""Choices by round in the six games with simultaneous decisions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from operator import itemgetter

import polars as pl

from cheaptalk.frames import round_frames
from cheaptalk.frames.reader import parameters_in
from cheaptalk.papers.gama import charts as drawing
from cheaptalk.papers.gama.scores import (
    GAMES,
    default_players,
    default_runs,
    lead,
    single_player_runs,
    table,
)
from cheaptalk.reports.charts.chart import Axis, Chart, Line, Mark, Rule
from cheaptalk.reports.charts.kinds import Row
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import means
from cheaptalk.reports.recipes.parts import Charts, NoData
from cheaptalk.reports.recipes.tables import ReportTable
from cheaptalk.rules import Series, get_game
from cheaptalk.statistics import STRATA
from cheaptalk.statistics.columns import with_matching
from cheaptalk.text import capital, plain

BATTLES = ("target", "hit", "strongest", "living")
PIRATES = ("coins", "accepted", "plan_distance", "vote_accuracy")
"""The series of the games with alternating turns."""
GAINS = ("distance", "gain", "valuation", "bid")
"""Series of the results of choices, and of private values."""
LINE = ("player", "variant")
"""The columns that distinguish lines."""
MAX_PANELS = 16
"""The maximum number of panels per game, in the order of names."""


def _best_guess(values: Row) -> float | None:
    ratio = Fraction(values["ratio"])
    return None if ratio == 1 else float(values["minimum" if ratio < 1 else "maximum"])


CHOICES = {
    "guess_the_average": "number",
    "el_farol_bar": "attendance",
    "divide_the_dollar": "bid",
    "public_goods": "contribution",
    "diners_dilemma": "cheap",
    "sealed_bid_auction": "bid_share",
}
"""The series of players' choices in the games with simultaneous decisions."""
AIMS: dict[str, Callable[[Row], float | None]] = {
    "guess_the_average": _best_guess,
    "el_farol_bar": itemgetter("capacity"),
    "divide_the_dollar": lambda values: 1 / values["players"],
    "public_goods": lambda values: float(values["factor"] > values["players"]),
    "diners_dilemma": lambda values: 0.0,
}
"""The best choice by the paper's score, as a function of the game's parameters."""


def by_round(evidence: Evidence) -> dict[str, pl.DataFrame]:
    """Return frames of choices and results by round, one for each of the eight games."""
    names = {*CHOICES.values(), *BATTLES, *PIRATES, *GAINS}
    available = {name for game in evidence.seats for name in get_game(game).series}
    return round_frames(
        evidence.store, evidence.study, only=names & available, as_published=evidence.as_published
    )


def series_of(game: str) -> Series:
    """Return the series of a game's choices."""
    return get_game(game).series[CHOICES[game]]


def choices(evidence: Evidence, game: str) -> pl.DataFrame:
    """Return players' choices, one row per match, round and seat; empty if there are none."""
    frame = evidence.once(by_round).get(game)
    if frame is None or game not in evidence.played([game]):
        return pl.DataFrame(schema={"match_id": pl.String, "choice": pl.Float64})
    return frame.drop_nulls("seat").rename({CHOICES[game]: "choice"}).drop_nulls("choice")


def lines(frame: pl.DataFrame, game: str, by: Sequence[str]) -> pl.DataFrame:
    """Return the mean ``choice`` of each combination of ``by`` and round, with its interval.

    Intervals are clustered by instance within configurations; ``choice.spread`` is the standard
    deviation over seats and matches.
    """
    cells, choice = [*by, "round"], pl.col("choice")
    keys = [*cells, "match_id", "configuration", "instance"]
    matches = frame.group_by(keys, maintain_order=True).agg(choice.mean())
    spread = frame.group_by(cells, maintain_order=True).agg(choice.std().alias("choice.spread"))
    bounds = {"choice": series_of(game).bounds}
    averages = means(matches, ["choice"], cells, bounds=bounds, strata=STRATA)
    return with_matching(averages, spread, cells).sort(cells)


def rounds(evidence: Evidence) -> Iterator[ReportTable | Charts]:
    """Plot the choices of players that fill all seats, by round, with the default settings.

    Lines are means over seats and runs. The light band is one standard deviation of single choices
    on either side, as in the paper. The dark band is the 95 % confidence interval of the mean,
    clustered by instance (CR1, Student's t). The dotted line is the best choice by the paper's
    score: for example, the minimum number, the bar's capacity or an equal share of the gold. Bids
    are multiples of the gold, contributions of the tokens, and auction bids of the valuation. The
    bar with explicit feedback and the second-price auction, which the paper plots without scores,
    are shown separately.
    """
    runs = default_runs(default_players(evidence.once(single_player_runs)), variants=True)
    variants = runs.select("match_id", pl.col("variant").fill_null(""))
    joined = {
        game: choices(evidence, game).join(
            variants, on="match_id", validate="m:1", maintain_order="left"
        )
        for game in CHOICES
    }
    frames = {game: frame for game, frame in joined.items() if not frame.is_empty()}
    if not frames:
        raise NoData("none of the six simultaneous games was played with one player in all seats")
    averages = {game: lines(frame, game, LINE) for game, frame in frames.items()}
    yield _ends(evidence, averages, runs)
    for game, line in averages.items():
        series = series_of(game)
        groups = line.partition_by(LINE, as_dict=True, maintain_order=True)
        cut = f" The first {MAX_PANELS} of {len(groups)} are shown." * (len(groups) > MAX_PANELS)
        aim, reach = _aim(evidence, game, frames[game]), _reach(line)
        shown = list(groups.items())[:MAX_PANELS]
        panels = [
            _panel(part, ", ".join(filter(None, map(str, names))), aim, reach)
            for names, part in shown
        ]
        title = f"{GAMES[game]}: {plain(series.name)} by round"
        yield Charts(f"rounds-{game.replace('_', '-')}", title, panels, f"{series.meaning}{cut}")


def _ends(
    evidence: Evidence, averages: Mapping[str, pl.DataFrame], runs: pl.DataFrame
) -> ReportTable:
    rows = []
    for game, line in averages.items():
        last = pl.col("round") == line["round"].max()
        first = line.filter(round=1).drop("round", "choice.spread")
        names = {name: name.replace("choice", "last") for name in line.columns}
        end = line.filter(last).rename(names).drop("round", "last.spread")
        series = series_of(game)
        description = f"{capital(series.name)}, {series.unit}"
        title, facts = pl.lit(GAMES[game]), {"what": pl.lit(description), "game": pl.lit(game)}
        both = first.join(end, on=LINE, validate="1:1", maintain_order="left")
        rows.append(both.select(title.alias("title"), pl.all(), **facts))
    named = runs.with_columns(pl.col("variant").fill_null(""))
    by_variant = named.partition_by("variant", as_dict=True)
    return table(
        evidence,
        "first-and-last-rounds",
        pl.concat(rows),
        leads=lambda row: lead(by_variant[(row["variant"],)], row["game"], row["player"]),
    )


def _aim(evidence: Evidence, game: str, frame: pl.DataFrame) -> float | None:
    """The best choice for a player's score; None if it depends on the configuration."""
    if game not in AIMS:
        return None
    configurations = parameters_in(evidence.scored(game))
    aims = {AIMS[game](configurations[key]) for key in frame["configuration"].unique()}
    return aims.pop() if len(aims) == 1 else None


def _reach(line: pl.DataFrame) -> tuple[float, float]:
    mean, spread = pl.col("choice"), pl.col("choice.spread").fill_null(0)
    low, high = line.select(low=(mean - spread).min(), high=(mean + spread).max()).row(0)
    margin = 0.05 * (max(high, 0) - min(low, 0)) or 1.0
    return min(low, 0) - margin, max(high, 0) + margin


def _panel(line: pl.DataFrame, title: str, aim: float | None, reach: tuple[float, float]) -> Chart:
    spread = pl.col("choice.spread")
    singles = line.select("round", low=pl.col("choice") - spread, high=pl.col("choice") + spread)
    layers: list[Line | Rule] = []
    for limits in (singles, line.select("round", low="choice.low", high="choice.high")):
        ends = limits.drop_nulls().iter_rows()
        marks = [Mark(number, low, y_ends=(low, high)) for number, low, high in ends]
        layers.append(Line(marks, width=0, dots=False, band=True))
    layers += [] if aim is None else [Rule(y=aim)]
    layers.append(drawing.line(title, line.to_dicts(), 0))
    return Chart(title, "", layers, Axis("round", integer=True), Axis(ends=reach))
