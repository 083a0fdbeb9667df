"""Finding JSON objects among other words: every text in one pass, and nothing mended.

What stands in a model's thinking is passed over, so that a draft is no answer. A brace that begins
something like an object is followed to the brace that closes it: the whole is JSON or it is not,
and nothing is picked out of it.
"""

import json
import re
from typing import Any, NamedTuple


class Unreadable(ValueError):
    """A reply in which no answer could be read; the message tells its author why."""


BREAKS_OFF = "the reply breaks off within a JSON object"
NO_END_OF_THOUGHT = "the reply's thinking is begun and not ended, so no answer stands behind it"
NOT_JSON = (
    "what stands in braces is not JSON: names and words need double quotes, and numbers stand "
    "without commas or units"
)
MARKS = r"\"'\u2018\u2019\u201c\u201d\u201e"
"""Quotation marks, straight and curly, within a pattern's brackets."""
MOST = 1_000
"""Objects that a reply may hold, so that none takes long to read."""
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
"""How models mark their thinking: what begins it, and what ends it."""

BEGINS = "|".join(f"(?P<{kind}>{begin})" for kind, (begin, _) in THINKING.items())
ENDS = "|".join(end for kind, (_, end) in THINKING.items() if kind != "channel")
LANDMARK = re.compile(
    rf"(?P<object>\{{(?=\s*(?:[{MARKS}}}/#]|\w+\s*:)))|[{{}}]|(?P<begins>{BEGINS})|(?P<ends>{ENDS})",
    re.IGNORECASE,
)
"""What matters between objects: a brace that begins one, other braces, and bounds of thinking."""
INSIDE = re.compile(r'\\.|"[^"\\]*(?:\\.[^"\\]*)*\\?(?P<closed>")?|[{}]', re.DOTALL)
"""What matters within one: strings and, outside them, braces and escaped characters."""

FAULTS = (
    (r".['\u2018\u2019]", "names and words need double quotes, not single ones"),
    (r".[\u201c\u201d\u201e]", 'quotation marks must be straight ones (")'),
    (r".?,\s*[}\]]", "a comma stands before a closing bracket, with nothing behind it"),
    (r".(?:/[/*]|#)", "JSON holds no comments"),
    (r".(?:True|False|None)\b", "JSON writes true, false and null in small letters"),
    (r".[$€£]|,\d|\d[%\w]|\d \w", "numbers stand without units and thousands separators"),
    (r".<", "a blank of the form is not filled in"),
    (r".(?:or\b|\|)", "one of the values must be chosen"),
    (r"\"\w", 'a quotation mark within a text must be written \\"'),
)
"""What stands where JSON ends, with the character before it, and what is wrong with it."""


class Braced(NamedTuple):
    """Something in braces.

    Attributes:
        text: all of it, with its braces.
        start: where it starts in the text around it.
        end: where it ends in the text around it.
        data: what it holds; None if it is not JSON.
        fault: why it is not.
    """

    text: str
    start: int
    end: int
    data: dict[str, Any] | None
    fault: str = ""


def objects(text: str) -> tuple[list[Braced], str]:
    """Find all that stands in braces outside thinking and is, or tries to be, a JSON object.

    Only the outermost are listed. Their strings may hold line breaks.

    Returns:
        The objects, and the text in which blanks stand for the thinking.

    Raises:
        Unreadable: the text breaks off within one or within thinking, its braces do not match,
            there are too many, one is nested too deeply, or one gives a key two different values.
    """
    found: list[Braced] = []
    seen: list[str] = []
    braces = place = shown = 0
    while mark := LANDMARK.search(text, place):
        place = mark.end()
        if mark["object"]:
            found.append(_whole(text, mark.start()))
            place = found[-1].end
            if len(found) > MOST:
                raise Unreadable(f"the reply holds more than {MOST:,} pairs of braces")
        elif mark["begins"]:
            place = _behind(text, mark)
            seen += [text[shown : mark.start()], " " * (place - mark.start())]
            shown = place
        elif mark["ends"]:  # of thinking that began before the reply did
            found, braces, shown = [], 0, place
            seen = [" " * place]
        elif mark[0] == "{":
            braces += 1
        elif braces:
            braces -= 1
        elif found:
            raise Unreadable("the reply closes a brace that it did not open")
    return found, "".join([*seen, text[shown:]])


def after_thinking(text: str) -> str:
    """A text behind the thinking with which it begins.

    Raises:
        Unreadable: the thinking does not end.
    """
    place, begun = 0, re.compile(rf"\s*(?P<begins>{BEGINS})", re.IGNORECASE)
    while mark := begun.match(text, place):
        place = _behind(text, mark)
    ends = re.compile(ENDS, re.IGNORECASE)
    while end := ends.search(text, place):
        place = end.end()
    return text[place:]


def _behind(text: str, begun: re.Match[str]) -> int:
    """Where thinking that begins here has ended."""
    kind = next(kind for kind in THINKING if begun[kind])
    end = re.compile(THINKING[kind][1], re.IGNORECASE).search(text, begun.end())
    if end is None:
        raise Unreadable(NO_END_OF_THOUGHT)
    return end.end()


def _whole(text: str, start: int) -> Braced:
    """What stands between this brace and the one that closes it."""
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
    broken = _decoded(text, start, len(text))
    raise Unreadable(broken.fault or BREAKS_OFF)


def _decoded(text: str, start: int, end: int) -> Braced:
    part = text[start:end]
    try:
        return Braced(part, start, end, DECODER.decode(part))
    except Unreadable:
        raise
    except RecursionError as error:
        raise Unreadable("the reply is nested too deeply to be read") from error
    except json.JSONDecodeError as error:
        return Braced(part, start, end, None, _fault(error))
    except ValueError:
        return Braced(part, start, end, None, "a number has too many digits")


def _fault(error: json.JSONDecodeError) -> str:
    """Why something is not JSON; nothing where it only breaks off."""
    if error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string"):
        return ""
    near = error.doc[: error.pos].rstrip()[-1:] + error.doc[error.pos : error.pos + 20]
    for pattern, fault in FAULTS:
        if re.match(pattern, near):
            return f"what stands in braces is not JSON: {fault}"
    return NOT_JSON


def _without_conflict(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found and found[key] != value:
            named = json.dumps(key[:80])
            raise Unreadable(f"the reply gives {named} two different values; give exactly one")
        found[key] = value
    return found


DECODER = json.JSONDecoder(object_pairs_hook=_without_conflict, strict=False)
