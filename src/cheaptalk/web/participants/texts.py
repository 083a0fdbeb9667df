"""A study's texts on participants' pages: languages, placeholders, Markdown and images."""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from typing import NamedTuple

from babel.dates import format_date, format_datetime
from babel.units import format_unit
from fastapi import HTTPException
from fastapi.responses import Response
from markupsafe import Markup

from cheaptalk.players import PersonSeat
from cheaptalk.studies.people.answers import Date, Recorded
from cheaptalk.studies.people.page_texts.files import TEMPLATE, Image, image_of, suffix_of
from cheaptalk.studies.people.page_texts.markdown import rendered
from cheaptalk.studies.people.page_texts.protocol_texts import AMOUNTS
from cheaptalk.studies.people.page_texts.texts import filled, in_language
from cheaptalk.studies.people.pay_rules import cents
from cheaptalk.studies.people.protocol import Protocol
from cheaptalk.studies.study import Study
from cheaptalk.web.headers import STATIC_CACHING
from cheaptalk.web.rooms.languages import Language

NO_ANSWER = "\u2013"
"""What a text contains for a question that was not answered."""
IMAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
"""Content security policy of images, so that an SVG image opened by itself runs no script."""


def shortest_deadline(study: Study) -> float:
    """Return the shortest deadline of all human players in seconds; 0 if none has a deadline."""
    seats = [entry.form for entry in study.players.values()]
    deadlines = [seat.deadline for seat in seats if isinstance(seat, PersonSeat)]
    return min(filter(None, deadlines), default=0)


class PageTexts(NamedTuple):
    """The texts of a study in one language, with values for their placeholders.

    Attributes:
        deadline: shortest deadline of all human players in seconds; 0 if none has a deadline.
        values: the participant's answers by column, and values of the latest game.
        image_url: returns the address of an image by its file name.
    """

    protocol: Protocol
    language: Language
    deadline: float
    values: Mapping[str, Recorded]
    image_url: Callable[[str], str]

    def plain(self, words: str | dict[str, str]) -> str:
        return in_language(words, self.language.code)

    def inline(self, words: str | dict[str, str]) -> Markup:
        """Return a text within a paragraph as HTML."""
        return rendered(self.plain(words), self.value, self.image_url, inline=True)

    def block(self, words: str | dict[str, str]) -> Markup:
        """Return paragraphs, lists and tables as HTML."""
        return rendered(self.plain(words), self.value, self.image_url)

    def question(self, words: str | dict[str, str]) -> tuple[Markup, Markup]:
        """Return the first paragraph of a question, and the other paragraphs."""
        first, _, rest = self.plain(words).strip().partition("\n\n")
        return self.inline(first), self.block(rest)

    def value(self, name: str) -> str:
        """Return the value of a placeholder as text in the page's language."""
        pay, code = self.protocol.pay, self.language.code
        if name in AMOUNTS:
            return self.language.paid(cents(getattr(pay, name) or 0))
        match name:
            case "waiting":
                return self.language.paid(cents(pay.ended.get("timed_out") or 0))
            case "lobby":
                return duration(60 * self.protocol.games.lobby.minutes, code)
            case "deadline":
                return duration(self.deadline, code)
        return self._answer(name)

    def _answer(self, column: str) -> str:
        value = self.values.get(column)
        if value is None:
            return NO_ANSWER
        item, row = self.protocol.columns.get(column, (None, ""))
        label = item.answer.label(row, value) if item is not None else None
        if label is not None:
            return filled(self.plain(label), self.value)
        if item is not None and isinstance(item.answer, Date):
            return day_text(date.fromisoformat(str(value)), self.language.code)
        return value if isinstance(value, str) else self.language.writing.number(value, 6)


class Images:
    """The images of a study, at addresses that contain a digest of their content.

    Pages that are already open may still show ``earlier`` images.
    """

    def __init__(self, protocol: Protocol, earlier: "Images | None" = None) -> None:
        self.protocol = protocol
        files = protocol.files.items()
        images = {name: image_of(name, text) for name, text in files if suffix_of(name) != TEMPLATE}
        self._paths = {name: image.path for name, image in images.items()}
        self._images: dict[str, Image] = {} if earlier is None else dict(earlier._images)
        self._images |= {image.path: image for image in images.values()}

    def url(self, root: str, name: str) -> str:
        return f"{root}/images/{self._paths.get(name, '')}"

    def response(self, path: str) -> Response:
        image = self._images.get(path)
        if image is None:
            raise HTTPException(404)
        headers = {"Cache-Control": STATIC_CACHING, "Content-Security-Policy": IMAGE_POLICY}
        return Response(image.content, media_type=image.media_type, headers=headers)


def plain_prose(*texts: str) -> Markup:
    """Return plain paragraphs as HTML; lines that start with a dash become a list.

    >>> plain_prose("Do this:\\n\\n- one\\n- two")
    Markup('<p>Do this:</p><ul><li>one</li><li>two</li></ul>')
    """
    parts = (part.strip() for text in texts for part in text.strip().split("\n\n"))
    return Markup().join(map(_paragraph, parts))


def _paragraph(part: str) -> Markup:
    if not part.startswith("- "):
        return Markup("<p>{}</p>").format(part.replace("\n", " "))
    entries = part.removeprefix("- ").split("\n- ")
    items = Markup().join(Markup("<li>{}</li>").format(entry) for entry in entries)
    return Markup("<ul>{}</ul>").format(items)


def duration(seconds: float, code: str) -> str:
    """Format a duration in a language.

    >>> duration(180, "de"), duration(90, "en")
    ('3 Minuten', '90 seconds')
    """
    minutes, remainder = divmod(seconds, 60)
    if remainder or not minutes:
        return format_unit(seconds, "duration-second", locale=code)
    return format_unit(minutes, "duration-minute", locale=code)


def clock(moment: float, code: str) -> Markup:
    """Format a time in a language; scripts convert it to the participant's time zone.

    >>> print(clock(0, "de"))
    <time datetime="1970-01-01T00:00:00+00:00">1. Januar 1970, 00:00:00 UTC</time>
    """
    then = datetime.fromtimestamp(moment, UTC)
    shown = format_datetime(then, "long", locale=code)
    return Markup('<time datetime="{}">{}</time>').format(then.isoformat(), shown)


def day_text(day: date, code: str) -> str:
    """Format a date in a language.

    >>> day_text(date(2001, 5, 17), "de")
    '17. Mai 2001'
    """
    return format_date(day, "long", locale=code)
