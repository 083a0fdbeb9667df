"""Tables at which different players sit together: what each gets, against the others there."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from cheaptalk.records import query_of
from cheaptalk.reports.recipes.cells import means
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.gama.runs import GAMES
from cheaptalk.reports.recipes.parts import Column, Lacking, Lead, Part, Table
from cheaptalk.statistics import STRATA

WANTED = (
    "no match in which different players sit at one table has finished; list a seating such as "
    "{rider: 1, fair: 9} in the pairing of a game"
)
VALUES = ("payoff", "above", "score")


def mixed(evidence: Evidence) -> Iterator[Table]:
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
    frame = pl.concat([_rows(evidence, game) for game in games])
    columns = (
        Column("title", "Game"), Column("lineup", "Line-up"), Column("player", "Player"),
        Column("payoff", "Payoff", "a seat", 1), Column("above", "Above the table", "a seat", 1),
        Column("alone", "Alone", "a seat", 1), Column("score", "Score of the table", "0 to 100", 1),
    )  # fmt: skip
    yield Table(
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
    seats = [name.removeprefix("player.") for name in frame.columns if name.startswith("player.")]
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


def _rows(evidence: Evidence, game: str) -> pl.DataFrame:
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


MIXED = Part("Mixed tables", "", mixed)
