"""Groups of different players: payoffs and choices."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from cheaptalk.frames.bounds import with_mean_bounds
from cheaptalk.frames.reader import places_in
from cheaptalk.frames.seats import by_seat
from cheaptalk.papers.gama.rounds import CHOICES, choices, lines, mean_line, series_of
from cheaptalk.papers.gama.scores import GAMES, table
from cheaptalk.reports.charts.chart import DASHES, Axis, Chart, Lead
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import error_or_unseen, means
from cheaptalk.reports.recipes.parts import Charts, NoData, Shown
from cheaptalk.reports.recipes.tables import ReportTable
from cheaptalk.rules import get_game
from cheaptalk.statistics import STRATA
from cheaptalk.statistics.columns import with_matching
from cheaptalk.statistics.limits import Bounds, BoundsColumns, t_quantile, welch

NO_MIXED = (
    "no match between different players has finished; add a group such as {rider: 1, fair: 9} to "
    "the pairing of a game"
)
VALUES = ("payoff", "above", "score")
MAX_PANELS = 24
"""The maximum number of plotted line-ups per game."""
BY = ["lineup", "player"]
ROLE = "player"
PAYOFF, ABOVE = (("payoff.least", "payoff.most"), ("above.least", "above.most"))
"""The columns with the minimum and maximum of payoffs, and of payoffs above the group's mean."""


def mixed(evidence: Evidence) -> Iterator[ReportTable]:
    """Report the payoffs in groups of different players, with a row per player of each line-up.

    A seat's payoff is the sum over rounds, in the unit of the game; a player's payoff is the mean
    over the player's seats in a match. "Above the group" is the payoff minus the mean payoff of all
    seats. "Alone" is the mean payoff if the player fills all seats, with the same settings. The
    score is that of the whole group. 95 % confidence intervals are clustered by instance within
    configurations (CR1, Student's t).
    """
    seats = {game: every_seat(evidence, game) for game in evidence.played(list(GAMES))}
    seats = {game: frame for game, frame in seats.items() if frame["mixed"].any()}
    if not seats:
        raise NoData(NO_MIXED)
    seatings = {game: seatings_of(evidence, game) for game in seats}
    frame = pl.concat([_mixed_rows(game, frame) for game, frame in seats.items()])
    yield table(
        evidence, "mixed-groups", frame, leads=lambda row: lead_of(row, seatings[row["game"]])
    )


def lineup(players: Mapping[str, str | None]) -> str:
    """Return the labels of a match's players with their counts, such as "fair x 2, rider"."""
    counts = Counter(label for label in players.values() if label is not None)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(label if count == 1 else f"{label} x {count}" for label, count in ordered)


def seatings_of(evidence: Evidence, game: str) -> pl.DataFrame:
    """Return each distinct assignment of players to a game's seats, with its ``lineup``."""
    seatings = evidence.scored(game).select("^player_.*$").unique(maintain_order=True)
    lineups = map(lineup, seatings.iter_rows(named=True))
    return seatings.with_columns(pl.Series("lineup", lineups, dtype=pl.String))


def every_seat(evidence: Evidence, game: str) -> pl.DataFrame:
    """Return one row per match and player, with the player's mean payoff over seats.

    Columns: ``match_id``, ``configuration``, ``instance``, ``lineup``, ``player``, ``payoff``,
    ``above`` (the payoff minus the mean of all seats), ``score`` of the group, ``mixed``, and the
    minimum and maximum of ``payoff`` and ``above``.
    """
    frame = evidence.scored(game)
    columns = [f"player_{seat}" for seat in places_in(frame)]
    frame = with_matching(frame, seatings_of(evidence, game), columns, "m:1")
    columns_of_match = ["match_id", "configuration", "instance", "parameters", "lineup", "score"]
    needed = frame.select(*columns_of_match, "^(player|payoff)_.*$")
    rows = by_seat(needed, get_game(game), evidence.seats[game])
    by_player = (
        rows.select(*columns_of_match, "player", "payoff")
        .with_columns(
            above=pl.col("payoff") - pl.col("payoff").mean().over("match_id"),
            mixed=pl.col("player").n_unique().over("match_id") > 1,
        )
        .group_by(pl.exclude("payoff", "above"), maintain_order=True)
        .agg(pl.col("payoff", "above").mean(), pl.len().alias("filled"))
        .with_columns(others=pl.col("filled").sum().over("match_id") - pl.col("filled"))
    )
    with_own, (minimum, maximum) = with_mean_bounds(by_player, game, ROLE, "filled")
    with_own = with_own.rename({minimum: PAYOFF[0], maximum: PAYOFF[1]})
    with_others, _ = with_mean_bounds(with_own, game, ROLE, "others")
    share = pl.col("others") / (pl.col("filled") + pl.col("others"))
    return with_others.with_columns(
        (share * (pl.col(PAYOFF[0]) - pl.col(maximum))).alias(ABOVE[0]),
        (share * (pl.col(PAYOFF[1]) - pl.col(minimum))).alias(ABOVE[1]),
    ).drop(minimum, maximum)


