"""Translation of the console's templates, which contain plain English text.

The extension marks the texts of a template for gettext before Jinja compiles it: the text between
tags, the values of attributes such as ``aria-label``, and sentences in Jinja expressions. A text
includes inline tags such as ``<b>``, and a placeholder for each expression in it:
``Deleted <b>{{ name }}</b>.`` becomes the message ``Deleted <b>%(x1)s</b>.``
"""

import re
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

import jinja2
from babel.dates import format_date
from jinja2.ext import Extension
from markupsafe import Markup

from cheaptalk.reports import pages
from cheaptalk.rules import game_title
from cheaptalk.rules.game_spec import LANGUAGES, LOCALE
from cheaptalk.styles.languages import SOURCE
from cheaptalk.text import capital, plain, readable
from cheaptalk.web.console.sentences import nouns, sentences
from cheaptalk.web.rooms.languages import Language, languages

PART = re.compile(
    r"(?P<comment>\{#.*?#\})|(?P<statement>\{%.*?%\})|\{\{-?(?P<expression>.*?)-?\}\}"
    r"|(?P<tag><(?:[^<>{]|\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}|\{)*>)|(?P<text>[^<{]+|.)",
    re.DOTALL,
)
"""The parts of a template, in order."""
INLINE = re.compile(r"</?(?:a|abbr|b|br|code|em|i|small|strong)\b")
"""Tags that can be part of a text."""
ATTRIBUTE = re.compile(r'((?:aria-label|placeholder|title|alt|data-what|data-done)=)"([^"]*)"')
LITERAL = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"")
READABLE = re.compile(r"[^\W\d_]{2}")
SENTENCE = re.compile(r"(?:[A-Z][a-z]|[^\W\d_].* |.* [^\W\d_]).*", re.DOTALL)
"""Text in an expression that people read: capitalised, or of several words."""
NUMBERED_STEP = re.compile(r"people\.path\.(\d+)\.(\w+)\.?(.*)")
"""The location of a step without a name in a study file, whose steps count from 0."""
UNREAD = re.compile(r"<(?:script|style|textarea)\b.*?</(?:script|style|textarea)>", re.DOTALL)
"""Elements whose content is no text."""


CONSOLE_LANGUAGES = tuple(
    code for code in LANGUAGES if code == SOURCE or (LOCALE / code / "console.po").exists()
)
"""Codes of the languages into which the console is translated."""


def templates(language: Language, *folders: Path) -> jinja2.Environment:
    """Return the templates in folders of the console, in a language.

    Filters for names, texts and numbers, such as ``plain`` and ``prose``, show them in the
    language.
    """
    text = sentences(language.code).translated

    def counted_nouns(number: int, noun: str) -> str:
        one, several = nouns(noun)
        shown = language.writing.number(number)
        return language.words.ngettext(one, several, number) % {"num": shown}

    def translated(written: str) -> str:
        return written if isinstance(written, Markup) else text(written)

    environment = language.templates(*folders)
    environment.add_extension(HtmlTranslation)
    environment.filters |= {
        "brief_moment": partial(_brief_moment, language=language),
        "capital": lambda written: capital(text(str(written))),
        "counted": counted_nouns,
        "elapsed": _elapsed,
        "fixed": language.fixed,
        "game_title": lambda name: text(game_title(name)),
        "moment": partial(_moment, language=language),
        "place": place_of,
        "plain": lambda name: text(plain(name)),
        "prose": lambda written: pages.prose(text(written)),
        "readable": partial(_readable, language=language),
        "translated": translated,
        "usd": lambda dollars: language.writing.dollars(dollars, exact=True),
    }
    environment.globals["languages"] = [languages()[code] for code in CONSOLE_LANGUAGES]
    return environment


def _moment(seconds: float, language: Language) -> str:
    then = datetime.fromtimestamp(seconds, UTC)
    locale = "en_GB" if language.code == SOURCE else language.code
    return f"{format_date(then, 'long', locale=locale)}, {then:%H:%M} UTC"


def _brief_moment(seconds: float, language: Language) -> str:
    """Return a time in UTC for a column whose heading names UTC."""
    if language.code == SOURCE:
        return pages.brief_moment(seconds)
    then = datetime.fromtimestamp(seconds, UTC)
    return f"{format_date(then, 'medium', locale=language.code)}, {then:%H:%M}"


