"""The overview of a study in numbers, with which all recipes begin."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from cheaptalk.records import MatchRecord, VersionMismatch
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


@dataclass(frozen=True)
class Activity:
    """The matches, actions, messages and words by game and player, and each match's first move.

    The player is None for all players; a missing first move is None.
    """

    tallies: dict[tuple[str, str | None], list[int]] = field(default_factory=dict)
    firsts: dict[str, Mapping[str, Any] | None] = field(default_factory=dict)

    def add(self, record: MatchRecord) -> None:
        answers = record.body.get("answers") or ()
        by_actor: dict[str, list[int]] = {}
        for answer in answers:
            if (action := answer["action"]) is not None:
                tally = by_actor.setdefault(answer["actor"], [0, 0, 0])
                tally[0] += 1
                if words := len((action.get("message") or "").split()):
                    tally[1] += 1
                    tally[2] += words
        labels = {seat: record.label(seat) for seat in record.seats}
        seats = {} if by_actor.keys() <= labels.keys() else _seat_of(record)
        self._count(record.game, None, by_actor.values())
        for label in dict.fromkeys(labels.values()):
            own = [
                tally
                for actor, tally in by_actor.items()
                if (labels.get(seats.get(actor, actor)) or record.label(actor)) == label
            ]
            self._count(record.game, label, own)
        self.firsts[record.id] = answers[0]["action"] if answers else None

    def join(self, later: "Activity") -> None:
        for (game, label), (matches, *counts) in later.tallies.items():
            self._count(game, label, [counts], matches)
        self.firsts.update(later.firsts)

    def _count(
        self, game: str, label: str | None, tallies: Iterable[Sequence[int]], matches: int = 1
    ) -> None:
        total = self.tallies.setdefault((game, label), [0] * len(COLUMNS))
        total[0] += matches
        for tally in tallies:
            for index, count in enumerate(tally, start=1):
                total[index] += count


def played(evidence: Evidence) -> Iterator[ReportTable]:
    """The number of scored matches, and of the moves and messages in them.

    A match between copies of one player counts once for that player, with the moves of all copies.
    A match also counts for a player that never had a move.
    """
    tallies = evidence.once(activity).tallies
    if not tallies:
        raise NoData("no match of this study has finished")
    order = sorted(tallies, key=lambda tally: (tally[0], _natural(tally[1] or "")))
    rows = [
        {"title": game_title(game), "game": game, "player": who}
        | {column.key: count for column, count in zip(COLUMNS, tallies[game, who], strict=True)}
        for game, who in order
    ]
    frame = pl.DataFrame(rows, infer_schema_length=None)
    games = frame.filter(pl.col("player").is_null()).drop("player")

    def finished(row: Mapping[str, Any]) -> Lead:
        return Lead(row["game"], {"status": "finished"})

    def own(row: Mapping[str, Any]) -> Lead:
        return Lead(row["game"], {"status": "finished", "player": row["player"]})

    columns = [*texts(title="Game"), *COLUMNS]
    yield ReportTable("played", "Matches by game", games, columns, leads=finished)
    by_player = frame.drop_nulls("player").select("player", pl.exclude("player"))
    columns = [*texts(player="Player"), *columns]
    yield ReportTable("played-by-player", "Matches by player", by_player, columns, leads=own)


def _natural(label: str) -> list[tuple[int, str]]:
    parts = re.split(r"(\d+)", label)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def activity(evidence: Evidence) -> Activity:
    """Return the activity in all scored matches of a study."""
    return evidence.observed(Activity)


def _seat_of(record: MatchRecord) -> dict[str, str]:
    """Return the seat of each actor; empty if another version of the rules is installed."""
    try:
        return {actor.name: actor.seat for actor in record.rules.actors}
    except VersionMismatch:
        return {}


PLAYED = RecipePart("Overview", "", played, (Activity,), design=True)
