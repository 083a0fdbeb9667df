"""Choices by round in the six games with simultaneous decisions, on average and in one run."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from operator import itemgetter
from typing import NamedTuple

import polars as pl

from cheaptalk.frames import read_rounds
from cheaptalk.frames.reader import parameters_in
from cheaptalk.papers.gama.scores import (
    GAMES,
    default_players,
    default_runs,
    lead,
    single_player_runs,
    table,
)
from cheaptalk.reports.charts.chart import Axis, Chart, Line, Mark, Rule
from cheaptalk.reports.charts.kinds import Row, ends
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import means
from cheaptalk.reports.recipes.parts import Charts, NoData, Shown
from cheaptalk.reports.recipes.tables import ReportTable
from cheaptalk.rules import Series, counted, get_game
from cheaptalk.statistics import STRATA
from cheaptalk.statistics.columns import with_matching
from cheaptalk.text import capital, fixed, plain

BATTLES = ("target", "hit", "strongest", "survivors")
PIRATES = ("coins", "approval", "plan_distance", "vote_accuracy")
GAINS = ("distance", "gain", "valuation", "bid")
"""Series of the results of choices, and of private values."""
LINE = ("player", "variant")
MAX_PANELS = 16


def _best_guess(values: Row) -> float | None:
    ratio = Fraction(values["ratio"])
    return None if ratio == 1 else float(values["minimum" if ratio < 1 else "maximum"])


CHOICES = {
    "guess_the_average": "number",
    "el_farol_bar": "attendance",
    "divide_the_dollar": "bid_share",
    "public_goods": "contribution",
    "diners_dilemma": "cheap_share",
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
    return read_rounds(
        evidence.store, evidence.study, only=names & available, as_published=evidence.as_published
    )


def series_of(game: str) -> Series:
    """Return the series of a game's choices."""
    return get_game(game).series[CHOICES[game]]


def choices(evidence: Evidence, game: str) -> pl.DataFrame:
    """Return players' choices in a game that was played, one row per match, round and seat."""
    frame = evidence.once(by_round)[game]
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


def rounds(evidence: Evidence) -> Iterator[Shown]:
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
        for game in evidence.played(list(CHOICES))
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
    layers.append(mean_line(title, line.to_dicts(), 0))
    return Chart(title, "", layers, Axis("round", integer=True), Axis(ends=reach))


def mean_text(row: Row, value: str = "score", decimals: int = 1) -> str:
    """Format a mean with its confidence interval, spread and number of matches."""
    text, low, high = fixed(row[value], decimals), row[f"{value}.low"], row[f"{value}.high"]
    if low is not None:
        text += f", 95 % interval {fixed(low, decimals)} to {fixed(high, decimals)}"
    if row.get(f"{value}.spread") is not None:
        text += f"\ns.d. {fixed(row[f'{value}.spread'], decimals)}"
    return f"{text}\n{counted(row[f'{value}.n'], 'match')}"


def mean_line(
    name: str,
    rows: Sequence[Row],
    index: int,
    x: str = "round",
    value: str = "choice",
    decimals: int = 2,
    *,
    dash: str = "",
    prefix: str = "round ",
    whiskers: bool = False,
) -> Line:
    """Return a line through the means of ``value`` by ``x``, with intervals if ``whiskers``.

    ``index`` is that of the line's colour; ``prefix`` precedes the value of ``x`` in hover texts.
    """
    marks = [
        Mark(
            row[x],
            row[value],
            f"{name}, {prefix}{row[x]}\n{mean_text(row, value, decimals)}",
            y_ends=ends(row, value) if whiskers else None,
        )
        for row in rows
    ]
    return Line(marks, name, index, dash)


MAX_RUNS = 12


class RoundView(NamedTuple):
    """A plot of one run, round by round.

    Each agent has a line with its value ``agent``, if there is one. The named values ``together``
    combine all agents of a round.
    """

    title: str
    unit: str
    agent: pl.Expr | None
    together: Mapping[str, pl.Expr]


def _agents(title: str, unit: str, agent: pl.Expr) -> RoundView:
    return RoundView(title, unit, agent, {"average": agent.mean()})


def _together(title: str, unit: str, value: pl.Expr) -> RoundView:
    return RoundView(title, unit, None, {title: value})


