"""Lines of the published Deal or No Deal files: a dialogue as one of its speakers saw it."""

import re
from typing import NamedTuple, TypeAlias

from cheaptalk.games.deal_or_no_deal.contexts import Triple, worth
from cheaptalk.records.importers.intake import Unfit
from cheaptalk.rules.errors import shown

NO_AGREEMENT = "no agreement"
DISCONNECT = "disconnect"

Selection: TypeAlias = Triple | str | None
"""What a player selected: pieces for itself, one of the two words, or None where no one tells."""

_TAGGED = re.compile(
    r"<input> (.*) </input> <dialogue> (.*) </dialogue> <output> (.*) </output> "
    r"<partner_input> (.*) </partner_input>"
)
_PLAIN = re.compile(
    r"((?:\S+ ){5}\S+) ((?:YOU|THEM):.*) <eos> reward=(.+) (agree|disagree) ((?:\S+ ){5}\S+)"
)
_CONTEXT = re.compile(r"\d+( \d+){5}", re.ASCII)
_ITEMS = re.compile(r"item0=(\d{1,3}) item1=(\d{1,3}) item2=(\d{1,3})", re.ASCII)
_SELECTION = "<selection>"
_WORDS = {
    " ".join([f"<{word}>"] * 6): selected
    for word, selected in (
        ("disagree", None), ("no_agreement", NO_AGREEMENT), ("disconnect", DISCONNECT),
    )
}  # fmt: skip
"""Outputs that are no pieces, and what they tell of each player's selection."""


class View(NamedTuple):
    """A dialogue as a line tells it. Of a pair, the first is that of the player who spoke first.

    Attributes:
        place: file and line.
        counts: the pieces to be divided.
        values: what each player's pieces are worth to it.
        messages: what was said, in turn.
        selections: what each player selected at the end, as far as the line tells.
        agreed: whether the selected pieces were said to fit; None where it is not said.
    """

    place: str
    counts: Triple
    values: tuple[Triple, Triple]
    messages: tuple[str, ...]
    selections: tuple[Selection, Selection]
    agreed: bool | None


class _Talk(NamedTuple):
    messages: tuple[str, ...]
    you_began: bool
    selected: str


def is_context(line: str) -> bool:
    """Whether a line is half a context, as in the file of contexts, and no dialogue."""
    return _CONTEXT.fullmatch(line) is not None


def read_line(place: str, line: str) -> View:
    """A line of either format.

    Raises:
        Unfit: it is of no known format, or a part of it cannot be read.
    """
    selections: tuple[Selection, Selection]
    if tagged := _TAGGED.fullmatch(line):
        own, said, output, partner = tagged.groups()
        talk = _talk(said)
        if talk.selected:
            raise Unfit(f'"dialogue": selects {shown(talk.selected)} before the output')
        selections, agreed = _output(output)
        (counts, mine), (others, theirs) = _input("input", own), _input("partner_input", partner)
    elif plain := _PLAIN.fullmatch(line):
        own, said, reward, status, partner = plain.groups()
        talk = _talk(said)
        (counts, mine), (others, theirs) = _input("input", own), _input("partner_input", partner)
        selected = _selected(talk.selected, reward, mine)
        selections = (selected, None)
        agreed = status == "agree" if isinstance(selected, tuple) else None
    else:
        raise Unfit("is in neither of the two formats of the published files")
    if counts != others:
        raise Unfit('"partner_input": has other counts than the player\'s own')
    values = (mine, theirs)
    if not talk.you_began:
        values, selections = values[::-1], selections[::-1]
    return View(place, counts, values, talk.messages, selections, agreed)


def _input(field: str, text: str) -> tuple[Triple, Triple]:
    """Counts and values of books, hats and balls."""
    if not is_context(text):
        raise Unfit(f'"{field}": {shown(text)} is not six whole numbers')
    books, book, hats, hat, balls, ball = map(int, text.split())
    return (books, hats, balls), (book, hat, ball)


def _talk(said: str) -> _Talk:
    """The turns of a dialogue, of which the last is a selection."""
    speakers: list[str] = []
    texts: list[str] = []
    for number, turn in enumerate(said.split(" <eos> "), start=1):
        speaker, _, text = turn.partition(": ")
        if speaker not in ("YOU", "THEM"):
            raise Unfit(f'"dialogue", turn {number}: begins with neither "YOU: " nor "THEM: "')
        if speakers and speaker == speakers[-1]:
            raise Unfit(f'"dialogue", turn {number}: {speaker} is not to speak again')
        speakers.append(speaker)
        texts.append(text)
    *messages, last = texts
    if not last.startswith(_SELECTION):
        raise Unfit('"dialogue": does not end with a selection')
    return _Talk(tuple(messages), speakers[0] == "YOU", last.removeprefix(_SELECTION).strip())


def _output(text: str) -> tuple[tuple[Selection, Selection], bool | None]:
    """Both players' selections, the own one first, and whether they are said to fit."""
    if text in _WORDS:
        word = _WORDS[text]
        return (word, word), False if word is None else None
    own, theirs = " ".join(text.split(" ")[:3]), " ".join(text.split(" ")[3:])
    return (_items("output", own), _items("output", theirs)), True


def _selected(text: str, reward: str, values: Triple) -> Selection:
    """The own selection; the reward must be what it is worth, or the same word."""
    if text in (NO_AGREEMENT, DISCONNECT):
        expected = text
        selected: Selection = text
    else:
        claim = _items("selection", text)
        selected, expected = claim, str(worth(values, claim))
    if reward != expected:
        raise Unfit(f'"reward": is {shown(reward)}; by the selection {expected}')
    return selected


def _items(field: str, text: str) -> Triple:
    found = _ITEMS.fullmatch(text)
    if found is None:
        raise Unfit(f'"{field}": {shown(text)} is not item0=N item1=N item2=N')
    books, hats, balls = map(int, found.groups())
    return books, hats, balls
