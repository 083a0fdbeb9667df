"""Transcripts: each actor's observations, requests and answers in a recorded match."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from textwrap import indent
from typing import Any, NamedTuple

from cheaptalk.players import Kind
from cheaptalk.printing.printout import Printed, Printout
from cheaptalk.records.chat import lines_of
from cheaptalk.records.encoding import text_of
from cheaptalk.records.record import AnswerRecord, MatchRecord, Status
from cheaptalk.rules import ChatLine, Moment, Table, counted, observed, unknown
from cheaptalk.rules.display import brief
from cheaptalk.styles import Style, style
from cheaptalk.styles.templates import Teller

LONG = 4
"""Minimum number of lines of a text that may be shortened to its differences from another."""


class Line(NamedTuple):
    """One observation or request of an actor.

    Attributes:
        actor: the actor.
        name: the actor's name among the players.
        text: the text in the actor's prompt style.
        request: the request's number; None for an observation.
        answer: the answer as a JSON object; None for an observation or an invalid answer.
        kind: the kind of the answer.
        calls: the calls for the answer, with their responses.
        sender: for a line of chat, the actor that sent it.
    """

    actor: str
    name: str
    text: str
    request: int | None = None
    answer: dict[str, Any] | None = None
    kind: Kind | None = None
    calls: tuple[dict[str, Any], ...] = ()
    sender: str | None = None

    @property
    def answer_text(self) -> str:
        """The answer as JSON, or the reason why it is invalid; empty for an observation."""
        if self.answer is not None:
            return text_of(self.answer)
        return "" if self.kind is None else f"no valid answer ({self.kind})"


class Transcript(Printed, list[Line]):
    """The observations, requests and answers of all actors of a match, in order."""

    def __repr__(self) -> str:
        return brief(self, counted(len(self), "line"))

    def __str__(self) -> str:
        seats = len({line.actor for line in self})
        return "\n\n".join(scene.as_text(seats) for scene in gather_scenes(self))

    def printout(self) -> Printout:
        rows = [(line.name, line.text, line.answer_text) for line in self]
        return Printout("Transcript", ["actor", "observed", "answer"], rows)


def transcript(record: MatchRecord) -> Transcript:
    """Replay a match and return its transcript.

    Raises:
        ReplayMismatch: the installed rules can't replay the match.
    """
    table, chat = record.table(), lines_of(record.chat)
    writer = _Writer(record, table)
    lines = Transcript(writer.news())
    for answer in record.answers:
        record.repeat_chat(table, chat, answer.request)
        lines.extend(writer.news())
        writer.answers[answer.request, answer.actor] = answer
        record.give(table, answer)
        lines.extend(writer.news())
    record.repeat_chat(table, chat, table.requests)
    lines.extend(writer.news())
    return lines


class SeatView(NamedTuple):
    """A match as seen by one actor.

    A view contains only data that the rules showed the actor: not the parameters as such, the
    instance, or the players in other seats.

    Attributes:
        id, game, version: the match, its game and rules version.
        actor, seat: the actor, and its seat.
        player, settings: the player's label and settings.
        status: the status of the match.
        lines: the actor's observations, requests and answers, with the calls.
        payoff: the actor's payoff; None if the match did not finish.
    """

    id: str
    game: str
    version: int
    actor: str
    seat: str
    player: str
    settings: dict[str, Any]
    status: Status
    lines: list[Line]
    payoff: float | None

    def as_json(self) -> dict[str, Any]:
        return self._asdict() | {"lines": [line._asdict() for line in self.lines]}


def seat_view(record: MatchRecord, actor: str) -> SeatView:
    """Return one actor's view of a match, which has a transcript only if the match has ended.

    Raises:
        UnknownName: the match has no such actor.
        ReplayMismatch: the installed rules can't replay the match.
    """
    if actor not in record.at:
        raise unknown("actor", actor, list(record.at))
    seat, payoff = record.at[actor], None
    lines = transcript(record) if "answers" in record.body else []
    if record.outcome is not None:
        payoff = record.rules.payoffs(record.result().outcome)[actor]
    own_lines = [line for line in lines if line.actor == actor]
    label, settings = record.label(seat), record.seats[seat]["spec"]
    match = record.id, record.game, record.version
    return SeatView(*match, actor, seat, label, settings, record.status, own_lines, payoff)


class Scene(NamedTuple):
    """A text that several actors received at the same time, as an observation or a request.

    Attributes:
        lines: the line of each actor.
        instead: the lines of the text that differ from the previous complete scene at the same
            time, if they are few.
    """

    text: str
    lines: list[Line]
    instead: str | None = None

    @property
    def shown(self) -> str:
        """Text of the scene, or only the lines that differ from an earlier scene."""
        return self.text if self.instead is None else self.instead

    def head(self, seats: int) -> str:
        """Return a heading such as ``All 10: request 3``, given the match's number of actors."""
        names = list(dict.fromkeys(line.name for line in self.lines))
        subject = f"All {seats}" if seats == len(self.lines) > 1 else ", ".join(names)
        request = self.lines[0].request
        verb = "observe" if len(self.lines) > 1 else "observes"
        kind = f" {verb}" if request is None else f": request {request}"
        return f"{subject}{kind}{'' if self.instead is None else ' (only differences)'}"

    def as_text(self, seats: int) -> str:
        """Return the heading, the text and the answers, given the match's number of actors."""
        several = len(self.lines) > 1
        answers = [
            f"{f'{line.name} answers' if several else 'Answer'}: {line.answer_text}"
            for line in self.lines
            if line.answer_text
        ]
        body = "\n".join([self.shown.rstrip(), *answers])
        return f"{self.head(seats)}\n{indent(body, '  ')}"


