"""Languages of web pages: translated texts, and formats of numbers and amounts."""

import re
from collections.abc import Iterable, Mapping
from functools import cache, cached_property
from gettext import NullTranslations
from pathlib import Path

import jinja2
from babel import Locale
from babel.core import negotiate_locale

from cheaptalk.reports.pages import environment
from cheaptalk.rules.game_spec import LANGUAGES
from cheaptalk.styles.languages import DOLLARS, POINTS, SOURCE, translations, writing, writing_in
from cheaptalk.styles.writing import Writing, plural
from cheaptalk.text import capital, fixed
from cheaptalk.web.rooms.forms import option_label

UNREAD = "no answer could be read from the reply: "
"""Prefix of reasons why a model's response cannot be parsed; omitted for forms."""
TOKEN = re.compile(
    r'"(?P<name>[^"]*)"|(?P<players>player_\d+(?:, player_\d+)*)'
    r"|(?P<chips>\d+|no) (?P<colour>[\w -]{1,20}?) chips?\b"
    r"|(?P<items>\d+) (?P<kind>book|hat|ball)s?\b"
    r"|(?<=the colours are )(?P<colours>.+)|(?P<number>-?\d+(?:,\d{3})*(?:\.\d+)?)"
)
"""The variable parts of rules' and scripts' sentences, which catalogues write as ``{}``."""
PLAYER = re.compile(r"player_\d+")
NO_NAMES: Mapping[str, str] = {}
MONEY = re.compile(r"\$(\d+(?:,\d{3})*(?:\.\d+)?)")
"""An amount in a script's message."""
SENTENCE_END = re.compile(r"(?<=[.?!]) +")


def with_gaps(text: str) -> str:
    """Return a sentence of rules or scripts as in catalogues.

    >>> with_gaps("you hold only 2 red chips"), with_gaps('"price" must be 5 or less, not 7')
    ('you hold only {}', '{} must be {} or less, not {}')
    """
    return TOKEN.sub("{}", text)


