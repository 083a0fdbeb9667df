"""Bots' responses to pages: guesses of valid values, based on the text and earlier rejections."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from itertools import pairwise
from math import ceil

from cheaptalk.rules.chance import Stream
from cheaptalk.web.bots.pages import Blank, Form, Group, Page

RANGE = re.compile(r"from (-?[\d,]+) to (-?[\d,]+)")
TOTAL = re.compile(r"(?:add up to|make exactly|sum to) \D{0,2}([\d,]+)")
MAXIMUM = re.compile(r"(?:only|at most|less than or equal to) ([\d,]+)|must be ([\d,]+) or less")
LENGTH = re.compile(
    r"(\d+) (?:numbers|entries|items|values)|one (?:number|entry) for each of (\d+)"
)
NAMED = re.compile(r"[\"'\u201c\u2018]([\w-]+)[\"'\u201d\u2019]")
LISTED = re.compile(r"\b(?:are|out) (\w+(?:, \w+)+)")
NUMBER = re.compile(r"\d[\d,]*")
EXAMPLE = re.compile(r"\w+: \d+")
SMALL = 3
"""Range of numbers about which the page says nothing."""
MESSAGES = (
    "This is my best offer.",
    "Let us both do well.",
    "What do you say?",
    "I think it is fair.",
)


def guess(page: Page, form: Form, refusals: Sequence[str], draw: Stream) -> dict[str, str]:
    """Return guessed values for a form's fields, given why earlier guesses were rejected."""
    return _Guess(page, form, refusals, draw).fields()


class _Guess:
    def __init__(self, page: Page, form: Form, refusals: Sequence[str], draw: Stream) -> None:
        self.form = form
        self.draw = draw
        self.refused = "\n".join(reversed(refusals))
        self.texts = [self.refused, form.question, page.words]

    def fields(self) -> dict[str, str]:
        filled = {blank.name: blank.value for blank in self.form.blanks if blank.kind == "hidden"}
        filled |= self.grouped()
        blanks = [b for b in self.form.blanks if b.kind != "hidden" and b.group is None]
        omitted = self.draw.pick(("nothing", "words", "rest"))
        chosen = [
            blank
            for blank in blanks
            if blank.required or omitted == "nothing" or (omitted == "words") != _speaks(blank)
        ]
        numbers = [blank for blank in chosen if blank.kind == "number"]
        filled |= zip((blank.name for blank in numbers), self.numbers(numbers), strict=True)
        filled |= {blank.name: self.text(blank) for blank in chosen if blank.kind != "number"}
        if self.form.buttons:
            name, value = self.draw.pick(self.form.buttons)
            filled[name] = value
        return filled

    def grouped(self) -> dict[str, str]:
        """Return values of the fields that depend on each other."""
        groups: dict[Group, list[Blank]] = {}
        for blank in self.form.blanks:
            if blank.group is not None:
                groups.setdefault(blank.group, []).append(blank)
        filled: dict[str, str] = {}
        for group, blanks in groups.items():
            names = [blank.name for blank in blanks]
            if group.total is not None:
                parts = map(str, self.shares(int(group.total), len(names)))
                filled |= zip(names, parts, strict=True)
                filled[names[0]] = f"{int(filled[names[0]]) + group.total % 1:g}"
            elif group.distinct:
                options = [option for option in blanks[0].options if option]
                filled |= zip(names, self.draw.shuffled(options), strict=False)
            else:
                most = len(names) if group.max is None else group.max
                ticked = self.draw.shuffled(blanks)[: self.draw.integer(group.min, most)]
                filled |= {blank.name: blank.value for blank in ticked}
        return filled

    def numbers(self, blanks: Sequence[Blank]) -> Iterator[str]:
        divided = any(blank.group and blank.group.total for blank in self.form.blanks)
        total = None if divided else self.first(TOTAL)
        if total is not None and len(blanks) > 1:
            return map(str, self.shares(total, len(blanks)))
        return (f"{self.number(blank):.15g}" for blank in blanks)

    def number(self, blank: Blank) -> float:
        low, high = blank.low, blank.high
        if low is not None and high is not None and (blank.step != 1 or ceil(low) > high):
            return low + blank.step * self.draw.integer(0, int((high - low) / blank.step))
        for text in self.texts[:2]:
            if high is None and (match := RANGE.search(text)):
                low, high = map(_integer, match.groups())
        if high is None and (match := MAXIMUM.search(self.refused)):
            high = _integer(match[1] or match[2])
        minimum = ceil(low or 0)
        if high is not None:
            return self.draw.integer(minimum, max(minimum, int(high)))
        numbers = [
            number for text in self.texts[:2] for number in map(_integer, NUMBER.findall(text))
        ] or [*map(_integer, NUMBER.findall(self.texts[-1]))]
        candidates = [number for number in numbers if number >= minimum]
        if candidates and self.draw.happens(0.5):
            return self.draw.pick(candidates)
        return self.draw.integer(minimum, minimum + SMALL)

    def text(self, blank: Blank) -> str:
        if blank.kind == "tick":
            return blank.value
        if blank.kind == "date":
            last = date.today().toordinal() if blank.high is None else int(blank.high)
            first = last - 20_000 if blank.low is None else int(blank.low)
            return date.fromordinal(self.draw.integer(first, last)).isoformat()
        if blank.kind == "choice":
            return self.draw.pick([option for option in blank.options if option] or [""])
        if EXAMPLE.match(blank.hint):
            names = self.names("_")
            return "\n".join(map("{}: {}".format, names, self.parts(blank, len(names))))
        if NUMBER.match(blank.hint):
            length = self.first(LENGTH) or len(NUMBER.findall(blank.hint))
            return ", ".join(map(str, self.parts(blank, length)))
        names = [] if _speaks(blank) else self.names("")
        text = self.draw.pick(names or MESSAGES)
        return text.ljust(blank.min_length, ".")[: blank.max_length]

    def parts(self, blank: Blank, count: int) -> list[int]:
        total = self.first(TOTAL)
        if total is not None:
            return self.shares(total, count)
        return [int(self.number(blank)) for _ in range(count)]

    def shares(self, total: int, count: int) -> list[int]:
        cuts = sorted(self.draw.integer(0, total) for _ in range(count - 1))
        return [after - before for before, after in pairwise([0, *cuts, total])]

    def names(self, infix: str) -> list[str]:
        names = [name for text in self.texts[:2] for name in NAMED.findall(text)]
        for listed in LISTED.findall(self.refused):
            names += listed.split(", ")
        fields = {blank.name for blank in self.form.blanks} | dict(self.form.buttons).keys()
        return list(dict.fromkeys(name for name in names if infix in name and name not in fields))

    def first(self, pattern: re.Pattern[str]) -> int | None:
        for text in self.texts[:2]:
            if match := pattern.search(text):
                return _integer(next(filter(None, match.groups())))
        return None


