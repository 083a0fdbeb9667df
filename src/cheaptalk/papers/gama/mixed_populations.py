"""Tables at which different players sit together: what each gets, and what it chooses."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl
from scipy.special import stdtrit

from cheaptalk.frames.bounds import with_mean_bounds
from cheaptalk.frames.reader import places_in
from cheaptalk.papers.gama import charts as drawing
from cheaptalk.papers.gama.rounds import CHOICES, choices, lines, series_of
from cheaptalk.papers.gama.scores import GAMES
from cheaptalk.reports.charts.chart import DASHES, Axis, Chart, Lead
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import error_or_unseen, means
from cheaptalk.reports.recipes.parts import Charts, Lacking
from cheaptalk.reports.recipes.tables import Header, ReportTable
from cheaptalk.rules import game_box
from cheaptalk.statistics import STRATA
from cheaptalk.statistics.intervals import Bounds, BoundsColumns

WANTED = (
    "no match in which different players sit at one table has finished; list a seating such as "
    "{rider: 1, fair: 9} in the pairing of a game"
)
VALUES = ("payoff", "above", "score")
MOST = 24
"""Line-ups that are drawn of a game."""
BY = ["lineup", "player"]
ROLE = "player"
PAYOFF, ABOVE = (("payoff.least", "payoff.most"), ("above.least", "above.most"))
"""The columns that tell the least and the most that these can be."""


def mixed(evidence: Evidence) -> Iterator[ReportTable]:
    """What players get at tables where different ones sit, a row a player of each line-up.

    A seat's payoff is the sum over the rounds, in the unit of its game; a player's is the mean over
    the seats that it fills, match by match. Above the table: that, less the mean payoff of all
    seats of the match, so that what makes a match good for everybody drops out. Alone: its mean
    payoff where it fills every seat itself, in the same settings. The score is the table's as a
    whole. 95 % intervals are clustered by deal within configurations (CR1, Student's t).
    """
    seated = {game: every_seat(evidence, game) for game in evidence.played(list(GAMES))}
    seated = {game: every for game, every in seated.items() if every["mixed"].any()}
    if not seated:
        raise Lacking(WANTED)
    seatings = {game: seatings_of(evidence, game) for game in seated}
    frame = pl.concat([_mixed_rows(game, every) for game, every in seated.items()])
    columns = (
        Header("title", "Game"), Header("lineup", "Line-up"), Header("player", "Player"),
        Header("payoff", "Payoff", "a seat", 1), Header("above", "Above the table", "a seat", 1),
        Header("alone", "Alone", "a seat", 1), Header("score", "Score of the table", "0 to 100", 1),
    )  # fmt: skip
    yield ReportTable(
        "mixed-tables", "Payoffs at mixed tables", frame, columns,
        leads=lambda row: lead_of(row, seatings[row["game"]]),
    )  # fmt: skip


def lineup(players: Mapping[str, str | None]) -> str:
    """Who sits at a table, whatever the order: the most frequent first.

    >>> lineup({"player_1": "rider", "player_2": "fair", "player_3": "fair"})
    'fair x 2, rider'
    """
    counts = Counter(label for label in players.values() if label is not None)
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return ", ".join(label if count == 1 else f"{label} x {count}" for label, count in ordered)


def seatings_of(evidence: Evidence, game: str) -> pl.DataFrame:
    """One row a seating: the labels by place, as in the frames of matches, and the ``lineup``."""
    seatings = evidence.scored(game).select("^player\\..*$").unique(maintain_order=True)
    lineups = map(lineup, seatings.iter_rows(named=True))
    return seatings.with_columns(pl.Series("lineup", lineups, dtype=pl.String))


def every_seat(evidence: Evidence, game: str) -> pl.DataFrame:
    """One row a match and player: its mean payoff over its seats, and how that differs.

    Columns: ``match``, ``configuration``, ``deal``, ``lineup``, ``player``, ``payoff``, ``above``
    (the mean payoff of all seats taken off), ``score`` of the table, ``mixed``, and the least and
    the most that ``payoff`` and ``above`` can be.
    """
    frame = evidence.scored(game)
    places = places_in(frame)
    seats = [f"player.{place}" for place in places]
    frame = frame.join(seatings_of(evidence, game), on=seats, nulls_equal=True,
                       maintain_order="left", validate="m:1")  # fmt: skip
    kept = ["match", "configuration", "deal", "lineup", "score", "^game\\..*$"]
    parts = [
        frame.select(*kept, player=f"player.{place}", payoff=f"payoff.{place}") for place in places
    ]
    every = pl.concat(parts).drop_nulls("player")
    seated = (
        every.with_columns(
            above=pl.col("payoff") - pl.col("payoff").mean().over("match"),
            mixed=pl.col("player").n_unique().over("match") > 1,
        )
        .group_by(pl.exclude("payoff", "above"), maintain_order=True)
        .agg(pl.col("payoff", "above").mean(), pl.len().alias("filled"))
        .with_columns(others=pl.col("filled").sum().over("match") - pl.col("filled"))
    )
    return _bounded(seated, game)


def _bounded(seated: pl.DataFrame, game: str) -> pl.DataFrame:
    """With what payoffs can be: above the table is a share of the difference from the others."""
    own, (least, most) = with_mean_bounds(seated, game, ROLE, "filled")
    own = own.rename({least: PAYOFF[0], most: PAYOFF[1]})
    met, _ = with_mean_bounds(own, game, ROLE, "others")
    share = pl.col("others") / (pl.col("filled") + pl.col("others"))
    return met.with_columns(
        (share * (pl.col(PAYOFF[0]) - pl.col(most))).alias(ABOVE[0]),
        (share * (pl.col(PAYOFF[1]) - pl.col(least))).alias(ABOVE[1]),
    ).drop(least, most)


def _mixed_rows(game: str, every: pl.DataFrame) -> pl.DataFrame:
    met = every.filter("mixed")
    score = game_box(game).measures["score"].bounds
    bounds: dict[str, Bounds | BoundsColumns] = {"payoff": PAYOFF, "above": ABOVE, "score": score}
    rows = means(met, VALUES, BY, bounds=bounds, strata=STRATA)
    own = every.filter(~pl.col("mixed")).join(met, on="configuration", how="semi")
    own = means(own.rename({"payoff": "alone"}), ["alone"], ["player"], bounds={"alone": PAYOFF},
                strata=STRATA)  # fmt: skip
    rows = rows.join(own, on="player", how="left", maintain_order="left", validate="m:1")
    named = rows.select(pl.lit(GAMES[game]).alias("title"), pl.all(), pl.lit(game).alias("game"))
    return named.sort("lineup", "payoff", descending=[False, True])


def lead_of(row: Mapping[str, Any], seatings: pl.DataFrame) -> Lead:
    """The matches of a row: of its line-up where this sits in one order, else of its player."""
    players, *more = seatings.filter(lineup=row["lineup"]).drop("lineup").rows(named=True)
    seated = {"player": row["player"]} if more else players
    query = {name: label for name, label in seated.items() if label is not None}
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
    rows = pl.concat([_rows(game, every) for game, every in found.items()])
    columns = (
        Header("title", "Game"), Header("lineup", "Line-up"), Header("player", "Player"),
        Header("what", "Choice"), Header("choice", "At the table", "", 3),
        Header("alone", "Alone", "", 3), Header("change", "Change", "95 % interval", 3),
    )  # fmt: skip
    seatings = {game: seatings_of(evidence, game) for game in found}
    yield ReportTable(
        "choices-at-mixed-tables", "Choices at mixed tables", rows, columns,
        leads=lambda row: lead_of(row, seatings[row["game"]]),
    )  # fmt: skip
    for game, every in found.items():
        series = series_of(game)
        own = lines(every.filter(~pl.col("mixed")), game, ["player"])
        met = lines(every.filter("mixed"), game, BY).group_by("lineup", maintain_order=True)
        panels = [_panel(str(lineup), line, own) for (lineup, *_), line in met]
        cut = f" The first {MOST} of {len(panels)} line-ups." * (len(panels) > MOST)
        title = f"{GAMES[game]}: {series.name} by round"
        caption = f"{series.meaning}{cut} Unit: {series.unit}."
        yield Charts(f"against-{game.replace('_', '-')}", title, panels[:MOST], caption)


def _choices(evidence: Evidence, game: str) -> pl.DataFrame:
    """All choices in the configurations in which different players met; none if they never did."""
    every = choices(evidence, game)
    if every.is_empty():
        return every
    seats = (
        every_seat(evidence, game)
        .select("match", "lineup", "mixed")
        .unique("match", maintain_order=True)
    )
    every = every.join(seats, on="match", validate="m:1", maintain_order="left")
    return every.join(every.filter("mixed"), on="configuration", how="semi")


def _rows(game: str, every: pl.DataFrame) -> pl.DataFrame:
    """Mean choices at mixed tables beside those alone, a row a player of each line-up."""
    series = series_of(game)
    keys = [*BY, "mixed", "match", "configuration", "deal"]
    matches = every.group_by(keys, maintain_order=True).agg(pl.col("choice").mean())
    bounds = {"choice": series.bounds, "alone": series.bounds}
    here = means(matches.filter("mixed"), ["choice"], BY, bounds=bounds, strata=STRATA)
    own = matches.filter(~pl.col("mixed")).rename({"choice": "alone"})
    there = means(own, ["alone"], ["player"], bounds=bounds, strata=STRATA)
    squares = (error_or_unseen("choice") ** 2, error_or_unseen("alone") ** 2)
    total = squares[0] + squares[1]
    parts = squares[0] ** 2 / pl.col("choice.freedom") + squares[1] ** 2 / pl.col("alone.freedom")
    both = here.join(
        there, on="player", how="left", maintain_order="left", validate="m:1"
    ).with_columns(
        pl.lit(game).alias("game"),
        pl.lit(GAMES[game]).alias("title"),
        pl.lit(f"{series.name}, {series.unit}").alias("what"),
        (pl.col("choice") - pl.col("alone")).alias("change"),
        total.sqrt().alias("change.error"),
        pl.when(parts > 0).then(total**2 / parts).otherwise(1.0).alias("freedom"),
    )
    quantile = pl.Series(stdtrit(both["freedom"].to_numpy(), 0.975))
    width = quantile * pl.col("change.error")
    span = series.bounds[1] - series.bounds[0]
    ends = {
        "change.low": (pl.col("change") - width).clip(-span, span),
        "change.high": (pl.col("change") + width).clip(-span, span),
    }
    return both.with_columns(**ends).drop("freedom").sort(BY)


def _panel(lineup: str, line: pl.DataFrame, own: pl.DataFrame) -> Chart:
    """One line-up: a line a player, and a dotted one where it also played alone."""
    players = line["player"].unique(maintain_order=True).to_list()
    layers = []
    for place, player in enumerate(players):
        here, there = line.filter(player=player), own.filter(player=player)
        layers.append(drawing.line(player, here.to_dicts(), place))
        if not there.is_empty():
            alone = f"{player}, alone"
            layers.append(drawing.line(alone, there.to_dicts(), place, dash=DASHES[2]))
    return Chart(lineup, "", layers, Axis("round", whole=True))
