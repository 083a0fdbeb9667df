"""Detection and removal of first names in messages between two people.

Players often address each other by name. Names are therefore searched where English places a form
of address, in messages sent to a person, and where a person signs:

* after a greeting or thanks: "Hello Ada, ...", "Thank you, Ada!";
* at the start of a sentence before a comma: "Ada, I can offer ...";
* between commas, or after the last comma: "I see, Ada, that ...", "Take it, Ada!";
* in a person's own message after "my name is", or at the end: "Best regards, Ada".

Common words are never treated as names. A name must be capitalized, except between a greeting and a
comma or similar. Without a greeting, a word that the other player also writes in lower case is not
a name. Names that are detected are removed from every message of the game.

Detection is limited to English and names in Latin letters. It misses names that occur only in the
middle of a sentence, and names that are also words (Will, Grace) unless they follow a greeting. It
also removes capitalized words in such places that are not names. Alice, Bob and John are the games'
own names and are kept. Check the result before publishing it, and pass missed names.
"""

import re
from collections.abc import Collection, Iterable
from pathlib import Path

from cheaptalk.rules import CheaptalkError

MARK = "[name]"
"""Replacement of a name."""

GAME_NAMES = frozenset({"alice", "bob", "john", "jhon"})
"""Names that the games themselves use."""

_NAME = r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*"
_NAMES = rf"({_NAME}(?: {_NAME})?)"
_DASH = r"[\u2013\u2014]|-\s"
_CALLED = rf"(?=[ \t]*(?:[,.!?;:\n]|{_DASH}|$))"
_GREETING = r"\b(?i:hi|hello|hey|dear|greetings|good (?:morning|afternoon|evening|day))"
_HAILED = re.compile(rf"{_GREETING}\s+({_NAME})")
_GREETED = re.compile(rf"{_GREETING}[,!]?\s+{_NAMES}{_CALLED}")
_THANKED = re.compile(rf"\b(?i:thanks|thank you|welcome|sorry)[,!]?\s+{_NAMES}{_CALLED}")
_OPENING = re.compile(rf"(?:^|[.!?]\s|\n)[\W_]*{_NAMES}(?=\s*(?:,|{_DASH}))")
_AMID = re.compile(rf",\s+{_NAMES}(?=\s*(?:[,.!?\n]|$))")
_INTRODUCED = re.compile(rf"\b(?i:my name is|this is)\s+({_NAME})")
_SIGNED = re.compile(
    rf"\b(?:(?i:regards|sincerely|wishes|cheers)[,!.]?"
    rf"|(?i:best|thanks|thank you|yours|love)(?:[,!.]|\s*\n|\s*{_DASH}))"
    rf"\s*(?:{_DASH})?\s*({_NAME})[\s.!]*$"
)

COMMON = frozenset(Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").split())
"""Words that occur in the same positions as names."""


def names_to_hide(keep_names: bool, names: Iterable[str]) -> frozenset[str] | None:
    """Return the names to redact in addition to detected ones; None if redaction is disabled.

    Raises:
        CheaptalkError: names are to be kept and redacted.
    """
    redacted = frozenset(names)
    if keep_names and redacted:
        raise CheaptalkError("names can be kept or redacted, not both; choose one")
    return None if keep_names else redacted


def names_said(messages: Iterable[tuple[str, str]], people: Collection[str]) -> set[str]:
    """Return the first names detected in messages, which are given as (role, text) pairs.

    Args:
        people: the roles that people played; if empty, no names are returned.
    """
    sent = list(messages)
    received = [text for role, text in sent if any(person != role for person in people)]
    written = [text for role, text in sent if role in people]
    lowercase = {word for text in received for word in re.findall(_NAME, text) if word.islower()}
    certain = _calls((_HAILED,), received) + _calls((_INTRODUCED, _SIGNED), written)
    likely = _calls((_THANKED, _OPENING, _AMID), received)
    likely = [call for call in likely if not lowercase.intersection(map(str.lower, call))]
    capitals = [call for call in certain + likely if all(word[0].isupper() for word in call)]
    return {word for call in _calls((_GREETED,), received) + capitals for word in call}


def _calls(patterns: Iterable[re.Pattern[str]], texts: Iterable[str]) -> list[list[str]]:
    """Return the words of each passage that fits a name pattern, unless a word is common."""
    calls = [
        call.split() for text in texts for pattern in patterns for call in pattern.findall(text)
    ]
    return [call for call in calls if not any(map(_common, call))]


def _common(word: str) -> bool:
    stem = re.split(r"['\u2019]", word.lower())[0]
    return stem in COMMON or stem in GAME_NAMES


def redact(text: str, names: Collection[str]) -> tuple[str, int]:
    """Return a text with the given names replaced, and the number of replacements.

    Each name is removed as written, capitalized and in upper case; the lower case only if it is
    given.
    """
    forms = {form for name in names for form in (name, name.capitalize(), name.upper())}
    if not forms:
        return text, 0
    longest_first = sorted(forms, key=lambda form: (-len(form), form))
    pattern = "|".join(map(re.escape, longest_first))
    return re.subn(rf"(?<![^\W_])(?:{pattern})(?![^\W_])", MARK, text)
