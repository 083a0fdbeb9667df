"""A recorded match as people read it: what each seat was told, asked and answered, in order."""

from typing import Any, NamedTuple

from cheaptalk.players import Kind
from cheaptalk.records.record import AnswerRecord, MatchRecord
from cheaptalk.rules import Moment, Table
from cheaptalk.styles import Style, style


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


def transcript(record: MatchRecord) -> list[Line]:
    """Replay a match and put it into words, seat by seat as it happened.

    Raises:
        ReplayMismatch: the installed rules do not replay it.
    """
    table = record.table()
    writer = _Writer(record, table)
    lines = writer.news()
    for answer in record.answers:
        writer.answers[answer.request, answer.seat] = answer
        record.give(table, answer)
        lines.extend(writer.news())
    return lines


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
        if given is None:
            return Line(seat, self.names[seat], text)
        return Line(
            seat, self.names[seat], text, given.request, given.action, given.kind,
            tuple(given.calls),
        )  # fmt: skip

    def _answer_to(self, seat: str, moment: Moment) -> AnswerRecord | None:
        """The recorded answer that closed this moment, if it was a question."""
        key = next((key for key in self.answers if key[1] == seat), None)
        if key is None or (moment.action is None) != (self.answers[key].action is None):
            return None
        return self.answers.pop(key)
