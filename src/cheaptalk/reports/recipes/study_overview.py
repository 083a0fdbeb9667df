"""What was played, in numbers: a part that all recipes begin with."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from cheaptalk.records import MatchRecord, OtherVersion
from cheaptalk.reports.charts.chart import Lead
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import Lacking, RecipePart
from cheaptalk.reports.recipes.tables import Header, ReportTable
from cheaptalk.rules import game_title

COLUMNS = (
    Header("matches", "Matches", "", 0),
    Header("answers", "Answers", "", 0, "Moves that the rules asked for and that were given."),
    Header("messages", "Messages", "", 0, "Moves with a text to the others that is not empty."),
    Header("words", "Words", "in messages", 0, "Runs of characters between white space."),
)


@dataclass(frozen=True)
class Activity:
    """What was done in the matches of a study that count.

    Attributes:
        tallies: how many there are, and what was done and said in them (as ``COLUMNS``), by game
            and player; the player is None for all of them.
        firsts: the first move of each match by its id; None where it was not made.
    """

    tallies: dict[tuple[str, str | None], list[int]] = field(default_factory=dict)
    firsts: dict[str, Mapping[str, Any] | None] = field(default_factory=dict)

    def add(self, record: MatchRecord) -> None:
        """Count a match."""
        answers = record.body.get("answers") or ()
        labels = {place: record.label(place) for place in record.seats}
        if any(answer["seat"] not in labels for answer in answers):
            labels |= {seat: labels[place] for seat, place in _places(record).items()}
        done = {label: [1, 0, 0, 0] for label in labels.values()}
        for answer in answers:
            action, seat = answer["action"], answer["seat"]
            if action is not None:
                words = len((action.get("message") or "").split())
                tally = done[labels[seat] if seat in labels else record.label(seat)]
                tally[1] += 1
                tally[2] += words > 0
                tally[3] += words
        whole = [1, *map(sum, list(zip(*done.values(), strict=True))[1:])]
        for one, counts in ((None, whole), *done.items()):
            self._count((record.game, one), counts)
        self.firsts[record.id] = answers[0]["action"] if answers else None

    def join(self, later: "Activity") -> None:
        """Count what another one counted."""
        for key, counts in later.tallies.items():
            self._count(key, counts)
        self.firsts.update(later.firsts)

    def _count(self, key: tuple[str, str | None], counts: list[int]) -> None:
        known = self.tallies.get(key, [0] * len(COLUMNS))
        self.tallies[key] = [one + other for one, other in zip(known, counts, strict=True)]


def played(evidence: Evidence) -> Iterator[ReportTable]:
    """How many matches count, and how much was done and said in them.

    A match between copies of one player counts once for that player, with the moves of all copies.
    A match in which a player sat and never had a move counts for it too.
    """
    tallies = evidence.once(activity).tallies
    if not tallies:
        raise Lacking("no match of this study has finished")
    order = sorted(tallies, key=lambda one: (one[0], _natural(one[1] or "")))
    rows = [
        {"title": game_title(game), "game": game, "player": who}
        | {column.key: count for column, count in zip(COLUMNS, tallies[game, who], strict=True)}
        for game, who in order
    ]
    frame = pl.DataFrame(rows, infer_schema_length=None)
    games = frame.filter(pl.col("player").is_null()).drop("player")
    yield ReportTable(
        "played", "Matches by game", games, (Header("title", "Game"), *COLUMNS),
        leads=lambda row: Lead(row["game"], {"status": "finished"}),
    )  # fmt: skip
    yield ReportTable(
        "played-by-player", "Matches by player", frame.drop_nulls("player").select(
            "player", pl.exclude("player")
        ),
        (Header("player", "Player"), Header("title", "Game"), *COLUMNS),
        leads=lambda row: Lead(row["game"], {"status": "finished", "player": row["player"]}),
    )  # fmt: skip


def _natural(label: str) -> list[tuple[int, str]]:
    """What sorts ``gpt-10`` behind ``gpt-9``."""
    parts = re.split(r"(\d+)", label)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def activity(evidence: Evidence) -> Activity:
    """All matches that count, read once."""
    return evidence.observed(Activity)


def _places(record: MatchRecord) -> dict[str, str]:
    """The place of each seat; a seat is its own place where the installed rules do not fit."""
    try:
        return {seat.name: seat.place for seat in record.rules.seats}
    except OtherVersion:
        return {}


PLAYED = RecipePart("What was played", "", played, (Activity,), design=True)
