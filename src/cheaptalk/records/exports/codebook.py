"""The codebook of an export: what every column of every table holds."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from cheaptalk.records.exports.columns import BOOLEAN, INTEGER, JSON, NUMBER, TEXT
from cheaptalk.records.exports.rows import STATUSES
from cheaptalk.records.exports.sheets import csv_line


class CodebookEntry(NamedTuple):
    """What one column of one table holds, in one game (or, without a game, in all)."""

    table: str
    column: str
    game: str
    type: str
    range: str
    meaning: str


RECORD: Mapping[str, tuple[str, str]] = {
    "match_id": (TEXT, "Hash of everything that defines the match."),
    "study": (TEXT, "The study that the match is exported with."),
    "game": (TEXT, "The game's name."),
    "rules_version": (INTEGER, "The version of the game's rules."),
    "parameters": (JSON, "The game's parameters, complete."),
    "deal_key": (TEXT, "Equal for matches with equal parameters that share a deal."),
    "repeat": (INTEGER, "Counts repetitions of a seating on one deal."),
    "seats": (JSON, "By place: label, what the study calls the player; spec, all its settings."),
    "status": (TEXT, f"How far the match has come: {STATUSES}."),
    "reason": (TEXT, "Why the match failed, or who forfeited."),
    "forfeits": (JSON, "Who forfeited it: player, place, kind of answer, model."),
    "dropped": (BOOLEAN, "Whether the study's policy makes the match no part of any measure."),
    "dropped_because": (TEXT, "Who gave which answers that are none."),
    "in_place_of": (TEXT, "The match in whose place this one was played on a fresh deal."),
    "planned": (BOOLEAN, "Whether the study as it now stands has this match."),
    "outcome": (JSON, "How it ended, in the game's terms."),
    "payoffs": (JSON, "What each place got, in the game's unit."),
    "kinds": (JSON, "How many answers were of each kind, by place; ok of valid imported ones."),
    "calls": (INTEGER, "How many calls the answers took; 0 until it has ended (open_calls)."),
    "input_tokens": (INTEGER, "What those calls sent, as providers count."),
    "output_tokens": (INTEGER, "What came back, as providers count."),
    "cached_tokens": (INTEGER, "Those of the input that providers had read before."),
    "reasoning_tokens": (INTEGER, "Those of the output that were spent on reasoning."),
    "dollars": (NUMBER, "What those calls cost at the prices of the time, as far as known."),
    "unpriced": (INTEGER, "Those calls that cost something nobody knows."),
    "uncounted": (INTEGER, "Those calls that took tokens nobody counted."),
    "implausible": (INTEGER, "Those calls whose tokens as reported cannot be true; ours count."),
    "begun": (NUMBER, "When the match began, in seconds since 1970; null where nobody noted it."),
    "finished": (NUMBER, "When the match ended or was imported, in seconds since 1970."),
    "bought_by": (JSON, "The studies that bought its calls; null where it has none."),
    "format": (INTEGER, "The version of the record's layout."),
    "package": (TEXT, "The version of cheaptalk that recorded the match."),
    "seed": (TEXT, "The seed of all chance in the match."),
    "deal": (JSON, "What nature decided before play."),
    "answers": (JSON, "Each answer: request (the question's number), seat, kind, action, calls."),
    "source": (JSON, "Where an imported match comes from, and what it has no other place for."),
    "judgements": (JSON, "What judges said of the match: judge, item, kind, verdict, calls, made."),
    "open_calls": (JSON, "Calls that are no part of the answers: failed, unresolved or live."),
}  # fmt: skip
"""What a record as one JSON object holds, by key: type and meaning."""
CHAT: Mapping[str, tuple[str, str]] = {
    "match_id": (TEXT, "Hash of everything that defines the match."),
    "game": (TEXT, "The game's name."),
    "seat": (TEXT, "The seat whose chat it is."),
    "place": (TEXT, "Where it sat."),
    "player": (TEXT, "What the study calls the player."),
    "status": (TEXT, f"How the match ended: {STATUSES}."),
    "payoff": (NUMBER, "What the place got, in the game's unit; null where it did not finish."),
    "messages": (JSON, "The briefing, then questions and answers that counted: role and content."),
}  # fmt: skip
"""What a chat holds, likewise."""


INTRODUCTION = """\
Every column of every table of this export. A column without a game is there for all games; one
that several games have is listed once for each. A place is what one player fills at a table; it
has a role, the part that strategies are written for, and one seat or, where its player must
forget, several. Where a column does not apply, or a number is undefined, it is empty: no value,
which is not an empty text. In JSON, numbers that are undefined or infinite are null.
In CSV files text stands in quotes and what is absent does not; some readers must be told so
(DuckDB: ``allow_quoted_nulls=false``).
"""


def write_codebook(folder: Path, found: list[CodebookEntry]) -> None:
    """Write the entries as ``codebook.csv`` and ``codebook.md``."""
    lines = [csv_line(CodebookEntry._fields), *map(csv_line, found)]
    (folder / "codebook.csv").write_text("".join(lines), encoding="utf-8", newline="")
    text = [f"# Codebook\n\n{INTRODUCTION}"]
    for table in dict.fromkeys(entry.table for entry in found):
        rows = [_row(entry[1:]) for entry in found if entry.table == table]
        head = [_row(CodebookEntry._fields[1:]), _row("---" for _ in CodebookEntry._fields[1:])]
        text.append(f"\n## {table}\n\n" + "".join([*head, *rows]))
    (folder / "codebook.md").write_text("".join(text), encoding="utf-8", newline="")


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"
