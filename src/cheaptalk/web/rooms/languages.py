"""Languages: what people read in their pages, from catalogues of translations.

Catalogues lie at ``locale/CODE/LC_MESSAGES``: ``rooms.po`` holds the pages' own words, ``games.po``
what pages say of the games, ``refusals.po`` why their rules refuse an answer, ``participants.po``
what participants read outside games. They are read as they are; none is compiled beforehand.
English has refusals alone: rules speak to programs, too.
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
"""How a sentence begins that says why a reply cannot be read; a form has no such reply."""
NAMED = re.compile(r'"[^"]*"|player_\d+(?:, player_\d+)*|-?\d+(?:,\d{3})*(?:\.\d+)?')
"""What differs from one refusal to the next: quoted names, players and numbers."""
PLAYER = re.compile(r"player_\d+")
DOLLARS = "USD"
"""The currency in which amounts of games are written where a study names no other."""
SOURCE = "en"
"""The language in which all is written; it has a catalogue of what people read in other words."""


class Language:
    """A language that people read.

    Attributes:
        code: as in ``<html lang>``, such as ``de``.
        name: in itself, such as Deutsch.
        style: of the games' words that are made for its readers, such as ``german``.
        writing: how it writes numbers, amounts and names.
        words: its translations.

    Args:
        currency: the code of the currency in which all amounts are written.
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
        """A text in this language; as it is where it has no translation."""
        return self.words.gettext(message) if message else ""

    def unclear(self, written: str) -> str:
        """That something may be a number, and may be another one."""
        _ = self.text
        said = _("it is not clear which number %(written)s is; write numbers like %(example)s")
        return said % {"written": written, "example": self.writing.number(1234.5)}

    def refusal(self, reason: str) -> str:
        """Why the rules refuse an answer, whatever numbers and names are in the sentence.

        Parts of it that no catalogue has stay as they are.
        """
        return "; ".join(map(self._refusal, reason.removeprefix(UNREAD).split("; ")))

    def _refusal(self, reason: str) -> str:
        names = map(self._name, NAMED.findall(reason))
        return re.sub(r"\{\}", lambda _: next(names, ""), self.text(NAMED.sub("{}", reason)))

    def _name(self, found: str) -> str:
        """A number, a field in quotation marks, or players, as a sentence names them."""
        if found.startswith('"'):
            before, after = self.writing.marks or '""'
            return f"{before}{self._label(found[1:-1])}{after}"
        if found.startswith("player_"):
            called = (self.writing.called(capital(one)) for one in found.split(", "))
            return ", ".join(called)
        return self.writing.local(found)

    def _label(self, name: str) -> str:
        """What people read of a field, or of a player's part in one; anything else as it is."""
        part = name.rpartition(".")[2]
        if PLAYER.fullmatch(part):
            return self.writing.called(capital(part))
        label = capital(name)
        said = self.text(label)
        return said if said != label or "_" in name else name

    def fixed(self, value: float, places: int = 0) -> str:
        """A number with so many decimals."""
        return self.writing.local(fixed(value, places))

    def paid(self, cents: int) -> str:
        """A payment of so many cents."""
        return self.writing.dollars(cents / 100, exact=True)

    def templates(self, *folders: Path) -> jinja2.Environment:
        """Templates of pages in this language, everything in them escaped."""
        made = environment(*folders)
        made.add_extension("jinja2.ext.i18n")
        made.install_gettext_translations(self.words, newstyle=True)  # type: ignore[attr-defined]
        made.filters |= {
            "dollars": self.writing.dollars, "fixed": self.fixed, "named": self.writing.called,
            "number": self.writing.number, "option_label": option_label, "paid": self.paid,
            "percent": self.writing.percent, "translated": self.text,
        }  # fmt: skip
        made.globals["language"] = self
        return made


@cache
def languages(currency: str = DOLLARS) -> dict[str, Language]:
    """All languages by code, English first, with amounts in a currency."""
    found = sorted(path.name for path in LOCALE.iterdir() if path.is_dir())
    codes = sorted(found, key=lambda code: code != SOURCE)
    return {code: Language(code, currency) for code in codes}


def style_writing(style: str | None, currency: str) -> Writing:
    """How a style writes in a currency, with its names and sign as its readers know them."""
    for language in languages(currency).values():
        if language.style == style:
            return language.writing
    local = languages(currency)[SOURCE].writing
    return writing(style or "")._replace(sign=local.sign, coin=local.coin, coins=local.coins)


def best(accepted: str, currency: str = DOLLARS) -> Language:
    """The language that suits a browser best.

    Args:
        accepted: what it sends as ``Accept-Language``.
        currency: the code of the currency in which amounts are written.

    >>> [best(accepted).code for accepted in ("de-AT,de;q=0.9,en;q=0.8", "fr, en;q=0.5", "fr", "")]
    ['de', 'en', 'en', 'en']
    >>> best("en;q=0.3, de;q=0.7, *;q=0.1").code
    'de'
    """
    wanted = sorted(map(_weighted, accepted.split(",")), key=lambda one: -one[1])
    codes = [code for code, weight in wanted if weight > 0]
    known = languages(currency)
    return known[negotiate_locale(codes, list(known), sep="-") or SOURCE]


def _weighted(part: str) -> tuple[str, float]:
    """A part of ``Accept-Language``, such as ``de;q=0.7``: a language and how much it is wanted."""
    code, _, weight = part.partition(";")
    try:
        return code.strip(), float(weight.strip().removeprefix("q=") or 1)
    except ValueError:
        return code.strip(), 0.0


def _translations(code: str) -> GNUTranslations:
    """What the catalogues of a language hold; each looks things up in the next."""
    read = []
    folder = LOCALE / code / "LC_MESSAGES"
    for path in (folder / f"{name}.po" for name in CATALOGUES):
        if code == SOURCE and not path.exists():
            continue
        compiled = BytesIO()
        with path.open("rb") as file:
            write_mo(compiled, read_po(file, locale=code))
        compiled.seek(0)
        read.append(GNUTranslations(compiled))
    for one, following in pairwise(read):
        one.add_fallback(following)
    return read[0]