NUMBER, BID, SHADE = pl.col("number"), pl.col("bid"), pl.col("valuation") - pl.col("bid")
BID_SHARE = pl.col("bid_share")
DISH = pl.when(pl.col("cheap_share") == 1).then("game_cheap_price").otherwise("game_costly_price")
VIEWS = {
    "guess_the_average": (
        RoundView(
            "numbers",
            "number",
            NUMBER,
            {"average": NUMBER.mean(), "winning number": NUMBER.sort_by("distance").first()},
        ),
    ),
    "el_farol_bar": (_together("players in the bar", "players", pl.col("attendance").sum()),),
    "divide_the_dollar": (
        _agents("bids", "share of the gold", BID_SHARE),
        _together("sum of bids", "share of the gold", BID_SHARE.sum()),
    ),
    "public_goods": (
        _agents("contributions", "share of the tokens", pl.col("contribution")),
        _agents("gains", "tokens", pl.col("gain")),
    ),
    "diners_dilemma": (
        _together("costly dishes", "share of orders", 1 - pl.col("cheap_share").mean()),
        _agents("utilities", "utility", pl.col("gain")),
        _together("average bill", "a player", DISH.mean()),
    ),
    "sealed_bid_auction": (
        _agents("valuation less bid", "a round", SHADE),
        _agents("bids", "a round", BID),
    ),
}


def single_runs(evidence: Evidence) -> Iterator[Charts]:
    """Plot by round the first run of each player that fills all seats.

    Grey lines are single agents. Coloured lines combine all agents of a round: the average, the
    winning number (nearest to the target), the sum of bids, the attendance of the bar, or the bill
    per person. Bids are multiples of the gold, and contributions are multiples of the tokens. The
    bar with explicit feedback and the second-price auction are shown separately.
    """
    runs = default_runs(default_players(evidence.once(single_player_runs)), variants=True)
    keys = ["game", *LINE]
    firsts = runs.sort(*keys, "run").unique(keys, keep="first", maintain_order=True)
    for game in CHOICES:
        matches = firsts.filter(game=game).select("match_id", *LINE)
        if not matches.is_empty():
            yield _run_charts(evidence, game, matches)
    if not set(CHOICES) & set(firsts["game"]):
        raise NoData("none of the six simultaneous games was played with one player in all seats")


def _run_charts(evidence: Evidence, game: str, matches: pl.DataFrame) -> Charts:
    prices = evidence.scored(game).select("match_id", "^game_(cheap|costly)_price$")
    seats = evidence.once(by_round)[game].drop("player").drop_nulls("seat")
    panels = []
    for match, *names in matches.head(MAX_RUNS).iter_rows():
        run = seats.filter(match_id=match)
        rows = run.join(prices, on="match_id", validate="m:1", maintain_order="left").sort("round")
        title = ", ".join(filter(None, names))
        panels += [_run_panel(f"{title}: {view.title}", view, rows) for view in VIEWS[game]]
    cut = f" The first {MAX_RUNS} of {len(matches)} are shown." * (len(matches) > MAX_RUNS)
    name = f"single-runs-{game.replace('_', '-')}"
    return Charts(name, f"{GAMES[game]}: one run per player", panels, f"By round.{cut}")


def _run_panel(title: str, view: RoundView, rows: pl.DataFrame) -> Chart:
    layers = []
    if view.agent is not None:
        values = rows.select("round", "seat", value=view.agent)
        layers += [
            Line(_marks(plain(seat), part), tone="rule", width=1, dots=False)
            for (seat,), part in values.group_by("seat", maintain_order=True)
        ]
    for tone, (name, value) in enumerate(view.together.items()):
        combined = rows.group_by("round", maintain_order=True).agg(value.alias("value"))
        layers.append(Line(_marks(name, combined), name, tone))
    return Chart(title, view.unit, layers, Axis("round", integer=True), Axis(zero=True))


def _marks(name: str, rows: pl.DataFrame) -> list[Mark]:
    values = rows.drop_nulls("value").select("round", "value").rows()
    return [
        Mark(number, value, f"{name}, round {number}: {fixed(value, 2)}")
        for number, value in values
    ]
