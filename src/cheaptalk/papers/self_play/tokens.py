"""Length of dialogues in GPT-2 tokens, as counted by the paper (Figure 7, left).

The paper's code counts the tokens of every turn as written by its models: ``[message] ...`` or
``[propose] (1 books, 2 hats, 0 balls)``, without corrected answers. GPT-2's tokeniser splits a text
into pieces by kinds of characters, and pieces into tokens of its vocabulary (Radford et al. 2019,
section 2.2). The number of pieces is a lower bound of the number of tokens, which requires GPT-2's
file ``merges.txt``.
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
"""The option for the path of GPT-2's merges.txt."""
MESSAGE_PREFIX, PROPOSAL = "[message] ", "[propose] ({} books, {} hats, {} balls)"
ITEMS = ("books", "hats", "balls")
PIECE = re.compile(r"'(?:s|t|re|ve|m|ll|d)| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")
"""The tokeniser's pieces: words, numbers and symbols, each with a preceding space."""
PRINTABLE = (*range(33, 127), *range(161, 173), *range(174, 256))
"""Bytes that merges.txt represents by the same code points; other bytes follow after 255."""
LETTERS = {byte: chr(byte) for byte in PRINTABLE} | {
    byte: chr(256 + index)
    for index, byte in enumerate(byte for byte in range(256) if byte not in PRINTABLE)
}


@dataclass(frozen=True)
class Dialogues:
    """The turns of matches, in the format of the paper's models, by match ID."""

    turns: dict[str, list[str]] = field(default_factory=dict)

    def add(self, record: MatchRecord) -> None:
        actions = (answer["action"] for answer in record.body.get("answers") or ())
        self.turns[record.id] = [turn_text(action) for action in actions if action]

    def join(self, later: "Dialogues") -> None:
        self.turns.update(later.turns)

    def messages(self, match: str) -> list[str]:
        """Return the non-empty messages of a match, without prefixes."""
        texts = (
            text.removeprefix(MESSAGE_PREFIX)
            for text in self.turns[match]
            if text.startswith(MESSAGE_PREFIX)
        )
        return [text for text in texts if text]


def turn_text(action: Mapping[str, Any]) -> str:
    """Return a turn in the format of the paper's models."""
    if action.get("books") is None:
        return MESSAGE_PREFIX + (action.get("message") or "")
    return PROPOSAL.format(*(action[item] for item in ITEMS))


def read_merges(file: Path) -> dict[tuple[str, str], int]:
    """Return the rank of each pair of word parts; pairs with lower ranks are joined first."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CheaptalkError(f"cannot read {file}: {error}") from error
    rules = [line.split(" ") for line in lines if line and not line.startswith("#version")]
    if not rules or any(len(rule) != 2 for rule in rules):
        raise CheaptalkError(f"{file} is not GPT-2's merges.txt: expected two parts per line")
    return {(left, right): rank for rank, (left, right) in enumerate(rules)}


def part_count(piece: str, merges: Mapping[tuple[str, str], int]) -> int:
    """Return the number of tokens of a piece of text."""
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
    """Count the tokens of each dialogue; without ``merges``, count words, numbers and symbols."""
    pieces_by_match = {
        match: Counter(piece for text in texts for piece in PIECE.findall(text))
        for match, texts in dialogues.items()
    }
    if merges is None:
        return {match: pieces.total() for match, pieces in pieces_by_match.items()}
    sizes = {piece: part_count(piece, merges) for piece in set().union(*pieces_by_match.values())}
    return {
        match: sum(count * sizes[piece] for piece, count in pieces.items())
        for match, pieces in pieces_by_match.items()
    }


def dialogue_tokens(evidence: Evidence) -> pl.DataFrame:
    """Return the number of GPT-2 tokens in the dialogue of each match."""
    file = evidence.options.get(MERGES)
    merges = None if file is None else read_merges(Path(file))
    counts = token_counts(evidence.observed(Dialogues).turns, merges)
    schema = {"match_id": pl.String, "gpt2": pl.Float64}
    return pl.DataFrame(list(counts.items()), schema, orient="row")
