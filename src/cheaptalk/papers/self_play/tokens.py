"""How long dialogues are in the tokens of GPT-2, which the paper counts (Figure 7, left).

Its code counts the tokens of every turn with the prefix that its models write: ``[message] ...`` or
``[propose] (1 books, 2 hats, 0 balls)``; corrected answers are left out. GPT-2's tokeniser cuts a
text into pieces, by kinds of letters, and then cuts pieces apart until all that is left is in its
vocabulary (Radford et al. 2019, section 2.2). So there are at least as many tokens as pieces, and
the file ``merges.txt`` that comes with GPT-2 tells exactly how many.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Any

import polars as pl

from cheaptalk.records import MatchRecord
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.rules import CheaptalkError

MERGES = "merges"
"""The option with the path of GPT-2's merges.txt."""
SAID, CLAIMED = "[message] ", "[propose] ({} books, {} hats, {} balls)"
ITEMS = ("books", "hats", "balls")
PIECE = re.compile(
    r"'(?:s|t|re|ve|m|ll|d)| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+"
)  # fmt: skip
"""What the tokeniser cuts texts into: words, numbers and signs, each with a space before it."""
PRINTABLE = (*range(33, 127), *range(161, 173), *range(174, 256))
"""Bytes that stand for themselves in merges.txt; the others stand behind all bytes, in order."""
LETTERS = {byte: chr(byte) for byte in PRINTABLE} | {
    byte: chr(256 + place)
    for place, byte in enumerate(byte for byte in range(256) if byte not in PRINTABLE)
}


@dataclass(frozen=True)
class Dialogues:
    """What was said in matches.

    Attributes:
        turns: the texts of a match's turns as the paper's models write them, by the match's id.
    """

    turns: dict[str, list[str]] = field(default_factory=dict)

    def add(self, record: MatchRecord) -> None:
        """Note a match."""
        actions = (answer["action"] for answer in record.body.get("answers") or ())
        self.turns[record.id] = [turn_text(action) for action in actions if action]

    def join(self, later: "Dialogues") -> None:
        """Take over another one's."""
        self.turns.update(later.turns)

    def messages(self, match: str) -> list[str]:
        """The messages of a match that are not empty."""
        said = (text.removeprefix(SAID) for text in self.turns[match] if text.startswith(SAID))
        return [text for text in said if text]


def turn_text(action: Mapping[str, Any]) -> str:
    """A turn as the paper's models write it.

    >>> turn_text({"message": "Hi!"}), turn_text({"books": 1, "hats": 0, "balls": 2})
    ('[message] Hi!', '[propose] (1 books, 0 hats, 2 balls)')
    """
    if action.get("books") is None:
        return SAID + (action.get("message") or "")
    return CLAIMED.format(*(action[item] for item in ITEMS))


def read_merges(file: Path) -> dict[tuple[str, str], int]:
    """The pairs of parts of words that are joined, with their rank: the first is joined first.

    Raises:
        CheaptalkError: the file cannot be read, or is none of merges.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CheaptalkError(f"{file}: cannot be read: {error}") from error
    rules = [line.split(" ") for line in lines if line and not line.startswith("#version")]
    if not rules or any(len(rule) != 2 for rule in rules):
        raise CheaptalkError(f"{file}: is no merges.txt of GPT-2, which has two parts a line")
    return {(left, right): rank for rank, (left, right) in enumerate(rules)}


def part_count(piece: str, merges: Mapping[tuple[str, str], int]) -> int:
    """How many tokens a piece has.

    >>> part_count("low", {("l", "o"): 0, ("lo", "w"): 1}), part_count("low", {("o", "w"): 0})
    (1, 2)
    """
    parts = [LETTERS[byte] for byte in piece.encode()]
    while len(parts) > 1:
        first = min(pairwise(parts), key=lambda pair: merges.get(pair, inf))
        if first not in merges:
            break
        joined: list[str] = []
        for part in parts:
            if joined and (joined[-1], part) == first:
                joined[-1] += part
            else:
                joined.append(part)
        parts = joined
    return len(parts)


def token_counts(
    dialogues: Mapping[str, Iterable[str]], merges: Mapping[tuple[str, str], int] | None
) -> dict[str, int]:
    """The tokens of each dialogue; its pieces where merges are not known."""
    found = {
        match: Counter(piece for text in texts for piece in PIECE.findall(text))
        for match, texts in dialogues.items()
    }
    if merges is None:
        return {match: pieces.total() for match, pieces in found.items()}
    sizes = {piece: part_count(piece, merges) for piece in set().union(*found.values())}
    return {
        match: sum(count * sizes[piece] for piece, count in pieces.items())
        for match, pieces in found.items()
    }


def dialogue_tokens(evidence: Evidence) -> pl.DataFrame:
    """How many tokens the dialogue of each match has: ``match`` and ``gpt2``."""
    file = evidence.options.get(MERGES)
    merges = None if file is None else read_merges(Path(file))
    counts = token_counts(evidence.observed(Dialogues).turns, merges)
    schema = {"match": pl.String, "gpt2": pl.Float64}
    return pl.DataFrame(list(counts.items()), schema, orient="row")
