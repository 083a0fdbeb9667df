"""Languages of the texts that people read, as described by catalogues and by Unicode's CLDR.

A language is a folder ``cheaptalk/locale/CODE`` with gettext catalogues. The source texts are
English; English itself has catalogues only for words that people read differently from models.
Formats of numbers and names of currencies come from CLDR, through Babel.
"""

import re
from functools import cache
from gettext import GNUTranslations, NullTranslations
from io import BytesIO
from typing import Any

from cheaptalk.rules import CheaptalkError
from cheaptalk.rules.game_spec import LANGUAGES, LOCALE
from cheaptalk.styles.writing import PLAIN, Writing

ENGLISH = Writing(marks=("\u201c", "\u201d"), minus="\u2212")
"""The formats of English texts for people."""
SOURCE = LANGUAGES[0]
"""The language of the source texts: English."""
DOLLARS = "USD"
"""Default currency of the amounts in games."""
POINTS = "points"
"""The unit of amounts in games of a study that pays no money for them directly."""
COUNTED = re.compile(r"(%\((?:num|rounds|players)\)s) (?=[^\W\d])")
"""The space between a number and its unit."""
PATTERN = re.compile("[#0,.]+")
"""The number in a CLDR pattern, such as ``#,##0.00``."""


class Translations(GNUTranslations):
    """Translations with non-breaking spaces between numbers and their units."""

    def gettext(self, message: str) -> str:
        return _unbroken(super().gettext(message))

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return _unbroken(super().ngettext(msgid1, msgid2, n))

    def pgettext(self, context: str, message: str) -> str:
        return _unbroken(super().pgettext(context, message))


class SourceTranslations(NullTranslations):
    """The source texts, which need no catalogue."""

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return _unbroken(super().ngettext(msgid1, msgid2, n))


def _unbroken(text: str) -> str:
    return COUNTED.sub("\\1\xa0", text)


@cache
def translations(code: str) -> NullTranslations:
    """Return the translations of a language from all its catalogues.

    A language without catalogues shows the source texts.

    Raises:
        CheaptalkError: Babel is not installed.
    """
    read_po = _babel("babel.messages.pofile").read_po
    merged = _babel("babel.messages.catalog").Catalog(locale=code)
    for path in sorted((LOCALE / code).glob("*.po")):
        with path.open("rb") as file:
            for message in read_po(file, locale=code):
                if message.id and not message.fuzzy:
                    merged[message.id] = message
    compiled = BytesIO()
    _babel("babel.messages.mofile").write_mo(compiled, merged)
    compiled.seek(0)
    return Translations(compiled)


@cache
def prompt_translations(style: str) -> NullTranslations:
    """Return the translations of a prompt style, which are those of the language it is named after.

    Prompts in English need neither catalogues nor Babel. Prompts for models contain no non-breaking
    spaces.
    """
    if style not in LANGUAGES:
        return NullTranslations()
    return translations(style) if style != SOURCE else SourceTranslations()


@cache
def writing(style: str, unit: str = DOLLARS) -> Writing:
    """Return the formats of the language that a style is named after, or of models' texts.

    Args:
        unit: the unit of amounts: a currency code such as EUR, or ``points``.
    """
    return writing_in(style, unit) if style in LANGUAGES else _in_unit(PLAIN, SOURCE, unit)


@cache
def writing_in(code: str, unit: str = DOLLARS) -> Writing:
    """Return the formats of numbers, amounts and quotations in any language.

    >>> german = writing_in("de")
    >>> german.number(1234.5), german.dollars(-1000), german.percent(0.125)
    ('1.234,5', '\u22121.000\\xa0$', '12,5\\xa0%')
    >>> [writing_in("fr", POINTS).dollars(amount) for amount in (1, 2000)]
    ['1\\xa0point', '2\u202f000\\xa0points']
    """
    if code == SOURCE:
        return _in_unit(ENGLISH, code, unit)
    locale = _babel("babel").Locale.parse(code)
    symbols = locale.number_symbols["latn"]
    before, _, after = translations(code).gettext("\u201c%(text)s\u201d").partition("%(text)s")
    local = Writing(
        symbols["decimal"],
        symbols["group"],
        _pattern(locale.currency_formats["standard"].pattern),
        _pattern(locale.percent_formats[None].pattern),
        (before, after),
        translations(code).gettext("Player"),
        ENGLISH.minus,
    )
    return _in_unit(local, code, unit)


def _pattern(text: str) -> str:
    """Convert a CLDR pattern for positive numbers to a format string."""
    return PATTERN.sub("{}", text.partition(";")[0]).replace("\xa4", "{sign}")


def _in_unit(local: Writing, code: str, unit: str) -> Writing:
    if unit == DOLLARS:
        return local
    if unit == POINTS:
        points = translations(code).ngettext
        return local._replace(amount="{}", sign="", points=points)
    locale = _babel("babel").Locale.parse(code)
    numbers = _babel("babel.numbers")
    sign = numbers.get_currency_symbol(unit, locale)
    return local._replace(
        sign=f"{sign}\xa0" if sign[-1].isalpha() and local.sign_first else sign,
        coin=numbers.get_currency_name(unit, 1, locale),
        coins=numbers.get_currency_name(unit, 2, locale),
    )


def _babel(module: str) -> Any:
    from importlib import import_module  # noqa: PLC0415 - an optional extra

    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise CheaptalkError(
            "texts in other languages than English require Babel; install it with: "
            'pip install "cheaptalk[web]"'
        ) from None
