"""Parsing of numbers that people type, in the notation of the page's language.

Every number in a participant's or researcher's form goes through :func:`plain_number`.
``rooms/static/rooms.js`` follows the same rules for previews and sliders. Babel's ``parse_decimal``
is no substitute: even with ``strict=True`` it reads ``1_0`` as 10, accepts ``nan`` and digits of
other scripts, takes ``1.500`` for 1.5 on an English page, and ignores currency signs.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping

from cheaptalk.styles.writing import Writing

SPACES = " '\u2019\u00a0\u202f"
"""Thousands separators in any language."""
MINUS = "\u2212"
COMPUTED = re.compile(r"[-+]?(?=\.?[0-9])(0|[1-9][0-9]*)?(\.[0-9]*)?([eE][-+]?[0-9]+)?")
"""Matches a number in a programming notation."""


class BadNumber(ValueError):
    """Raised if a text is not a number or is ambiguous, with that text as the message."""


def plain_number(typed: str, writing: Writing) -> str:
    """Convert a typed number to digits with a decimal point; empty text stays empty.

    BadNumber is raised if the text is not a number, contradicts the page's language, or is
    ambiguous, such as ``1.500`` on an English page.

    >>> from cheaptalk.styles.languages import writing_in
    >>> from cheaptalk.styles.writing import PLAIN
    >>> [plain_number("1.000,50 $", writing_in("de")), plain_number("-$1,000.5", PLAIN)]
    ['1000.50', '-1000.5']
    >>> plain_number("1.000", writing_in("de"))
    '1000'
    >>> plain_number("1.000", PLAIN)
    Traceback (most recent call last):
    cheaptalk.web.typed_numbers.BadNumber: 1.000
    """
    text = typed.strip()
    if not text:
        return ""
    comma, point = re.escape(writing.comma), re.escape(writing.point)
    thousands = rf"[0-9]{{1,3}}(?:[{comma}{SPACES}][0-9]{{3}})+"
    match = re.fullmatch(
        rf"([-+{MINUS}]?)\s*(?=[{point}]?[0-9])({thousands}|[0-9]*)(?:{point}([0-9]+))?",
        _without_unit(text, writing),
    )
    if match is None:
        raise BadNumber(text)
    sign, integer, decimals = match.groups(default="")
    has_two_readings = len(decimals) == 3 and re.fullmatch("[1-9][0-9]{0,2}", integer)
    if has_two_readings or re.match("0[0-9]", integer):
        raise BadNumber(text)
    digits = re.sub("[^0-9]", "", integer) or "0"
    return f"{'-' if sign in ('-', MINUS) else ''}{digits}{'.' if decimals else ''}{decimals}"


def _without_unit(text: str, writing: Writing) -> str:
    text = "".join(character for character in text if unicodedata.category(character) != "Cf")
    signs = [re.escape(unit) for unit in writing.units if unit]
    signs += [
        re.escape(character) for character in {*text} if unicodedata.category(character) == "Sc"
    ]
    if not signs:
        return text
    match = re.fullmatch(rf"([-+{MINUS}]?)\s*(?:{'|'.join(signs)})\s*(.*)", text)
    if match:
        return match[1] + match[2]
    return re.sub(rf"\s*(?:{'|'.join(signs)})\Z", "", text)


def plain_numbers(
    posted: Mapping[str, str], names: Iterable[str], writing: Writing
) -> dict[str, str]:
    """Return a posted form with its numbers converted to plain notation.

    Texts that are not clear numbers get a question mark, so that the page asks again.

    >>> from cheaptalk.styles.writing import PLAIN
    >>> plain_numbers({"age": "1.000", "why": "1,5"}, ["age"], PLAIN)
    {'age': '1.000 ?', 'why': '1,5'}
    """
    plain = dict(posted)
    for name in plain.keys() & {*names}:
        try:
            plain[name] = plain_number(plain[name], writing)
        except BadNumber as unclear:
            plain[name] = f"{unclear} ?"
    return plain


def typed_list(text: str, writing: Writing) -> list[str]:
    """Split a typed list into its numbers, without converting them.

    Items are separated by spaces, semicolons or commas. BadNumber is raised if a comma may separate
    two items or belong to one number.

    >>> from cheaptalk.styles.languages import writing_in
    >>> from cheaptalk.styles.writing import PLAIN
    >>> typed_list("3, 1,0", PLAIN), typed_list("1.000; 2", writing_in("de"))
    (['3', '1', '0'], ['1.000', '2'])
    >>> typed_list("7,5", writing_in("de"))
    Traceback (most recent call last):
    cheaptalk.web.typed_numbers.BadNumber: 7,5
    """
    items = []
    for part in re.split(r"[;\s]+|,(?=\s|\Z)", text):
        first, *groups = part.split(",")
        ambiguous = (
            len(groups) == 1
            if writing.point == ","
            else all(re.fullmatch("[0-9]{3}", group) for group in groups)
        )
        if groups and ambiguous:
            raise BadNumber(part)
        items += [first, *groups]
    return [item for item in items if item]
