"""Smoke test of the project's English: phrases that read as translated are rare."""

import re
from collections.abc import Callable

import pytest

from tests.language import text

LIMITS = {
    "indefinite persons": (r"\b(?:[Ss]ome|[Ee]very|[Aa]ny)body\b|\b[Ww]h(?:o|at|ich)ever\b", 2.0),
    "stand for be": (r"\b[Ss]tands?\b|\bstood\b", 2.0),
    "tell for report": (r"\b(?:[Tt]old|[Tt]ells?)\b", 2.0),
    "free relatives": (
        r"(?:^|[.!?]\s+)(?:Who|What|That which) (?!is the|are the|do|does|can|if)[a-z][^?]*[.;,]",
        0.5,
    ),
    "alone for only": (r"\b[Aa]lone\b", 2.0),
    "odd verbs": (r"\b(?:is asked for|is waited for|is given up|comes again|goes on)\b", 1.0),
}
"""Maximum occurrences per 10,000 words. The docs of Inspect AI stay below all of them."""
TEXTS: dict[str, Callable[[], list[str]]] = {
    "docs": text.docs_sentences,
    "command line": text.cli_strings,
    "docstrings": lambda: text.docstrings_and_names()[0],
}


@pytest.mark.parametrize("source", TEXTS)
def test_marker_frequencies_are_below_limits(source: str) -> None:
    passages = TEXTS[source]()
    words = sum(len(passage.split()) for passage in passages)
    assert words > 1_000
    for marker, (pattern, limit) in LIMITS.items():
        hits = [passage for passage in passages if re.search(pattern, passage)]
        share = 10_000 * len(hits) / words
        assert share <= limit, f"{marker}: {share:.1f} per 10,000 words, at most {limit}: {hits}"


def test_vague_names_are_rare() -> None:
    _, names = text.docstrings_and_names()
    vague = [name for name in names if text.VAGUE.fullmatch(name)]
    assert len(vague) / len(names) < 0.01