def _speaks(blank: Blank) -> bool:
    return blank.kind == "text" and not blank.hint


def _integer(text: str) -> int:
    return int(text.replace(",", ""))


CODE_WORD = re.compile(r"only the word \W?(\S+?)\W? in\b")
PROMPTED = re.compile(r"\bthe word \W?(\w+)")
NAMES = ("Ada", "Emmy", "Grace", "Kurt", "Leonhard", "Sofia")


def reply(
    page: Page, form: Form, answers: Mapping[str, str], draw: Stream, *, play_more: bool
) -> dict[str, str]:
    """Return a page's values: consent, ticked boxes, and given or guessed answers."""
    fields = guess(page, form, (), draw)
    presets = {"agreed": "yes", "more": "yes" if play_more else "no", "name": draw.pick(NAMES)}
    if match := CODE_WORD.search(page.words):
        presets["code_word"] = match[1]
    presets |= answers
    buttons = dict(form.buttons)
    names = [*(blank.name for blank in form.blanks), *buttons]
    alone = (blank for blank in form.blanks if blank.kind == "tick" and blank.group is None)
    ticks = {blank.name: blank.value for blank in alone}
    guesses = {name: text for name, text in fields.items() if name not in buttons}
    return guesses | ticks | {name: presets[name] for name in names if name in presets}


def attention(page: Page, form: Form) -> dict[str, str]:
    """Return the values that confirm a message or pass an attention check."""
    match = PROMPTED.search(page.words)
    return {
        blank.name: blank.value if blank.kind == "hidden" or not match else match[1]
        for blank in form.blanks
    }
