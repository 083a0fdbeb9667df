"""What was played, in numbers: a part that all recipes begin with."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, TypeAlias

import polars as pl

from cheaptalk.records import MatchRecord, OtherVersion
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import Header, Lacking, Lead, RecipePart, ReportTable
from cheaptalk.text import capital

COLUMNS = (
    Header("matches", "Matches", "", 0),
    Header("answers", "Answers", "", 0, "Moves that the rules asked for and that were given."),
    Header("messages", "Messages", "", 0, "Moves with a text to the others that is not empty."),
    Header("words", "Words", "in messages", 0, "Runs of characters between white space."),
)
MoveCounts: TypeAlias = tuple[int, int, int]
"""Answers, messages and words."""


@dataclass(frozen=True)
class Activity:
    """What was done in the matches of a study that count.

    Attributes:
        matches: how many, by game and player; the player is None for all of them.
        tallies: what was done and said in them, by the same.
        firsts: the first move of each match by its id; None where it was not made.
    """

    matches: Counter[tuple[str, str | None]] = field(default_factory=Counter)
    tallies: dict[tuple[str, str | None], MoveCounts] = field(default_factory=dict)
    firsts: dict[str, Mapping[str, Any] | None] = field(default_factory=dict)


def played(evidence: Evidence) -> Iterator[ReportTable]:
    """How many matches count, and how much was done and said in them.

    A match between copies of one player counts once for that player, with the moves of all copies.
    A match in which a player sat and never had a move counts for it too.
    """
    done = evidence.once(activity)
    matches, tallies = done.matches, done.tallies
    if not tallies:
        raise Lacking("no match of this study has finished")
    order = sorted(tallies, key=lambda one: (one[0], _natural(one[1] or "")))
    names = [column.key for column in COLUMNS]
    rows = [
        {"title": capital(game), "game": game, "player": who}
        | dict(zip(names, (matches[game, who], *tallies[game, who]), strict=True))
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
    found = Activity()
    for record in evidence.records(sorted(evidence.frames)):
        done = _tallies(record)
        whole = reduce(_sum, done.values(), (0, 0, 0))
        idle = {record.label(place): (0, 0, 0) for place in record.seats}
        for who, tally in ((None, whole), *(idle | done).items()):
            key = (record.game, who)
            found.matches[key] += 1
            found.tallies[key] = _sum(found.tallies.get(key, (0, 0, 0)), tally)
        answers = record.body.get("answers")
        found.firsts[record.id] = answers[0]["action"] if answers else None
    return found


def _tallies(record: MatchRecord) -> dict[str, MoveCounts]:
    """What was done in one match, by the label of who did it."""
    done: dict[str, MoveCounts] = {}
    for answer in record.body.get("answers", ()):
        if answer["action"] is not None:
            words = len((answer["action"].get("message") or "").split())
            before = done.get(answer["seat"], (0, 0, 0))
            done[answer["seat"]] = (before[0] + 1, before[1] + (words > 0), before[2] + words)
    places = _places(record) if done.keys() - record.seats.keys() else {}
    found: dict[str, MoveCounts] = {}
    for seat, tally in done.items():
        label = record.label(places.get(seat, seat))
        found[label] = _sum(found.get(label, (0, 0, 0)), tally)
    return found


def _sum(one: MoveCounts, other: MoveCounts) -> MoveCounts:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


def _places(record: MatchRecord) -> dict[str, str]:
    """The place of each seat; a seat is its own place where the installed rules do not fit."""
    try:
        return {seat.name: seat.place for seat in record.rules.seats}
    except OtherVersion:
        return {}


PLAYED = RecipePart("What was played", "", played)
