"""Codebook of an export: the meaning of every column of every table."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from cheaptalk.records.exports.columns import BOOLEAN, INTEGER, JSON, NUMBER, TEXT
from cheaptalk.records.exports.rows import STATUSES
from cheaptalk.records.exports.sheets import csv_line


class CodebookEntry(NamedTuple):
    """A codebook entry: the meaning of a column in the tables of one game or of all games."""

    table: str
    column: str
    game: str
    type: str
    range: str
    meaning: str


RECORD: Mapping[str, tuple[str, str]] = {
    "match_id": (TEXT, "Hash of everything that defines the match."),
    "study": (TEXT, "The exported study."),
    "game": (TEXT, "The game's name."),
    "rules_version": (INTEGER, "The version of the game's rules."),
    "parameters": (JSON, "All parameters of the game."),
    "instance_key": (TEXT, "Equal for matches with equal parameters that share an instance."),
    "repeat": (INTEGER, "Counts repetitions with the same players on the same instance."),
    "seats": (JSON, "The player in each seat: its label in the study; spec, all its settings."),
    "status": (TEXT, f"The status of the match: {STATUSES}."),
    "reason": (TEXT, "Why the match failed, or who forfeited."),
    "forfeits": (JSON, "The forfeits: player, seat, kind of answer, model."),
    "dropped": (BOOLEAN, "Whether the study's policy excludes the match from metrics."),
    "dropped_because": (TEXT, "The invalid answers for which the match is excluded."),
    "replaces": (TEXT, "The match that this replacement match replaces."),
    "planned": (BOOLEAN, "Whether the match is in the study's current plan."),
    "outcome": (JSON, "The outcome, as the game defines it."),
    "payoffs": (JSON, "The payoff of each seat, in the game's unit."),
    "kinds": (JSON, "Counts of answers by seat and kind; ok for valid imported answers."),
    "calls": (INTEGER, "The number of calls for the answers; 0 before the end (open_calls)."),
    "input_tokens": (INTEGER, "Input tokens of these calls, as the providers count them."),
    "output_tokens": (INTEGER, "Output tokens of these calls, as the providers count them."),
    "cached_tokens": (INTEGER, "Input tokens that the providers read from their caches."),
    "reasoning_tokens": (INTEGER, "Output tokens used for reasoning."),
    "dollars": (NUMBER, "The cost of these calls at the prices of the time, as far as known."),
    "unpriced": (INTEGER, "The number of these calls with an unknown cost."),
    "uncounted": (INTEGER, "The number of these calls with an unknown token count."),
    "implausible": (INTEGER, "The number of these calls whose reported tokens are implausible."),
    "begun": (NUMBER, "Start of the match in seconds since 1970; null if not recorded."),
    "finished": (NUMBER, "End or import of the match in seconds since 1970."),
    "bought_by": (JSON, "The studies that bought the calls; null if there are none."),
    "format": (INTEGER, "The version of the record format."),
    "package": (TEXT, "The version of cheaptalk that recorded the match."),
    "seed": (TEXT, "The seed of all random numbers in the match."),
    "instance": (JSON, "The instance: everything random before play."),
    "answers": (JSON, "Each answer: request number, actor, kind, action, calls."),
    "source": (JSON, "The origin of an imported match, and its data without a column here."),
    "judgements": (JSON, "Verdicts on the match: judge, item, kind, verdict, calls, made."),
    "open_calls": (JSON, "Calls that belong to no answer: failed, unresolved or live."),
}  # fmt: skip
"""Type and meaning of each key of a match's record in JSON."""
CHAT: Mapping[str, tuple[str, str]] = {
    "match_id": (TEXT, "Hash of everything that defines the match."),
    "game": (TEXT, "The game's name."),
    "actor": (TEXT, "The actor whose chat it is."),
    "seat": (TEXT, "The actor's seat."),
    "player": (TEXT, "The label of the player."),
    "status": (TEXT, f"The status of the match: {STATUSES}."),
    "payoff": (NUMBER, "The seat's payoff, in the game's unit; null if the match did not finish."),
    "messages": (JSON, "The briefing, then requests and final answers: role and content."),
}  # fmt: skip
"""Type and meaning of each key of a chat."""


INTRODUCTION = """\
Every column of every table of this export. A column without a game exists for all games; a column
of several games has a row for each. A seat is a position in a match, filled by one player. It has
a role, such as buyer, and one actor or, with short-lived players, several. If a column does not
apply, or a number is undefined, the cell is empty: a missing value, not an empty text. In JSON, NaN
and infinite numbers are null. In CSV files, text is quoted and missing values are not; some
programs need an option for this (DuckDB: ``allow_quoted_nulls=false``).
"""


def write_codebook(folder: Path, entries: list[CodebookEntry]) -> None:
    """Write the codebook to ``codebook.csv`` and ``codebook.md`` in a folder."""
    lines = [csv_line(CodebookEntry._fields), *map(csv_line, entries)]
    (folder / "codebook.csv").write_text("".join(lines), encoding="utf-8", newline="")
    text = [f"# Codebook\n\n{INTRODUCTION}"]
    for table in dict.fromkeys(entry.table for entry in entries):
        rows = [_row(entry[1:]) for entry in entries if entry.table == table]
        head = [_row(CodebookEntry._fields[1:]), _row("---" for _ in CodebookEntry._fields[1:])]
        text.append(f"\n## {table}\n\n" + "".join([*head, *rows]))
    (folder / "codebook.md").write_text("".join(text), encoding="utf-8", newline="")


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"
