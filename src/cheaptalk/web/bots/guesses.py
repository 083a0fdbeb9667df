"""Guesses: a form filled in by all that its page says, and by what was said of earlier guesses."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from cheaptalk.rules.chance import Stream
from cheaptalk.web.bots.pages import Blank, Form, Page

RANGE = re.compile(r"from (-?[\d,]+) to (-?[\d,]+)")
TOTAL = re.compile(r"(?:add up to|make exactly|sum to) \D{0,2}([\d,]+)")
MOST = re.compile(r"(?:only|at most|less than or equal to) ([\d,]+)")
LENGTH = re.compile(
    r"(\d+) (?:numbers|entries|items|values)|one (?:number|entry) for each of (\d+)"
)
NAMED = re.compile(r"[\"'\u201c\u2018]([\w-]+)[\"'\u201d\u2019]")
LISTED = re.compile(r"\b(?:are|out) (\w+(?:, \w+)+)")
NUMBER = re.compile(r"\d[\d,]*")
EXAMPLE = re.compile(r"\w+: \d+")
SMALL = 3
"""Up to this go numbers of which nothing is known."""
SAID = ("This is my best offer.", "Let us both do well.", "What do you say?", "I think it is fair.")


def guess(page: Page, form: Form, refusals: Sequence[str], draw: Stream) -> dict[str, str]:
    """What to send for a form.

    Args:
        refusals: what was said of earlier guesses at the same question, the last one last.
    """
    return _Guess(page, form, refusals, draw).fields()


class _Guess:
    """One guess; what was refused tells most, then the question, then all else on the page."""

    def __init__(self, page: Page, form: Form, refusals: Sequence[str], draw: Stream) -> None:
        self.form = form
        self.draw = draw
        self.refused = "\n".join(reversed(refusals))
        self.told = [self.refused, form.question, page.words]

    def fields(self) -> dict[str, str]:
        """All fields that are filled in, and the button that is pressed."""
        filled = {one.name: one.value for one in self.form.blanks if one.kind == "hidden"}
        blanks = [one for one in self.form.blanks if one.kind != "hidden"]
        leave = self.draw.pick(("nothing", "words", "rest"))
        chosen = [
            one for one in blanks
            if one.required or leave == "nothing" or (leave == "words") != _speaks(one)
        ]  # fmt: skip
        numbers = [one for one in chosen if one.kind == "number"]
        filled |= zip((one.name for one in numbers), self.numbers(numbers), strict=True)
        filled |= {one.name: self.text(one) for one in chosen if one.kind != "number"}
        if self.form.buttons:
            name, value = self.draw.pick(self.form.buttons)
            filled[name] = value
        return filled

    def numbers(self, blanks: Sequence[Blank]) -> Iterator[str]:
        """Numbers that add up as they should, where several must, or each by its own bounds."""
        total = self.first(TOTAL)
        if total is not None and len(blanks) > 1:
            return map(str, self.shares(total, len(blanks)))
        return (str(self.number(one)) for one in blanks)

    def number(self, blank: Blank) -> int:
        """A number within the bounds of a field, or those that are told."""
        low, high = blank.low, blank.high
        for text in self.told[:2]:
            if high is None and (found := RANGE.search(text)):
                low, high = map(_whole, found.groups())
        if high is None and (most := MOST.search(self.refused)):
            high = _whole(most[1])
        least = int(low or 0)
        if high is not None:
            return self.draw.integer(least, max(least, int(high)))
        seen = [number for one in self.told[:2] for number in map(_whole, NUMBER.findall(one))]
        if not seen:
            seen = [_whole(one) for one in NUMBER.findall(self.told[-1])]
        likely = [one for one in seen if one >= least]
        if likely and self.draw.happens(0.5):
            return self.draw.pick(likely)
        return self.draw.integer(least, least + SMALL)

    def text(self, blank: Blank) -> str:
        """Words, a choice, or several numbers, by the looks of the field."""
        if blank.kind == "tick":
            return blank.value
        if blank.kind == "choice":
            return self.draw.pick([one for one in blank.options if one] or [""])
        if EXAMPLE.match(blank.hint):
            names = self.names("_")
            return "\n".join(map("{}: {}".format, names, self.parts(blank, len(names))))
        if NUMBER.match(blank.hint):
            length = self.first(LENGTH) or len(NUMBER.findall(blank.hint))
            return ", ".join(map(str, self.parts(blank, length)))
        if _speaks(blank):
            return self.draw.pick(SAID)[: blank.most]
        names = self.names("")
        return self.draw.pick(names) if names else self.draw.pick(SAID)[: blank.most]

    def parts(self, blank: Blank, count: int) -> list[int]:
        """So many numbers of one field."""
        total = self.first(TOTAL)
        if total is not None:
            return self.shares(total, count)
        return [self.number(blank) for _ in range(count)]

    def shares(self, total: int, count: int) -> list[int]:
        """Whole shares of a total."""
        cuts = sorted(self.draw.integer(0, total) for _ in range(count - 1))
        return [after - before for before, after in pairwise([0, *cuts, total])]

    def names(self, within: str) -> list[str]:
        """Names that are told, each with this in it."""
        found = [name for text in self.told[:2] for name in NAMED.findall(text)]
        for listed in LISTED.findall(self.refused):
            found += listed.split(", ")
        fields = {one.name for one in self.form.blanks} | dict(self.form.buttons).keys()
        names = dict.fromkeys(one for one in found if within in one and one not in fields)
        return list(names)

    def first(self, pattern: re.Pattern[str]) -> int | None:
        """The first number that is told so."""
        for text in self.told[:2]:
            if found := pattern.search(text):
                return _whole(next(filter(None, found.groups())))
        return None


def _speaks(blank: Blank) -> bool:
    """Whether a field is for words to others."""
    return blank.kind == "text" and not blank.hint


def _whole(text: str) -> int:
    return int(text.replace(",", ""))
