"""One run of each player, agent by agent, and what came of each round (Figures 1 and 10)."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import polars as pl

from cheaptalk.papers.gama.rounds import CHOICES, by_round
from cheaptalk.papers.gama.scores import GAMES, alone, default_players, default_runs
from cheaptalk.reports.charts.chart import Axis, Chart, Line, Mark
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import Charts, Lacking
from cheaptalk.text import fixed, plain

MOST = 12
"""Runs of a game that are drawn, the first by the name of their player."""
ONE = ("player", "variant")
"""What tells runs apart."""


class RoundView(NamedTuple):
    """What is drawn of a run by round.

    Attributes:
        title: what it is.
        unit: of its numbers.
        agent: what is drawn of each agent, a line each; None for nothing.
        together: what is drawn of all agents of a round, by name.
    """

    title: str
    unit: str
    agent: pl.Expr | None
    together: Mapping[str, pl.Expr]


def _agents(title: str, unit: str, agent: pl.Expr) -> RoundView:
    return RoundView(title, unit, agent, {"average": agent.mean()})


NUMBER, BID, SHADE = pl.col("number"), pl.col("bid"), pl.col("valuation") - pl.col("bid")
DISH = pl.when(pl.col("cheap") == 1).then("game.cheap_price").otherwise("game.costly_price")
VIEWS = {
    "guess_the_average": (
        RoundView("numbers", "number", NUMBER, {
            "average": NUMBER.mean(), "winning number": NUMBER.sort_by("distance").first(),
        }),
    ),
    "el_farol_bar": (
        RoundView("players in the bar", "players", None, {
            "players in the bar": pl.col("attendance").sum()
        }),
    ),
    "divide_the_dollar": (
        _agents("bids", "share of the gold", BID),
        RoundView("sum of bids", "share of the gold", None, {"sum of bids": BID.sum()}),
    ),
    "public_goods": (
        _agents("contributions", "share of the tokens", pl.col("contribution")),
        _agents("gains", "tokens", pl.col("gain")),
    ),
    "diners_dilemma": (
        RoundView("costly dishes", "share of orders", None, {
            "costly dishes": 1 - pl.col("cheap").mean()
        }),
        _agents("utilities", "utility", pl.col("gain")),
        RoundView("average bill", "a player", None, {"average bill": DISH.mean()}),
    ),
    "sealed_bid_auction": (
        _agents("valuation less bid", "a round", SHADE), _agents("bids", "a round", BID),
    ),
}  # fmt: skip
"""What the figures show of each game."""


def single_runs(evidence: Evidence) -> Iterator[Charts]:
    """The first run of each player alone at its table, round by round.

    Grey lines are single agents; a line in colour is of all agents of a round: their average, the
    winning number (the one nearest to the target), the sum of bids, how many went to the bar, the
    bill for each when it is shared. Bids are in multiples of the gold, contributions of the tokens.
    The bar with explicit feedback and the auction at the second price stand apart.
    """
    runs = default_runs(default_players(evidence.once(alone)), variants=True)
    firsts = runs.sort("game", *ONE, "run").unique(
        ["game", *ONE], keep="first", maintain_order=True
    )
    for game in CHOICES:
        chosen = firsts.filter(game=game).select("match", *ONE)
        if not chosen.is_empty():
            yield _charts(evidence, game, chosen)
    if not set(CHOICES) & set(firsts["game"]):
        raise Lacking("none of the six games in which all decide at once was played alone")


def _charts(evidence: Evidence, game: str, chosen: pl.DataFrame) -> Charts:
    """The first run of each player in a game, a panel a view of each."""
    known = evidence.scored(game).select("match", "^game\\.(cheap|costly)_price$")
    seats = evidence.once(by_round)[game].drop("player").drop_nulls("place")
    panels = []
    for match, *names in chosen.head(MOST).iter_rows():
        rows = (
            seats.filter(match=match)
            .join(known, on="match", validate="m:1", maintain_order="left")
            .sort("round")
        )
        who = ", ".join(filter(None, names))
        panels += [_panel(f"{who}: {view.title}", view, rows) for view in VIEWS[game]]
    more = f" The first {MOST} of {len(chosen)} are drawn." * (len(chosen) > MOST)
    name = f"single-runs-{game.replace('_', '-')}"
    return Charts(name, f"{GAMES[game]}: one run of each player", panels, f"By round.{more}")


def _panel(title: str, view: RoundView, rows: pl.DataFrame) -> Chart:
    layers = []
    if view.agent is not None:
        own = rows.select("round", "place", value=view.agent)
        layers += [
            Line(_marks(plain(place), part), tone="rule", width=1, dots=False)
            for (place,), part in own.group_by("place", maintain_order=True)
        ]
    for tone, (name, value) in enumerate(view.together.items()):
        every = rows.group_by("round", maintain_order=True).agg(value.alias("value"))
        layers.append(Line(_marks(name, every), name, tone))
    return Chart(title, view.unit, layers, Axis("round", whole=True), Axis(zero=True))


def _marks(name: str, rows: pl.DataFrame) -> list[Mark]:
    values = rows.drop_nulls("value").select("round", "value").rows()
    return [Mark(at, one, f"{name}, round {at}: {fixed(one, 2)}") for at, one in values]