def _elapsed(since: float) -> str:
    """Return the time since a moment as minutes and seconds, or as hours, minutes and seconds."""
    minutes, seconds = divmod(max(0, round(time.time() - since)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def _readable(value: object, language: Language) -> str:
    """Return a value, such as one of the log's details, with numbers in the language's format."""
    text = sentences(language.code).translated
    match value:
        case bool() | None:
            return text(readable(value))
        case int() | float():
            return language.writing.local(readable(value))
        case Mapping():
            return ", ".join(
                f"{text(plain(key))} {text(part) if key == 'role' else _readable(part, language)}"
                for key, part in value.items()
            )
        case list() | tuple():
            return ", ".join(_readable(part, language) for part in value)
    return str(value)


class Place(NamedTuple):
    """A location in a study file.

    Attributes:
        step: number of the step, from 1; 0 outside the path or if the step is named.
        kind: the kind of step, such as consent.
        rest: the location in the step, or the whole location outside numbered steps.
    """

    step: int
    kind: str
    rest: str


def place_of(location: str) -> Place:
    """Return a written location with the step's number from 1, as people count.

    >>> place_of("people.path.0.consent.text")
    Place(step=1, kind='consent', rest='text')
    >>> place_of("people.pay.base")
    Place(step=0, kind='', rest='people.pay.base')
    """
    if match := NUMBERED_STEP.fullmatch(location):
        return Place(int(match[1]) + 1, match[2], match[3])
    return Place(0, "", location)


class Part(NamedTuple):
    """A part of a template: its kind, one of the groups of :data:`PART`, and its source."""

    kind: str
    source: str


class HtmlTranslation(Extension):
    """A Jinja extension that marks the texts of HTML templates for gettext."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        """Return the source with calls of gettext in place of texts."""
        return "".join(_marked(source))


def _marked(source: str) -> Iterator[str]:
    position = 0
    for unread in UNREAD.finditer(source):
        yield from _marked_texts(source[position : unread.start()])
        yield unread[0]
        position = unread.end()
    yield from _marked_texts(source[position:])


def _marked_texts(source: str) -> Iterator[str]:
    run: list[Part] = []
    for match in PART.finditer(source):
        part = Part(str(match.lastgroup), match[0])
        if part.kind in ("text", "expression") or (
            part.kind == "tag" and INLINE.match(part.source) and "{%" not in part.source
        ):
            run.append(part)
            continue
        yield from _message(run)
        run = []
        yield _tag(part.source) if part.kind == "tag" else _sentences(part)
    yield from _message(run)


def _message(run: list[Part]) -> Iterator[str]:
    """Yield a run of text, expressions and inline tags as one message, if people read it."""
    while run and not _begins(run[0]):
        yield _as_is(run.pop(0))
    tail: list[Part] = []
    while run and not _begins(run[-1]):
        tail.insert(0, run.pop())
    if not any(part.kind == "text" and _is_readable(part.source) for part in run):
        yield from map(_as_is, run)
    elif not _is_balanced(run):
        inner: list[Part] = []
        for part in run:
            if part.kind == "tag":
                yield from _message(inner)
                yield _as_is(part)
                inner = []
            else:
                inner.append(part)
        yield from _message(inner)
    else:
        values: dict[str, str] = {}
        yield _call("".join(_placeholders(run, values)), values)
    yield from map(_as_is, tail)


def _is_readable(text: str) -> bool:
    return READABLE.search(text) is not None and '="' not in text


def _is_balanced(run: list[Part]) -> bool:
    """Return whether a run contains the opening and closing tag of each of its elements."""
    depth = 0
    for part in run:
        if part.kind == "tag" and not part.source.startswith("<br"):
            depth += -1 if part.source.startswith("</") else 1
        if depth < 0:
            return False
    return depth == 0


def _begins(part: Part) -> bool:
    """Return whether a message can begin or end with a part: readable text or an expression."""
    return part.kind == "expression" or (part.kind == "text" and bool(part.source.strip()))


def _placeholders(run: list[Part], values: dict[str, str]) -> Iterator[str]:
    """Yield the message of a run, and fill ``values`` with expressions by placeholder."""
    for part in run:
        if part.kind == "text":
            yield part.source.replace("%", "%%")
            continue
        position = 0
        for match in re.finditer(r"\{\{-?(.*?)-?\}\}", part.source, re.DOTALL):
            name = f"x{len(values) + 1}"
            values[name] = _translated_literals(match[1].strip())
            yield part.source[position : match.start()] + f"%({name})s"
            position = match.end()
        yield part.source[position:]


def _call(message: str, values: dict[str, str]) -> str:
    text = " ".join(message.split())
    before = " " if message[:1].isspace() else ""
    after = " " if message[-1:].isspace() else ""
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    arguments = "".join(f", {name}=({value})" for name, value in values.items())
    return f'{before}{{{{ _("{quoted}"{arguments}) }}}}{after}'


def _as_is(part: Part) -> str:
    return _tag(part.source) if part.kind == "tag" else _sentences(part)


def _tag(source: str) -> str:
    """Return a tag with the texts in its attributes marked."""
    return ATTRIBUTE.sub(_attribute, source)


def _attribute(match: re.Match[str]) -> str:
    parts = [Part(str(part.lastgroup), part[0]) for part in PART.finditer(match[2])]
    if any(part.kind == "statement" for part in parts):
        return match[0]
    return f'{match[1]}"{"".join(_message(parts))}"'


def _sentences(part: Part) -> str:
    return (
        _translated_literals(part.source)
        if part.kind in ("expression", "statement")
        else part.source
    )


def _translated_literals(code: str) -> str:
    """Mark the sentences among the string literals of Jinja code."""
    return LITERAL.sub(lambda match: _literal(match, code), code)


def _literal(match: re.Match[str], code: str) -> str:
    text = match[1] if match[1] is not None else match[2]
    before = code[: match.start()].rstrip()
    is_format = re.search(r"\|\s*(?:counted|format|attribute)\(\Z|attribute=\Z|==\Z|!=\Z", before)
    is_template = re.match(r"\{%-?\s*(?:extends|from|include|import)\b", code)
    if is_format or is_template or set('<%="') & {*text} or not SENTENCE.fullmatch(text):
        return match[0]
    return f"_({match[0]})"
