"""Figure 11: how players choose, round by round, when others sit at the table."""

from collections.abc import Iterator

import polars as pl
from scipy.special import stdtrit

from cheaptalk.reports.figures import Panel
from cheaptalk.reports.recipes.cells import means
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.gama.drawing import legend
from cheaptalk.reports.recipes.gama.mixed import WANTED, every_seat, lead_of, lineups_of
from cheaptalk.reports.recipes.gama.rounds import CHOICES, choices, lines, plain_line, series_of
from cheaptalk.reports.recipes.gama.runs import GAMES
from cheaptalk.reports.recipes.parts import Charts, Column, Lacking, Part, Table
from cheaptalk.statistics import STRATA

MOST = 24
"""Line-ups that are drawn of a game."""
BY = ["lineup", "player"]


def against(evidence: Evidence) -> Iterator[Table | Charts]:
    """What players choose at mixed tables, and what they choose alone, in the same settings.

    The table has means over rounds, with 95 % intervals clustered by deal (CR1, Student's t), and
    how much more a player chooses than alone, with an interval by Welch and Satterthwaite that
    takes the two apart. In the figures a line is a player, its mean over seats and matches by
    round, and dotted what it chooses alone: a line that leaves its dotted twin shows how a player
    reacts to a dominant bidder, a free rider or whoever else sits there.
    """
    found = {game: _choices(evidence, game) for game in CHOICES}
    found = {game: frame for game, frame in found.items() if not frame.is_empty()}
    if not found:
        raise Lacking(f"in the six games in which all decide at once, {WANTED}")
    yield _table(evidence, found)
    for game, every in found.items():
        series, panels = series_of(game), list(_panels(game, every))
        cut = f" The first {MOST} of {len(panels)} line-ups." * (len(panels) > MOST)
        title = f"{GAMES[game]}: {series.name} by round"
        caption = f"{series.meaning}{cut} Unit: {series.unit}."
        yield Charts(f"against-{game.replace('_', '-')}", title, panels[:MOST], caption)


def _choices(evidence: Evidence, game: str) -> pl.DataFrame:
    """All choices in the configurations in which different players met; none if they never did."""
    every = choices(evidence, game)
    if every.is_empty():
        return every
    seats = every_seat(evidence, game).select("match", "lineup", "mixed").unique("match")
    every = every.join(seats, on="match")
    return every.join(every.filter("mixed"), on="configuration", how="semi")


def _table(evidence: Evidence, found: dict[str, pl.DataFrame]) -> Table:
    """Mean choices at mixed tables beside those alone, a row a player of each line-up."""
    rows = pl.concat([_rows(game, every) for game, every in found.items()])
    columns = (
        Column("title", "Game"), Column("lineup", "Line-up"), Column("player", "Player"),
        Column("what", "Choice"), Column("choice", "At the table", "", 3),
        Column("alone", "Alone", "", 3), Column("change", "Change", "95 % interval", 3),
    )  # fmt: skip
    seatings = {game: lineups_of(evidence, game) for game in found}
    return Table(
        "choices-at-mixed-tables", "Choices at mixed tables", rows, columns,
        leads=lambda row: lead_of(row, seatings[row["game"]]),
    )  # fmt: skip


def _rows(game: str, every: pl.DataFrame) -> pl.DataFrame:
    series = series_of(game)
    keys = [*BY, "mixed", "match", "configuration", "deal"]
    matches = every.group_by(keys, maintain_order=True).agg(pl.col("choice").mean())
    bounds = {"choice": series.bounds, "alone": series.bounds}
    here = means(matches.filter("mixed"), ["choice"], BY, bounds=bounds, strata=STRATA)
    own = matches.filter(~pl.col("mixed")).rename({"choice": "alone"})
    there = means(own, ["alone"], ["player"], bounds=bounds, strata=STRATA)
    squares = (pl.col("choice.error") ** 2, pl.col("alone.error") ** 2)
    total = squares[0] + squares[1]
    parts = squares[0] ** 2 / (pl.col("choice.clusters") - 1)
    parts += squares[1] ** 2 / (pl.col("alone.clusters") - 1)
    both = here.join(there, on="player", how="left", maintain_order="left").with_columns(
        pl.lit(game).alias("game"),
        pl.lit(GAMES[game]).alias("title"),
        pl.lit(f"{series.name}, {series.unit}").alias("what"),
        (pl.col("choice") - pl.col("alone")).alias("change"),
        total.sqrt().alias("change.error"),
        pl.when(parts > 0).then(total**2 / parts).otherwise(1.0).alias("freedom"),
    )
    quantile = pl.Series(stdtrit(both["freedom"].to_numpy(), 0.975))
    width = quantile * pl.col("change.error")
    ends = {"change.low": pl.col("change") - width, "change.high": pl.col("change") + width}
    return both.with_columns(**ends).drop("freedom").sort(BY)


def _panels(game: str, every: pl.DataFrame) -> Iterator[Panel]:
    alone = every.filter(~pl.col("mixed"))
    own = lines(alone, game, ["player"])
    met = lines(every.filter("mixed"), game, BY)
    for (lineup, *_), line in met.group_by("lineup", maintain_order=True):
        yield _panel(str(lineup), line, own)


def _panel(lineup: str, line: pl.DataFrame, own: pl.DataFrame) -> Panel:
    """One line-up: a line a player, and a dotted one where it also played alone."""
    players = line["player"].unique(maintain_order=True).to_list()
    traces = []
    for place, player in enumerate(players):
        here, there = line.filter(player=player), own.filter(player=player)
        traces.append(plain_line(player, here["round"].to_list(), here.to_dicts(), place))
        if not there.is_empty():
            x, rows = there["round"].to_list(), there.to_dicts()
            traces.append(plain_line(f"{player}, alone", x, rows, place, dotted=True))
    layout = {"xaxis": {"title": {"text": "round"}}, **legend(["both", "always"])}
    return Panel(lineup, "", 260, traces, layout)


AGAINST = Part("Against others", "Figure 11", against)
