"""Tables at which different players sit together: what each gets, and what it chooses."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl
from scipy.special import stdtrit

from cheaptalk.frames.reader import places_in
from cheaptalk.papers.gama.rounds import CHOICES, choices, lines, plain_line, series_of
from cheaptalk.papers.gama.scores import GAMES
from cheaptalk.records import query_of
from cheaptalk.reports.figures import Panel, legend_above
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import means
from cheaptalk.reports.recipes.parts import Charts, Header, Lacking, Lead, ReportTable
from cheaptalk.statistics import STRATA

WANTED = (
    "no match in which different players sit at one table has finished; list a seating such as "
    "{rider: 1, fair: 9} in the pairing of a game"
)
VALUES = ("payoff", "above", "score")
MOST = 24
"""Line-ups that are drawn of a game."""
BY = ["lineup", "player"]


def mixed(evidence: Evidence) -> Iterator[ReportTable]:
    """What players get at tables where different ones sit, a row a player of each line-up.

    A seat's payoff is the sum over the rounds, in the unit of its game; a player's is the mean over
    the seats that it fills, match by match. Above the table: that, less the mean payoff of all
    seats of the match, so that what makes a match good for everybody drops out. Alone: its mean
    payoff where it fills every seat itself, in the same settings. The score is the table's as a
    whole. 95 % intervals are clustered by deal within configurations (CR1, Student's t).
    """
    games = [game for game in evidence.played(list(GAMES)) if not seated(evidence, game).is_empty()]
    if not games:
        raise Lacking(WANTED)
    lineups = {game: lineups_of(evidence, game) for game in games}
    frame = pl.concat([_mixed_rows(evidence, game) for game in games])
    columns = (
        Header("title", "Game"), Header("lineup", "Line-up"), Header("player", "Player"),
        Header("payoff", "Payoff", "a seat", 1), Header("above", "Above the table", "a seat", 1),
        Header("alone", "Alone", "a seat", 1), Header("score", "Score of the table", "0 to 100", 1),
    )  # fmt: skip
    yield ReportTable(
        "mixed-tables", "Payoffs at mixed tables", frame, columns,
        leads=lambda row: lead_of(row, lineups[row["game"]]),
    )  # fmt: skip


def lineup(players: Mapping[str, str | None]) -> str:
    """Who sits at a table, whatever the order: the most frequent first.

    >>> lineup({"player_1": "rider", "player_2": "fair", "player_3": "fair"})
    'fair x 2, rider'
    """
    counts = Counter(label for label in players.values() if label is not None)
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return ", ".join(label if count == 1 else f"{label} x {count}" for label, count in ordered)


def lineups_of(evidence: Evidence, game: str) -> dict[str, list[dict[str, str]]]:
    """The seatings of each line-up: labels by place."""
    frame = evidence.scored(game)
    seats = [name for name in frame.columns if name.startswith("player.")]
    found: dict[str, list[dict[str, str]]] = {}
    for row in frame.select(seats).unique(maintain_order=True).iter_rows(named=True):
        players = {name.removeprefix("player."): label for name, label in row.items() if label}
        found.setdefault(lineup(players), []).append(players)
    return found


def every_seat(evidence: Evidence, game: str) -> pl.DataFrame:
    """One row a match and player: its mean payoff over its seats, and how that differs.

    Columns: ``match``, ``configuration``, ``deal``, ``lineup``, ``player``, ``payoff``, ``above``
    (the mean payoff of all seats taken off), ``score`` of the table, ``mixed``.
    """
    frame = evidence.scored(game)
    seats = places_in(frame)
    names = {
        tuple(players.get(seat) for seat in seats): name
        for name, of in lineups_of(evidence, game).items() for players in of
    }  # fmt: skip
    players = frame.select(f"player.{seat}" for seat in seats)
    frame = frame.with_columns(
        pl.Series("lineup", [names[row] for row in players.iter_rows()], dtype=pl.String)
    )
    kept = ["match", "configuration", "deal", "lineup", "score"]
    parts = [
        frame.select(*kept, player=f"player.{seat}", payoff=f"payoff.{seat}") for seat in seats
    ]
    every = pl.concat(parts).drop_nulls("player")
    return (
        every.with_columns(
            above=pl.col("payoff") - pl.col("payoff").mean().over("match"),
            mixed=pl.col("player").n_unique().over("match") > 1,
        )
        .group_by(*kept, "player", "mixed", maintain_order=True)
        .agg(pl.col("payoff", "above").mean())
    )


def seated(evidence: Evidence, game: str) -> pl.DataFrame:
    """The rows of :func:`every_seat` at mixed tables."""
    return every_seat(evidence, game).filter("mixed")


def _mixed_rows(evidence: Evidence, game: str) -> pl.DataFrame:
    every = every_seat(evidence, game)
    by = ["lineup", "player"]
    met = every.filter("mixed")
    rows = means(met, VALUES, by, strata=STRATA)
    own = every.filter(~pl.col("mixed")).join(met, on="configuration", how="semi")
    own = means(own.rename({"payoff": "alone"}), ["alone"], ["player"], strata=STRATA)
    rows = rows.join(own, on="player", how="left", maintain_order="left")
    named = rows.select(pl.lit(GAMES[game]).alias("title"), pl.all(), pl.lit(game).alias("game"))
    return named.sort("lineup", "payoff", descending=[False, True])


def lead_of(row: Mapping[str, Any], lineups: Mapping[str, list[dict[str, str]]]) -> Lead:
    """The matches of a row: of its line-up where this sits in one order, else of its player."""
    players, *more = lineups[row["lineup"]]
    query = {"player": str(row["player"])} if more else query_of(players, None)
    return Lead(row["game"], query | {"status": "finished"})


def against(evidence: Evidence) -> Iterator[ReportTable | Charts]:
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


def _table(evidence: Evidence, found: dict[str, pl.DataFrame]) -> ReportTable:
    """Mean choices at mixed tables beside those alone, a row a player of each line-up."""
    rows = pl.concat([_rows(game, every) for game, every in found.items()])
    columns = (
        Header("title", "Game"), Header("lineup", "Line-up"), Header("player", "Player"),
        Header("what", "Choice"), Header("choice", "At the table", "", 3),
        Header("alone", "Alone", "", 3), Header("change", "Change", "95 % interval", 3),
    )  # fmt: skip
    seatings = {game: lineups_of(evidence, game) for game in found}
    return ReportTable(
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
    layout = {"xaxis": {"title": {"text": "round"}}, **legend_above()}
    return Panel(lineup, "", 260, traces, layout)
