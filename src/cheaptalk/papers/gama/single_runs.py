"""One run of each player: the agents' choices and the results of each round."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import polars as pl

from cheaptalk.papers.gama.rounds import CHOICES, by_round
from cheaptalk.papers.gama.scores import GAMES, default_players, default_runs, single_player_runs
from cheaptalk.reports.charts.chart import Axis, Chart, Line, Mark
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import Charts, NoData
from cheaptalk.text import fixed, plain

MAX_PANELS = 12
"""The maximum number of plotted runs per game, in the order of player names."""
RUN_KEYS = ("player", "variant")
"""The columns that distinguish runs."""


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
DISH = pl.when(pl.col("cheap") == 1).then("game.cheap_price").otherwise("game.costly_price")
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
        _agents("bids", "share of the gold", BID),
        _together("sum of bids", "share of the gold", BID.sum()),
    ),
    "public_goods": (
        _agents("contributions", "share of the tokens", pl.col("contribution")),
        _agents("gains", "tokens", pl.col("gain")),
    ),
    "diners_dilemma": (
        _together("costly dishes", "share of orders", 1 - pl.col("cheap").mean()),
        _agents("utilities", "utility", pl.col("gain")),
        _together("average bill", "a player", DISH.mean()),
    ),
    "sealed_bid_auction": (
        _agents("valuation less bid", "a round", SHADE),
        _agents("bids", "a round", BID),
    ),
}
"""The plots of each game."""


def single_runs(evidence: Evidence) -> Iterator[Charts]:
    """Plot by round the first run of each player that fills all seats.

    Grey lines are single agents. Coloured lines combine all agents of a round: the average, the
    winning number (nearest to the target), the sum of bids, the attendance of the bar, or the bill
    per person. Bids are multiples of the gold, and contributions are multiples of the tokens. The
    bar with explicit feedback and the second-price auction are shown separately.
    """
    runs = default_runs(default_players(evidence.once(single_player_runs)), variants=True)
    keys = ["game", *RUN_KEYS]
    firsts = runs.sort(*keys, "run").unique(keys, keep="first", maintain_order=True)
    for game in CHOICES:
        matches = firsts.filter(game=game).select("match_id", *RUN_KEYS)
        if not matches.is_empty():
            yield _charts(evidence, game, matches)
    if not set(CHOICES) & set(firsts["game"]):
        raise NoData("none of the six simultaneous games was played with one player in all seats")


def _charts(evidence: Evidence, game: str, matches: pl.DataFrame) -> Charts:
    prices = evidence.scored(game).select("match_id", "^game\\.(cheap|costly)_price$")
    seats = evidence.once(by_round)[game].drop("player").drop_nulls("seat")
    panels = []
    for match, *names in matches.head(MAX_PANELS).iter_rows():
        run = seats.filter(match_id=match)
        rows = run.join(prices, on="match_id", validate="m:1", maintain_order="left").sort("round")
        title = ", ".join(filter(None, names))
        panels += [_panel(f"{title}: {view.title}", view, rows) for view in VIEWS[game]]
    cut = f" The first {MAX_PANELS} of {len(matches)} are shown." * (len(matches) > MAX_PANELS)
    name = f"single-runs-{game.replace('_', '-')}"
    return Charts(name, f"{GAMES[game]}: one run per player", panels, f"By round.{cut}")


def _panel(title: str, view: RoundView, rows: pl.DataFrame) -> Chart:
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
