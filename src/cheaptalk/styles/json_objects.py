"""A search for JSON objects in text, in one pass, without completing or guessing any part.

A model's thinking is skipped, so that a draft is not read as an answer. From an opening brace, the
text up to the matching closing brace is parsed as a whole; no part of it is extracted.
"""

import json
import re
from contextlib import suppress
from typing import Any, NamedTuple

from cheaptalk.styles.relaxed_json import relaxed


class Unparsable(ValueError):
    """An error about a response without a readable answer; the message states the reason."""


class NoAnswer(Unparsable):
    """An error about a response that does not even begin an answer."""


BREAKS_OFF = "the reply breaks off within a JSON object"
NO_END_OF_THOUGHT = "the reply's thinking is begun and not ended, so no answer stands behind it"
NOT_JSON = (
    "what stands in braces is not JSON: names and words need double quotes, and numbers stand "
    "without commas or units"
)
WRAPPED = "answer"
"""Field that may contain the answer; providers accept no choice between objects at the top of a
schema, so it contains an answer with several forms."""
MARKS = r"\"'\u2018\u2019\u201c\u201d\u201e"
"""Straight and curly quotation marks, for a character class of a regular expression."""
MOST = 1_000
"""Maximum objects in a response, which limits the time to parse it."""
THINKING = {
    "tag": (
        r"<(?:think|thinking|thoughts?|reasoning|reflection|scratchpad|seed:think)\s*>",
        r"</(?:think|thinking|thoughts?|reasoning|reflection|scratchpad|seed:think)\s*>",
    ),
    "brackets": (r"\[THINK\]", r"\[/THINK\]"),
    "triangles": ("◁think▷", "◁/think▷"),
    "pipes": (r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>"),
    "channel": (r"<\|channel\|>(?:analysis|commentary)<\|message\|>", r"<\|end\|>"),
}
"""Patterns of the markers with which models begin and end their thinking."""

BEGINS = "|".join(f"(?P<{kind}>{begin})" for kind, (begin, _) in THINKING.items())
ENDS = "|".join(end for kind, (_, end) in THINKING.items() if kind != "channel")
LANDMARK = re.compile(
    rf"(?P<object>\{{(?=\s*(?:[{MARKS}}}/#]|\w+\s*:)))|[{{}}]|(?P<begins>{BEGINS})|(?P<ends>{ENDS})",
    re.IGNORECASE,
)
"""Tokens outside objects: the first brace of an object, other braces, and markers of thinking."""
INSIDE = re.compile(r'\\.|"[^"\\]*(?:\\.[^"\\]*)*\\?(?P<closed>")?|[{}]', re.DOTALL)
"""Tokens within an object: strings, braces and escaped characters."""

FAULTS = (
    (r".['\u2018\u2019]", "names and words need double quotes, not single ones"),
    (r".[\u201c\u201d\u201e]", 'quotation marks must be straight ones (")'),
    (r".?,\s*[}\]]", "a comma stands before a closing bracket, with nothing behind it"),
    (r".[$€£]|,\d|\d[%\w]|\d \w", "numbers stand without units and thousands separators"),
    (r".<", "a blank of the form is not filled in"),
    (r".(?:or\b|\|)", "one of the values must be chosen"),
    (r"\"\w", 'a quotation mark within a text must be written \\"'),
)
"""Patterns of invalid JSON, from the character before the error, with the messages."""


class Braced(NamedTuple):
    """A text in braces, from ``start`` to ``end`` of a response.

    Attributes:
        text: the complete text, with the braces.
        data: the JSON object; None if the text is not JSON.
        fault: why the text is not JSON.
        comments: the comments within the object.
    """

    text: str
    start: int
    end: int
    data: dict[str, Any] | None
    fault: str = ""
    comments: tuple[str, ...] = ()


def objects(text: str) -> tuple[list[Braced], str]:
    """Return all JSON objects outside thinking blocks, and texts in braces that resemble one.

    Objects within other objects are not returned. Strings may contain line breaks.

    Returns:
        The objects, and the text with spaces in place of the thinking.

    Raises:
        Unparsable: the text ends within an object or within thinking, braces do not match, there
            are too many objects, or an object is nested too deeply or gives a key two values.
    """
    braced: list[Braced] = []
    parts: list[str] = []
    open_braces = position = start = 0
    while mark := LANDMARK.search(text, position):
        position = mark.end()
        if mark["object"]:
            braced.append(_object_at(text, mark.start()))
            position = braced[-1].end
            if len(braced) > MOST:
                raise Unparsable(f"the reply holds more than {MOST:,} pairs of braces")
        elif mark["begins"]:
            position = _end_of_thinking(text, mark)
            parts += [text[start : mark.start()], " " * (position - mark.start())]
            start = position
        elif mark["ends"]:  # the thinking began before the response
            braced, open_braces, start = [], 0, position
            parts = [" " * position]
        elif mark[0] == "{":
            open_braces += 1
        elif open_braces:
            open_braces -= 1
        elif braced:
            raise Unparsable("the reply closes a brace that it did not open")
    return braced, "".join([*parts, text[start:]])


def after_thinking(text: str) -> str:
    """Return a text without thinking blocks at its beginning; raise an error if one doesn't end."""
    position, opening = 0, re.compile(rf"\s*(?P<begins>{BEGINS})", re.IGNORECASE)
    while mark := opening.match(text, position):
        position = _end_of_thinking(text, mark)
    ends = re.compile(ENDS, re.IGNORECASE)
    while end := ends.search(text, position):
        position = end.end()
    return text[position:]


def _end_of_thinking(text: str, opening: re.Match[str]) -> int:
    kind = next(kind for kind in THINKING if opening[kind])
    end = re.compile(THINKING[kind][1], re.IGNORECASE).search(text, opening.end())
    if end is None:
        raise Unparsable(NO_END_OF_THOUGHT)
    return end.end()


def _object_at(text: str, start: int) -> Braced:
    """Return the text from the brace at ``start`` to the matching closing brace."""
    depth = 0
    for token in INSIDE.finditer(text, start):
        if token[0] == "{":
            depth += 1
        elif token[0] == "}":
            depth -= 1
            if not depth:
                return _decoded(text, start, token.end())
        elif token[0][0] == '"' and not token["closed"]:
            break
    raise Unparsable(_decoded(text, start, len(text)).fault or BREAKS_OFF)


def _decoded(text: str, start: int, end: int) -> Braced:
    part = text[start:end]
    try:
        return Braced(part, start, end, DECODER.decode(part))
    except Unparsable:
        raise
    except RecursionError as error:
        raise Unparsable("the reply is nested too deeply to be read") from error
    except json.JSONDecodeError as error:
        return _relaxed(part, start) or Braced(part, start, end, None, _fault(error))
    except ValueError:
        return Braced(part, start, end, None, "a number has too many digits")


def _relaxed(part: str, start: int) -> Braced | None:
    """Return an object that resembles JSON and has only one meaning; None for any other text."""
    if (converted := relaxed(part)) is None:
        return None
    text, comments = converted
    with suppress(json.JSONDecodeError):
        return Braced(part, start, start + len(part), DECODER.decode(text), "", tuple(comments))
    return None


def _fault(error: json.JSONDecodeError) -> str:
    """Return why a text is not valid JSON, or "" if the text merely ends too early."""
    if error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string"):
        return ""
    context = error.doc[: error.pos].rstrip()[-1:] + error.doc[error.pos : error.pos + 20]
    for pattern, fault in FAULTS:
        if re.match(pattern, context):
            return f"what stands in braces is not JSON: {fault}"
    return NOT_JSON


def _without_conflict(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in pairs:
        if key in values and values[key] != value:
            key_text = json.dumps(key[:80])
            raise Unparsable(f"the reply gives {key_text} two different values; give exactly one")
        values[key] = value
    return values


DECODER = json.JSONDecoder(object_pairs_hook=_without_conflict, strict=False)