def gather_scenes(lines: Iterable[Line]) -> list[Scene]:
    """Group identical lines that several actors received at the same time into scenes.

    Each scene is at the position of its first line.
    """
    scenes: list[Scene] = []
    for _, run in groupby(lines, key=lambda line: line.request):
        occurrences: Counter[tuple[str, str]] = Counter()
        scenes_at_once: dict[tuple[str, int], Scene] = {}
        for line in run:
            occurrences[line.actor, line.text] += 1
            count = occurrences[line.actor, line.text]
            scenes_at_once.setdefault((line.text, count), Scene(line.text, [])).lines.append(line)
        scenes += _compared(scenes_at_once.values())
    return scenes


def _compared(scenes: Iterable[Scene]) -> Iterator[Scene]:
    """Yield simultaneous scenes; in later scenes, show only lines that differ, if they are few."""
    full: str | None = None
    for scene in scenes:
        instead = None if full is None else _instead(full, scene.text)
        if instead is None:
            full = scene.text
        yield scene._replace(instead=instead)


def _instead(full: str, text: str) -> str | None:
    """Return the lines that differ between two texts of equal length; None if too many differ."""
    old_lines, new_lines = full.splitlines(), text.splitlines()
    if len(old_lines) != len(new_lines) or len(new_lines) < LONG:
        return None
    changed = [new for old, new in zip(old_lines, new_lines, strict=True) if new != old]
    return "\n".join(changed) if 2 * len(changed) <= len(new_lines) else None


def _style(record: MatchRecord, seat: str) -> Style:
    """Return the prompt style or template file of a seat's player."""
    spec = record.seats[seat]["spec"]
    return style(record.game, spec.get("style"), templates=spec.get("templates"))


class _Writer:
    def __init__(self, record: MatchRecord, table: Table) -> None:
        self.table = table
        self.answers: dict[tuple[int, str], AnswerRecord] = {}
        self.read = dict.fromkeys(table.heard, (0, 0))
        self.names = {actor: table.game.called(seat) for actor, seat in record.at.items()}
        self.tellers: dict[str, Teller] = {
            actor: _style(record, seat).to(table.game, actor) for actor, seat in record.at.items()
        }

    def news(self) -> list[Line]:
        """Return the lines added since the last call: answered requests, then observations."""
        lines = []
        for actor, moments in self.table.heard.items():
            chat = self.table.chat.heard[actor] if self.table.chat else ()
            read_moments, read_lines = self.read[actor]
            news = list(observed(moments, chat, read_moments, read_lines))
            sent = sum(isinstance(item, ChatLine) for item in news)
            self.read[actor] = len(moments), read_lines + sent
            lines += [self.line(actor, item) for item in news]
        return sorted(lines, key=lambda line: line.kind is None)

    def line(self, actor: str, moment: Moment | ChatLine) -> Line:
        if isinstance(moment, ChatLine):
            text = self.tellers[actor].chat_line(moment)
            return Line(actor, self.names[actor], text, sender=moment.actor)
        text = self.tellers[actor].tell(moment.event)
        record = self._answer_to(actor, moment)
        answer = record and (record.request, record.action, record.kind, tuple(record.calls))
        return Line(actor, self.names[actor], text, *(answer or ()))

    def _answer_to(self, actor: str, moment: Moment) -> AnswerRecord | None:
        """Return the recorded answer to a request; None for an observation."""
        key = next((key for key in self.answers if key[1] == actor), None)
        if key is None or (moment.action is None) != (self.answers[key].action is None):
            return None
        return self.answers.pop(key)
