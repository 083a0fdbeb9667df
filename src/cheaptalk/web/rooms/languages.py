"""Languages of web pages, based on translation catalogues.

Catalogues are in ``locale/CODE/LC_MESSAGES``: ``rooms.po`` for the pages, ``games.po`` for
descriptions of games, ``refusals.po`` for reasons why the rules reject an answer, and
``participants.po`` for everything outside games. They are compiled when they are loaded. English
has only a catalogue of rejection reasons, because models read the original texts.
"""

import re
from functools import cache
from gettext import GNUTranslations
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import jinja2
from babel import Locale
from babel.core import negotiate_locale
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.numbers import get_currency_name, get_currency_symbol

from cheaptalk.reports.pages import environment
from cheaptalk.styles.templates import writing
from cheaptalk.styles.writing import Writing
from cheaptalk.text import capital, fixed
from cheaptalk.web.rooms.forms import option_label

LOCALE = Path(__file__).parent / "locale"
CATALOGUES = ("rooms", "games", "refusals", "participants")
UNREAD = "no answer could be read from the reply: "
"""Prefix of reasons why a model's response cannot be parsed; omitted for forms."""
NAMED = re.compile(r'"[^"]*"|player_\d+(?:, player_\d+)*|-?\d+(?:,\d{3})*(?:\.\d+)?')
"""The variable parts of a rejection reason: quoted names, players and numbers."""
PLAYER = re.compile(r"player_\d+")
DOLLARS = "USD"
"""Default currency of the amounts in games."""
COUNTED = re.compile(r"(%\((?:num|rounds|players)\)s) (?=[^\W\d])")
"""The space between a number and its unit."""
SOURCE = "en"
"""The language of the source texts."""


class Translations(GNUTranslations):
    """Translations with non-breaking spaces between numbers and their units."""

    def gettext(self, message: str) -> str:
        return _unbroken(super().gettext(message))

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return _unbroken(super().ngettext(msgid1, msgid2, n))

    def pgettext(self, context: str, message: str) -> str:
        return _unbroken(super().pgettext(context, message))


def _unbroken(text: str) -> str:
    return COUNTED.sub("\\1\xa0", text)


def plural(value: float) -> int:
    """Return the number by which gettext selects singular or plural; 2 for fractions.

    >>> plural(1), plural(1.0), plural(0.5), plural(0)
    (1, 1, 2, 0)
    """
    return int(value) if value == int(value) else 2


class Language:
    """A language of web pages.

    ``style`` is the prompt style of the games in this language, such as ``german``.
    """

    def __init__(self, code: str, currency: str = DOLLARS) -> None:
        locale = Locale.parse(code)
        self.code = code
        self.currency = currency
        self.name = (locale.get_language_name(code) or code).capitalize()
        self.style = (locale.get_language_name(SOURCE) or code).lower()
        self.writing = writing(self.style)
        if currency != DOLLARS:
            sign = get_currency_symbol(currency, locale)
            self.writing = self.writing._replace(
                sign=f"{sign}\xa0" if sign[-1].isalpha() and self.writing.sign_first else sign,
                coin=get_currency_name(currency, 1, locale),
                coins=get_currency_name(currency, 2, locale),
            )
        self.words = _translations(code)

    def text(self, message: str) -> str:
        return self.words.gettext(message) if message else ""

    def unclear(self, written: str) -> str:
        _ = self.text
        message = _("%(written)s is ambiguous; write numbers like this: %(example)s")
        return message % {"written": written, "example": self.writing.number(1234.5)}

    def refusal(self, reason: str) -> str:
        """Translate a rejection reason clause by clause; unknown clauses stay unchanged."""
        return "; ".join(map(self._refusal, reason.removeprefix(UNREAD).split("; ")))

    def _refusal(self, reason: str) -> str:
        names = map(self._name, NAMED.findall(reason))
        return re.sub(r"\{\}", lambda _: next(names, ""), self.text(NAMED.sub("{}", reason)))

    def _name(self, text: str) -> str:
        if text.startswith('"'):
            before, after = self.writing.marks or '""'
            return f"{before}{self._label(text[1:-1])}{after}"
        if text.startswith("player_"):
            return ", ".join(self.writing.called(capital(name)) for name in text.split(", "))
        return self.writing.local(text)

    def _label(self, name: str) -> str:
        part = name.rpartition(".")[2]
        if PLAYER.fullmatch(part):
            return self.writing.called(capital(part))
        label = capital(name)
        translated = self.text(label)
        return translated if translated != label or "_" in name else name

    def fixed(self, value: float, decimals: int = 0) -> str:
        return self.writing.local(fixed(value, decimals))

    def paid(self, cents: int) -> str:
        return self.writing.dollars(cents / 100, exact=True)

    def templates(self, *folders: Path) -> jinja2.Environment:
        templates = environment(*folders)
        templates.add_extension("jinja2.ext.i18n")
        templates.install_gettext_translations(self.words, newstyle=True)  # type: ignore[attr-defined]
        templates.filters |= {
            "dollars": self.writing.dollars,
            "fixed": self.fixed,
            "named": self.writing.called,
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
def languages(currency: str = DOLLARS) -> dict[str, Language]:
    """Return all page languages by code, English first; amounts use the given currency."""
    folders = (path.name for path in LOCALE.iterdir() if path.is_dir())
    codes = sorted(folders, key=lambda code: (code != SOURCE, code))
    return {code: Language(code, currency) for code in codes}


def style_writing(style: str | None, currency: str) -> Writing:
    """Return a prompt style's format for numbers and for amounts in a currency."""
    for language in languages(currency).values():
        if language.style == style:
            return language.writing
    local = languages(currency)[SOURCE].writing
    return writing(style or "")._replace(sign=local.sign, coin=local.coin, coins=local.coins)


def best_language(accepted: str, currency: str = DOLLARS) -> Language:
    """Return the language that a browser prefers.

    Args:
        accepted: the ``Accept-Language`` header.

    >>> headers = ("de-AT,de;q=0.9,en;q=0.8", "fr, en;q=0.5", "fr", "")
    >>> [best_language(header).code for header in headers]
    ['de', 'en', 'en', 'en']
    >>> best_language("en;q=0.3, de;q=0.7, *;q=0.1").code
    'de'
    """
    preferences = sorted(map(_weighted, accepted.split(",")), key=lambda pair: -pair[1])
    codes = [code for code, weight in preferences if weight > 0]
    available = languages(currency)
    return available[negotiate_locale(codes, list(available), sep="-") or SOURCE]


def _weighted(part: str) -> tuple[str, float]:
    code, _, weight = part.partition(";")
    try:
        return code.strip(), float(weight.strip().removeprefix("q=") or 1)
    except ValueError:
        return code.strip(), 0.0


def _translations(code: str) -> GNUTranslations:
    catalogues = []
    folder = LOCALE / code / "LC_MESSAGES"
    for path in (folder / f"{name}.po" for name in CATALOGUES):
        if code == SOURCE and not path.exists():
            continue
        compiled = BytesIO()
        with path.open("rb") as file:
            write_mo(compiled, read_po(file, locale=code))
        compiled.seek(0)
        catalogues.append(Translations(compiled))
    for catalogue, fallback in pairwise(catalogues):
        catalogue.add_fallback(fallback)
    return catalogues[0]
