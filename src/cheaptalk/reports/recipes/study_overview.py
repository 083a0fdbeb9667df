"""The overview of a study in numbers, with which all recipes begin."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from cheaptalk.reports.charts.chart import Lead
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import NoData, RecipePart
from cheaptalk.reports.recipes.tables import Header, ReportTable, texts
from cheaptalk.rules import game_title

COLUMNS = (
    Header("matches", "Matches", "", 0),
    Header("answers", "Answers", "", 0, "Requested moves that were made."),
    Header("messages", "Messages", "", 0, "Moves with a nonempty message."),
    Header("words", "Words", "in messages", 0, "Character sequences separated by whitespace."),
)


def played(evidence: Evidence) -> Iterator[ReportTable]:
    """The number of scored matches, and of the moves and messages in them.

    A match between copies of one player counts once for that player, with the moves of all copies.
    A match also counts for a player that never had a move.
    """
    games = evidence.once(activity)
    if games.is_empty():
        raise NoData("no match of this study has finished")

    def lead(row: Mapping[str, Any]) -> Lead:
        player = {"player": row["player"]} if "player" in row else {}
        return Lead(row["game"], {"status": "finished"} | player)

    columns = [*texts(title="Game"), *COLUMNS]
    yield ReportTable("played", "Matches by game", games, columns, leads=lead)
    order = {label: rank for rank, label in enumerate(sorted(evidence.labels, key=_natural))}
    players = _activity(evidence.moves, "player", "game").sort(
        "game", pl.col("player").replace_strict(order)
    )
    columns = [*texts(player="Player"), *columns]
    yield ReportTable("played-by-player", "Matches by player", players, columns, leads=lead)


def _natural(label: str) -> list[tuple[int, str]]:
    parts = re.split(r"(\d+)", label)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def activity(evidence: Evidence) -> pl.DataFrame:
    """Return the activity in the scored matches of each game, with the columns ``COLUMNS``."""
    return _activity(evidence.moves, "game").sort("game")


def _activity(moves: pl.DataFrame, *by: str) -> pl.DataFrame:
    titles = {game: game_title(game) for game in moves["game"].unique()}
    return moves.group_by(by, maintain_order=True).agg(
        pl.col("game").first().replace_strict(titles, return_dtype=pl.String).alias("title"),
        pl.col("match_id").n_unique().alias("matches"),
        pl.col("moves").sum().alias("answers"),
        pl.col("messages", "words").sum(),
    )


PLAYED = RecipePart("Overview", "", played, design=True)