class Language:
    """A language of web pages, for a study with a given currency.

    Args:
        code: the code of the language, as in Unicode's CLDR.
        currency: the currency in which people are paid.
        points: whether amounts in games are points instead of money.

    Attributes:
        direction: the direction of writing, ``ltr`` or ``rtl``.
        writing: the formats of numbers, and of amounts in games.
        money: the formats of payments.
    """

    def __init__(self, code: str, currency: str = DOLLARS, *, points: bool = False) -> None:
        locale = Locale.parse(code)
        self.code = code
        self.direction: str = locale.text_direction
        self.unit = POINTS if points else currency
        self.name = (locale.get_language_name(code) or code).capitalize()
        self.writing = writing_in(code, self.unit)
        self.money = writing_in(code, currency)

    @cached_property
    def words(self) -> NullTranslations:
        """The translations of all texts."""
        return translations(self.code)

    def text(self, message: str) -> str:
        return self.words.gettext(message) if message else ""

    def counted(self, one: str, several: str, number: int, **values: str) -> str:
        """Return a text with a number, in the singular or plural."""
        return self.words.ngettext(one, several, number) % ({"num": number} | values)

    def unclear(self, written: str) -> str:
        _ = self.text
        message = _("%(written)s is ambiguous; write numbers like this: %(example)s")
        return message % {"written": written, "example": self.writing.number(1234.5)}

    def refusal(self, reason: str, names: Mapping[str, str] = NO_NAMES) -> str:
        """Translate a rejection reason clause by clause; unknown clauses stay unchanged.

        Args:
            names: the names of players by seat.
        """
        clauses = reason.removeprefix(UNREAD).split("; ")
        return "; ".join(self._filled(clause, names) for clause in clauses)

    def spoken(self, message: str) -> str:
        """Translate a script's message sentence by sentence, and show amounts in the study's unit.

        Sentences that no catalogue contains stay in English.
        """
        shown = " ".join(self._filled(sentence) for sentence in SENTENCE_END.split(message))
        return MONEY.sub(self._amount, shown)

    def _amount(self, match: re.Match[str]) -> str:
        return self.writing.dollars(float(match[1].replace(",", "")))

    def _filled(self, sentence: str, names: Mapping[str, str] = NO_NAMES) -> str:
        template = with_gaps(sentence)
        translated = self.text(template)
        if translated == template and self.code != SOURCE:
            return sentence
        tokens = (self._token(match, names) for match in TOKEN.finditer(sentence))
        return re.sub(r"\{\}", lambda _: next(tokens, ""), translated)

    def _token(self, match: re.Match[str], names: Mapping[str, str]) -> str:
        parts = match.groupdict()
        if parts["name"] is not None:
            before, after = self.writing.marks or '""'
            return f"{before}{self._label(parts['name'], names)}{after}"
        if parts["players"]:
            seats = parts["players"].split(", ")
            return ", ".join(names.get(seat) or self.called(capital(seat)) for seat in seats)
        if colour := parts["colour"]:
            number = int(parts["chips"].replace("no", "0"))
            one, several = "%(num)s chip (%(colour)s)", "%(num)s chips (%(colour)s)"
            return self.counted(one, several, number, colour=self.text(colour))
        if parts["items"]:
            kind = f"%(num)s {parts['kind']}"
            return self.counted(kind, f"{kind}s", int(parts["items"]))
        if parts["colours"]:
            return ", ".join(map(self.text, parts["colours"].split(", ")))
        return self.writing.local(parts["number"])

    def _label(self, name: str, names: Mapping[str, str]) -> str:
        part = name.rpartition(".")[2]
        if PLAYER.fullmatch(part):
            return names.get(part) or self.called(capital(part))
        if (seat := part.partition("_")[0]) in names:
            return names[seat]
        translated = self.text(name)
        if translated != name:
            return translated
        label = capital(name)
        translated = self.text(label)
        return translated if translated != label or "_" in name else name

    def called(self, name: str) -> str:
        return self.writing.called(name)

    def fixed(self, value: float, decimals: int = 0) -> str:
        return self.writing.local(fixed(value, decimals))

    def paid(self, cents: float) -> str:
        return self.money.dollars(cents / 100, exact=True)

    def templates(self, *folders: Path) -> jinja2.Environment:
        templates = environment(*folders)
        templates.add_extension("jinja2.ext.i18n")
        templates.install_gettext_translations(self.words, newstyle=True)  # type: ignore[attr-defined]
        templates.filters |= {
            "dollars": self.writing.dollars,
            "fixed": self.fixed,
            "named": self.called,
            "number": self.writing.number,
            "option_label": option_label,
            "paid": self.paid,
            "percent": self.writing.percent,
            "plural": plural,
            "translated": self.text,
        }
        templates.globals["language"] = self
        return templates


@cache
def languages(currency: str = DOLLARS, *, points: bool = False) -> dict[str, Language]:
    """Return all page languages by code, English first, for a study's currency."""
    return {code: Language(code, currency, points=points) for code in LANGUAGES}


def style_writing(style: str | None, language: Language) -> Writing:
    """Return a prompt style's formats, with the unit of amounts on a page in a language."""
    return writing(style or "", language.unit)


def best_language(accepted: str, available: Iterable[str] = LANGUAGES) -> str:
    """Return the code of the available language that a browser prefers.

    Args:
        accepted: the ``Accept-Language`` header.

    >>> headers = ("de-AT,de;q=0.9,en;q=0.8", "ja, en;q=0.5", "ja", "")
    >>> [best_language(header) for header in headers]
    ['de', 'en', 'en', 'en']
    >>> best_language("en;q=0.3, de;q=0.7, *;q=0.1")
    'de'
    """
    preferences = sorted(map(_weighted, accepted.split(",")), key=lambda pair: -pair[1])
    codes = [code for code, weight in preferences if weight > 0]
    return negotiate_locale(codes, list(available), sep="-") or SOURCE


def _weighted(part: str) -> tuple[str, float]:
    code, _, weight = part.partition(";")
    try:
        return code.strip(), float(weight.strip().removeprefix("q=") or 1)
    except ValueError:
        return code.strip(), 0.0
