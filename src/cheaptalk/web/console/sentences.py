"""Translation of the sentences that code composes, such as error messages and warnings.

A catalogue lists such a sentence with ``{}`` for each value, and its translation with ``{0}`` for
the first value, ``{1}`` for the second one, and so on. Only the values that the package composes
are translated, too; names and quotations from studies stay as they are.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from babel.messages.pofile import read_po

from cheaptalk.rules import counted
from cheaptalk.rules.game_spec import LOCALE
from cheaptalk.styles.languages import SOURCE
from cheaptalk.web.rooms.languages import Language, languages

GAP = "{}"
FILLED = re.compile(r"\{(\d)\}")
"""A value in a translation."""
WORD = re.compile(r"[^\W\d_]{2}")
NUMBER = re.compile(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?|-?\d+\.\d+")
"""A number as the package writes it, if other languages write it differently."""
NUM = "%(num)s "
"""The number at the beginning of a count."""
EDGES = " ,;.:"
"""Characters between a value and the text around it, which catalogues omit."""
CURRENCY = re.compile(r"\b[A-Z]{3}\b")
COUNT = re.compile(r"(\d{1,3}(?:,\d{3})*) (.*[^\W\d_])")
"""A number of things, such as 1,200 matches."""
LOCATED = re.compile(r"([\w.-]+(?: [\w.-]+)?)(:?) (.+)", re.DOTALL)
"""A message with the name of the study, file or field that it is about."""
MAX_CACHED = 10_000
"""Translated sentences that are cached, because a search compares a sentence with all templates."""
SEPARATORS = [re.compile(pattern) for pattern in (r"(?<=[.?!]) ", "; ", r", (?:or )?")]
"""Separators of the parts of a message, the strongest first."""


class Template(NamedTuple):
    """A composed sentence: its message in the catalogue, and a pattern that finds its values."""

    message: str
    pattern: re.Pattern[str]


def nouns(noun: str) -> tuple[str, str]:
    """Return the messages for a number of things, in the singular and plural.

    >>> nouns("match")
    ('%(num)s match', '%(num)s matches')
    """
    one, several = (counted(number, noun).partition(" ")[2] for number in (1, 2))
    return f"%(num)s {one}", f"%(num)s {several}"


class Sentences:
    """The translations of composed sentences into a language."""

    def __init__(self, language: Language, messages: Iterable[str | tuple[str, ...]]) -> None:
        self.language = language
        self.templates: list[Template] = []
        self.plurals: dict[str, tuple[str, str]] = {}
        for message in messages:
            if isinstance(message, tuple):
                one, several = message[:2]
                for text in (one, several):
                    if text.startswith(NUM):
                        self.plurals[text.removeprefix(NUM)] = (one, several)
            elif GAP in message:
                self.templates.append(Template(message, _pattern(message)))
        self._translated = lru_cache(MAX_CACHED)(self._translation)
        self.templates.sort(key=lambda template: -len(template.message.replace(GAP, "")))

    def translated(self, sentence: str) -> str:
        """Return a sentence in the language; unknown sentences stay in English.

        The first letter and the full stop may be missing in the catalogue.
        """
        return self._translated(sentence)

    def _translation(self, sentence: str) -> str:
        return self._known(sentence) or self._in_parts(sentence) or sentence

    def _known(self, sentence: str) -> str:
        """Return the translation of a sentence that the catalogue contains, or ""."""
        text = sentence.removesuffix(".")
        end = sentence[len(text) :]
        for written, stop in ((sentence, ""), (text, end), (_lower(text), end)):
            exact = self.language.text(written)
            if found := exact if exact != written else self._counted(written):
                return _completed(found, sentence) + stop
        for message, pattern in self.templates:
            if match := pattern.fullmatch(text):
                values = [self._value(value) for value in match.groups()]
                found = self.language.text(message).removesuffix(".")
                found = _completed(found, sentence, is_capital=message[:1].isupper())
                return _filled(found, values) + end
        return ""

    def _counted(self, text: str) -> str:
        match = COUNT.fullmatch(text)
        forms = match and self.plurals.get(match[2])
        if not match or not forms:
            return ""
        number = int(match[1].replace(",", ""))
        shown = self.language.writing.number(number)
        return self.language.words.ngettext(*forms, number) % {"num": shown}

    def _in_parts(self, sentence: str) -> str:
        """Translate the parts of a list of sentences, or the message after a name."""
        *strong, weak = SEPARATORS
        for separator in strong:
            if shown := self._split(sentence, separator):
                return shown
        match = LOCATED.fullmatch(sentence)
        rest = match and (self._known(match[3]) or self._in_parts(match[3]))
        return f"{match[1]}{match[2]} {rest}" if match and rest else self._split(sentence, weak)

    def _split(self, sentence: str, separator: re.Pattern[str]) -> str:
        parts = separator.split(sentence)
        if len(parts) == 1:
            return ""
        shown = [self._known(part) or self._in_parts(part) for part in parts]
        if not any(shown):
            return ""
        values = [new or self._value(old) for new, old in zip(shown, parts, strict=True)]
        ends = [*separator.findall(sentence), ""]
        return "".join(map("".join, zip(values, ends, strict=True)))

    def _value(self, value: str) -> str:
        """Return a value in the language: a number, or a text that is not a name or quotation."""
        if not WORD.search(CURRENCY.sub("", value)):
            return NUMBER.sub(lambda number: self.language.writing.local(number[0]), value)
        inner = value.strip(EDGES)
        if " " not in inner:
            return value
        before, _, after = value.partition(inner)
        return before + self.translated(inner) + after


def _completed(found: str, sentence: str, *, is_capital: bool = False) -> str:
    """Return a translation that begins like the sentence, with a capital letter or not."""
    if sentence[:1].isupper():
        return found[:1].upper() + found[1:]
    return _lower(found) if is_capital and sentence[:1].islower() else found


def _filled(message: str, values: Sequence[str]) -> str:
    return FILLED.sub(lambda gap: values[int(gap[1])], message)


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _pattern(message: str) -> re.Pattern[str]:
    """Return the pattern of a composed sentence, without its full stop and in either case."""
    text = message.removesuffix(".")
    first = f"[{text[0].upper()}{text[0].lower()}]" if text[0].isalpha() else ""
    parts = text[1:] if first else text
    return re.compile(first + "(.*?)".join(map(re.escape, parts.split(GAP))), re.DOTALL)


@cache
def sentences(code: str) -> Sentences:
    """Return the translations of composed sentences into a language, by its code."""
    path = LOCALE / code / "console.po"
    if code == SOURCE or not path.exists():
        return Sentences(languages()[code], ())
    with path.open("rb") as file:
        ids = [entry.id for entry in read_po(file, locale=code) if entry.id]
    messages = (text if isinstance(text, str) else tuple(text) for text in ids)
    return Sentences(languages()[code], messages)