def _mixed_rows(game: str, frame: pl.DataFrame) -> pl.DataFrame:
    in_groups = frame.filter("mixed")
    score = get_game(game).metrics["score"].bounds
    bounds: dict[str, Bounds | BoundsColumns] = {"payoff": PAYOFF, "above": ABOVE, "score": score}
    rows = means(in_groups, VALUES, BY, bounds=bounds, strata=STRATA)
    alone = frame.filter(~pl.col("mixed")).join(in_groups, on="configuration", how="semi")
    renamed = alone.rename({"payoff": "alone"})
    alone = means(renamed, ["alone"], ["player"], bounds={"alone": PAYOFF}, strata=STRATA)
    rows = with_matching(rows, alone, "player", "m:1")
    named = rows.select(pl.lit(GAMES[game]).alias("title"), pl.all(), pl.lit(game).alias("game"))
    return named.sort("lineup", "payoff", descending=[False, True])


def lead_of(row: Mapping[str, Any], seatings: pl.DataFrame) -> Lead:
    """Return a link to a line-up's matches or, if its seating varies, to the player's matches."""
    players, *further = seatings.filter(lineup=row["lineup"]).drop("lineup").rows(named=True)
    seated = {"player": row["player"]} if further else players
    query = {name: label for name, label in seated.items() if label is not None}
    return Lead(row["game"], query | {"status": "finished"})


def against(evidence: Evidence) -> Iterator[Shown]:
    """Compare a player's choices in mixed groups with those among its copies, at equal settings.

    The table shows means over rounds, with 95 % confidence intervals clustered by instance (CR1,
    Student's t), and the change from copies to the group, with a Welch-Satterthwaite interval for
    independent means. In the figures, solid lines are a player's means by round in the group, and
    dotted lines are means among copies. The gap shows how a player reacts to others.
    """
    frames = {}
    for game in evidence.played(list(CHOICES)):
        seats = every_seat(evidence, game).select("match_id", "lineup", "mixed")
        seats = seats.unique("match_id", maintain_order=True)
        frame = choices(evidence, game).join(
            seats, on="match_id", validate="m:1", maintain_order="left"
        )
        if frame["mixed"].any():
            frames[game] = frame.join(frame.filter("mixed"), on="configuration", how="semi")
    if not frames:
        raise NoData(f"in the six simultaneous games, {NO_MIXED}")
    rows = pl.concat([_rows(game, frame) for game, frame in frames.items()])
    seatings = {game: seatings_of(evidence, game) for game in frames}
    yield table(
        evidence,
        "choices-in-mixed-groups",
        rows,
        leads=lambda row: lead_of(row, seatings[row["game"]]),
    )
    for game, frame in frames.items():
        series = series_of(game)
        alone = lines(frame.filter(~pl.col("mixed")), game, ["player"])
        groups = lines(frame.filter("mixed"), game, BY).group_by("lineup", maintain_order=True)
        panels = [_panel(str(lineup), line, alone) for (lineup, *_), line in groups]
        cut = f" The first {MAX_PANELS} of {len(panels)} line-ups." * (len(panels) > MAX_PANELS)
        title = f"{GAMES[game]}: {series.name} by round"
        caption = f"{series.meaning}{cut} Unit: {series.unit}."
        yield Charts(f"against-{game.replace('_', '-')}", title, panels[:MAX_PANELS], caption)


def _rows(game: str, frame: pl.DataFrame) -> pl.DataFrame:
    series = series_of(game)
    keys = [*BY, "mixed", "match_id", "configuration", "instance"]
    matches = frame.group_by(keys, maintain_order=True).agg(pl.col("choice").mean())
    bounds = {"choice": series.bounds, "alone": series.bounds}
    in_group = means(matches.filter("mixed"), ["choice"], BY, bounds=bounds, strata=STRATA)
    matches_alone = matches.filter(~pl.col("mixed")).rename({"choice": "alone"})
    alone = means(matches_alone, ["alone"], ["player"], bounds=bounds, strata=STRATA)
    squares = (error_or_unseen("choice") ** 2, error_or_unseen("alone") ** 2)
    total = squares[0] + squares[1]
    parts = squares[0] ** 2 / pl.col("choice.freedom") + squares[1] ** 2 / pl.col("alone.freedom")
    joined = with_matching(in_group, alone, "player", "m:1").with_columns(
        pl.lit(game).alias("game"),
        pl.lit(GAMES[game]).alias("title"),
        pl.lit(f"{series.name}, {series.unit}").alias("what"),
        (pl.col("choice") - pl.col("alone")).alias("change"),
        total.sqrt().alias("change.error"),
        welch(total, parts).alias("freedom"),
    )
    width = pl.Series(t_quantile(joined["freedom"])) * pl.col("change.error")
    span = series.bounds[1] - series.bounds[0]
    ends = {
        "change.low": (pl.col("change") - width).clip(-span, span),
        "change.high": (pl.col("change") + width).clip(-span, span),
    }
    return joined.with_columns(**ends).drop("freedom").sort(BY)


def _panel(lineup: str, line: pl.DataFrame, lines_alone: pl.DataFrame) -> Chart:
    players = line["player"].unique(maintain_order=True).to_list()
    layers = []
    for index, player in enumerate(players):
        in_group, alone = line.filter(player=player), lines_alone.filter(player=player)
        layers.append(mean_line(player, in_group.to_dicts(), index))
        if not alone.is_empty():
            name = f"{player}, alone"
            layers.append(mean_line(name, alone.to_dicts(), index, dash=DASHES[2]))
    return Chart(lineup, "", layers, Axis("round", integer=True))
