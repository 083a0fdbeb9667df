"""A recorded match as people read it: what each seat was told, asked and answered, in order."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

from cheaptalk.players import Kind
from cheaptalk.records.encoding import text_of
from cheaptalk.records.record import AnswerRecord, MatchRecord, Status
from cheaptalk.rules import Moment, Table, counted, unknown
from cheaptalk.rules.display import brief, html_table
from cheaptalk.styles import Style, style

LONG = 4
"""Lines from which on a text is told by what differs, where it differs little."""


class Line(NamedTuple):
    """One thing that one seat lived through.

    Attributes:
        seat: whose it is.
        name: what the players call this seat.
        text: what it was told, in the words of its style.
        request: the number of the question, if it was one.
        answer: what it answered, as a JSON object; None if nothing was asked, or it forfeited.
        kind: what became of the question.
        calls: the calls it took, with their replies.
    """

    seat: str
    name: str
    text: str
    request: int | None = None
    answer: dict[str, Any] | None = None
    kind: Kind | None = None
    calls: tuple[dict[str, Any], ...] = ()


class Transcript(list[Line]):
    """What all seats lived through, in order."""

    def __repr__(self) -> str:
        return brief(self, counted(len(self), "line"))

    def _repr_html_(self) -> str:
        rows = [
            (one.name, one.text, "" if one.answer is None else text_of(one.answer)) for one in self
        ]
        return html_table("Transcript", ["seat", "told or asked", "answer"], rows)


def transcript(record: MatchRecord) -> Transcript:
    """Replay a match and put it into words, seat by seat as it happened.

    Raises:
        ReplayMismatch: the installed rules do not replay it.
    """
    table = record.table()
    writer = _Writer(record, table)
    lines = Transcript(writer.news())
    for answer in record.answers:
        writer.answers[answer.request, answer.seat] = answer
        record.give(table, answer)
        lines.extend(writer.news())
    return lines


class SeatView(NamedTuple):
    """A match as one seat lived through it: what it was told and asked, and its own.

    What the rules never told it is not here: not the parameters as such, not the deal, and
    nothing of who sat elsewhere.

    Attributes:
        id, game, version: which match, under which rules.
        seat, place: whose view it is.
        player, settings: who sat there: what the study calls them, and the settings that make them.
        status: how the match ended.
        lines: what the seat was told, asked and answered, with the calls that it took.
        payoff: what the seat itself got; None where the match did not finish.
    """

    id: str
    game: str
    version: int
    seat: str
    place: str
    player: str
    settings: dict[str, Any]
    status: Status
    lines: list[Line]
    payoff: float | None

    def as_json(self) -> dict[str, Any]:
        """The view as one JSON object."""
        return self._asdict() | {"lines": [line._asdict() for line in self.lines]}


def seat_view(record: MatchRecord, seat: str) -> SeatView:
    """A match as one of its seats lived through it; without lines where it has not ended.

    Raises:
        UnknownName: it has no such seat.
        ReplayMismatch: the installed rules do not replay it.
    """
    places = {one.name: one.place for one in record.rules.seats}
    if seat not in places:
        raise unknown("seat", seat, list(places))
    place, payoff = places[seat], None
    lines = transcript(record) if "answers" in record.body else []
    if record.outcome is not None:
        payoff = record.rules.payoffs(record.result().outcome)[seat]
    return SeatView(
        record.id, record.game, record.version, seat, place, record.label(place),
        record.seats[place]["spec"], record.status, [one for one in lines if one.seat == seat],
        payoff,
    )  # fmt: skip


class Scene(NamedTuple):
    """What some seats were told or asked at the same time, in the same words.

    Attributes:
        text: the words.
        lines: each seat's own.
        instead: where the words differ little from those of the last scene that has None here, at
            the same time: the lines that stand in place of its lines.
    """

    text: str
    lines: list[Line]
    instead: str | None = None

    @property
    def shown(self) -> str:
        """The words, or what differs."""
        return self.text if self.instead is None else self.instead

    def head(self, seats: int) -> str:
        """Who is told or asked, at a table of so many seats: ``All 10 are asked``."""
        names = list(dict.fromkeys(line.name for line in self.lines))
        who = f"All {seats}" if seats == len(self.lines) > 1 else ", ".join(names)
        verb = "told" if self.lines[0].request is None else "asked"
        same = "" if self.instead is None else " the same, but for"
        return f"{who} {'are' if len(self.lines) > 1 else 'is'} {verb}{same}"


def gathered(lines: Iterable[Line]) -> list[Scene]:
    """Put together what several seats heard at once, for matches of many seats.

    Each scene stands where the first of its seats heard it.
    """
    scenes: list[Scene] = []
    for _, run in groupby(lines, key=lambda line: line.request):
        met: Counter[tuple[str, str]] = Counter()
        told: dict[tuple[str, int], Scene] = {}
        for line in run:
            met[line.seat, line.text] += 1
            times = met[line.seat, line.text]
            told.setdefault((line.text, times), Scene(line.text, [])).lines.append(line)
        scenes += _compared(told.values())
    return scenes


def _compared(scenes: Iterable[Scene]) -> Iterator[Scene]:
    """Scenes at the same time, each but the first with what differs if that is little."""
    full: str | None = None
    for scene in scenes:
        instead = None if full is None else _instead(full, scene.text)
        if instead is None:
            full = scene.text
        yield scene._replace(instead=instead)


def _instead(full: str, text: str) -> str | None:
    """The lines in which a text differs from one of as many lines; None where that is no help."""
    before, after = full.splitlines(), text.splitlines()
    if len(before) != len(after) or len(after) < LONG:
        return None
    other = [new for old, new in zip(before, after, strict=True) if new != old]
    return "\n".join(other) if 2 * len(other) <= len(after) else None


class _Writer:
    def __init__(self, record: MatchRecord, table: Table) -> None:
        self.table = table
        self.answers: dict[tuple[int, str], AnswerRecord] = {}
        self.read = dict.fromkeys(table.heard, 0)
        places = {seat.name: seat.place for seat in table.game.seats}
        self.names = {seat: table.game.called(place) for seat, place in places.items()}
        self.styles: dict[str, Style] = {
            seat: style(record.game, record.seats[place]["spec"].get("style"))
            for seat, place in places.items()
        }

    def news(self) -> list[Line]:
        """What the seats lived through since the last call: questions answered, then news."""
        lines = []
        for seat, heard in self.table.heard.items():
            fresh, self.read[seat] = heard[self.read[seat] :], len(heard)
            lines += [self.line(seat, moment) for moment in fresh]
        return sorted(lines, key=lambda line: line.kind is None)

    def line(self, seat: str, moment: Moment) -> Line:
        text = self.styles[seat].tell(moment.event, self.table.game, seat)
        given = self._answer_to(seat, moment)
        answer = given and (given.request, given.action, given.kind, tuple(given.calls))
        return Line(seat, self.names[seat], text, *(answer or ()))

    def _answer_to(self, seat: str, moment: Moment) -> AnswerRecord | None:
        """The recorded answer that closed this moment, if it was a question."""
        key = next((key for key in self.answers if key[1] == seat), None)
        if key is None or (moment.action is None) != (self.answers[key].action is None):
            return None
        return self.answers.pop(key)
