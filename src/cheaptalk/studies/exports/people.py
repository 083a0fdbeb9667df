"""The data of participants for wide tables: their answers, games, decisions and payments."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import sqlalchemy as sa

from cheaptalk.players import Kind
from cheaptalk.records.exclusions import Standing
from cheaptalk.records.exports.columns import BOOLEAN, INTEGER, NUMBER, TEXT
from cheaptalk.records.exports.seats import SeatRow
from cheaptalk.records.exports.tables import AnswerRow, MatchRow
from cheaptalk.records.people import queries
from cheaptalk.records.people.rows import Participant, Payment, Play, Response
from cheaptalk.records.store import schema
from cheaptalk.records.store.store import Store
from cheaptalk.rules import game_title
from cheaptalk.studies.exports.questions import Question, protocols_of, questions_of, steps_of
from cheaptalk.studies.people.protocol import Protocol
from cheaptalk.text import readable

SERVER_STEPS = ("games", "assignment", "go_on", "end", "ended")
"""Steps without a page of the study: their responses are in the table of plays."""


@dataclass
class GameRow:
    """A participant's game: a row of the long table.

    Attributes:
        person: the participant.
        play: the game.
        seat: the participant's seat in the match; None if no match is stored.
        decisions: the answers of the seat, in order.
        partners: the codes of the other participants in the match.
        treatment: the name of the treatment.
    """

    person: "Person"
    play: Play
    seat: SeatRow | None = None
    decisions: Sequence[AnswerRow] = ()
    partners: Sequence[str] = ()
    treatment: str = ""
    game: str = ""

    @property
    def of(self) -> str:
        """The name of the game."""
        return self.play.game

    def answer(self, question: Question) -> Response | None:
        """Return the last answer to a question before or after this game."""
        return self.person.answers.get((question.step, question.item, self.play.number))

    @property
    def has_chat(self) -> bool:
        return self.seat is not None and self.seat.record.rules.chat is not None

    @property
    def chat_lines(self) -> list[str] | None:
        """The participant's lines of chat, also of an unfinished match; None without a chat."""
        if self.seat is None or not self.has_chat:
            return None
        record, seat = self.seat.record, self.seat.seat
        return [
            line.text for line in record.chat if line.text and record.seat_of(line.actor) == seat
        ]

    @property
    def started(self) -> float | None:
        return None if self.seat is None else self.seat.match.time("started_at")

    @property
    def seconds_waiting(self) -> float | None:
        """Seconds from the assignment to the start of the match."""
        return None if self.started is None else max(0.0, self.started - self.play.assigned)

    @property
    def seconds_playing(self) -> float | None:
        """Seconds from the start of the match to the end of the game for the participant."""
        if self.started is None or self.play.ended is None:
            return None
        return max(0.0, self.play.ended - self.started)

    @property
    def seconds_deciding(self) -> float | None:
        """Seconds in which the participant was asked for decisions."""
        known = [row.latency for row in self.decisions if row.latency is not None]
        return sum(known) if known else None


@dataclass
class Person:
    """A participant: a row of the wide table.

    Attributes:
        number: counts participants in the order of arrival, from 1.
        games: their games in order.
        cents: their payments by key.
    """

    study: str
    number: int
    record: Participant
    responses: Sequence[Response]
    currency: str
    payments: Sequence[Payment] = ()
    games: list[GameRow] = field(default_factory=list)
    game: str = ""

    @cached_property
    def answers(self) -> dict[tuple[str, str, int | None], Response]:
        """The last answer by step, item and number of the game, or None for any game."""
        answers: dict[tuple[str, str, int | None], Response] = {}
        for response in self.responses:
            if response.item is not None:
                for game in (response.game, None):
                    answers[response.step, response.item, game] = response
        return answers

    def graded(self, step: str, game: int | None) -> list[bool]:
        """Return whether each attempt at a step was correct."""
        attempts = {
            response.number: response.correct
            for response in self.responses
            if response.step == step and game in (None, response.game)
        }
        return [correct for correct in attempts.values() if correct is not None]

    def seconds(self, step: str, game: int | None) -> float | None:
        """Return the seconds on a step's pages; None if it wasn't answered or a time is unknown."""
        pages = {
            response.number: (response.shown, response.answered)
            for response in self.responses
            if response.step == step and game in (None, response.game)
        }
        if not pages or any(shown is None for shown, _ in pages.values()):
            return None
        return sum(max(0.0, answered - (shown or 0.0)) for shown, answered in pages.values())

    @property
    def cents(self) -> dict[str, int]:
        """The payments by key."""
        return {payment.key: payment.cents for payment in self.payments}

    @property
    def show_up_fees(self) -> int:
        """The sum of the show-up fees in cents."""
        fees = (cents for key, cents in self.cents.items() if key.startswith("show_up/"))
        return sum(fees)

    def earned(self, kind: str | None = None) -> int:
        """Return the sum of the payments in cents, or of those of one kind."""
        return sum(payment.cents for payment in self.payments if kind in (None, payment.kind))

    @property
    def treatments(self) -> list[str]:
        """The names of the participant's treatments, in the order of their games."""
        return list(dict.fromkeys(game.treatment for game in self.games))


class AskedStep(NamedTuple):
    """A step of the path, whether it is before or after each game, and only around the first."""

    name: str
    in_game: bool
    once: bool
    graded: bool


@dataclass
class PeopleData:
    """The participants of a study with the steps and questions of its protocols."""

    study: str
    currency: str
    protocols: Sequence[Protocol]
    people: Sequence[Person]
    matches: Sequence[MatchRow]

    @cached_property
    def questions(self) -> list[Question]:
        """All questions of the protocols, then those that only responses contain."""
        questions = {(item.step, item.item): item for item in questions_of(self.protocols)}
        around = {step.name for step in self.protocol_steps if step.in_game}
        for response in self._answered():
            key = response.step, response.item or ""
            if key not in questions:
                in_game = response.step in around or self._is_quiz(response)
                questions[key] = Question(*key, in_game, type=_type_of(response))
            elif not questions[key].texts and questions[key].type != _type_of(response):
                questions[key] = questions[key]._replace(type=TEXT)
            elif questions[key].type == INTEGER and not (response.value or 0.0).is_integer():
                questions[key] = questions[key]._replace(type=NUMBER)
        return list(questions.values())

    def _answered(self) -> Iterator[Response]:
        for person in self.people:
            for response in person.responses:
                given = response.item is not None and response.answer is not None
                if given and response.step not in SERVER_STEPS:
                    yield response

    @staticmethod
    def _is_quiz(response: Response) -> bool:
        return queries.step_kind(response.step) == queries.QUIZ and response.game > 0

    @cached_property
    def protocol_steps(self) -> list[AskedStep]:
        """The steps of the protocols, except the games."""
        steps: dict[str, AskedStep] = {}
        for protocol in self.protocols:
            for step, in_game in steps_of(protocol):
                once = in_game and step.once and not step.when
                steps.setdefault(step.called, AskedStep(step.called, in_game, once, False))
        return list(steps.values())

    @cached_property
    def steps(self) -> list[AskedStep]:
        """All steps with pages, in the order of the path; graded if any answer was."""
        responses = [item for person in self.people for item in person.responses]
        graded = {item.step for item in responses if item.correct is not None}
        steps = {step.name: step for step in self.protocol_steps}
        for response in responses:
            if response.step not in SERVER_STEPS:
                in_game = self._is_quiz(response)
                new = AskedStep(response.step, in_game, False, False)
                steps.setdefault(response.step, new)
        return [step._replace(graded=step.name in graded) for step in steps.values()]

    @property
    def games(self) -> Iterator[GameRow]:
        """Yield all games, participant by participant."""
        for person in self.people:
            yield from person.games


def read_people(store: Store, study: str) -> PeopleData:
    """Read the participants of a study with their games, matches and payments."""
    currency = queries.currency_of(store, study)
    responses = _grouped(queries.responses_of(store, study))
    payments = _grouped(queries.payments_of(store, study))
    people = {
        record.participant: Person(
            study,
            number,
            record,
            responses.get(record.participant, []),
            currency,
            payments.get(record.participant, []),
        )
        for number, record in enumerate(queries.participants_of(store, study), 1)
    }
    plays = list(queries.plays_of(store, study))
    matches = _matches(store, study)
    protocols = protocols_of(store, study)
    names = _treatment_names(plays, matches, protocols)
    seated = _grouped((play for play in plays if play.match_id), key="match_id")
    for play in plays:
        row = GameRow(people[play.participant], play, treatment=names[play.treatment])
        match = matches.get(play.match_id or "")
        if match is not None and play.seat in match.record.seats:
            row.seat = SeatRow(match, play.seat)
            row.decisions = [
                AnswerRow(match, answer.request, answer.actor, answer)
                for answer in match.record.answers
                if match.record.seat_of(answer.actor) == play.seat
            ]
            others = (other.participant for other in seated[match.record.id])
            row.partners = [code for code in dict.fromkeys(others) if code != play.participant]
        people[play.participant].games.append(row)
    return PeopleData(study, currency, protocols, list(people.values()), list(matches.values()))


def _grouped(rows: Iterable[Any], key: str = "participant") -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = defaultdict(list)
    for row in rows:
        groups[getattr(row, key)].append(row)
    return groups


def _matches(store: Store, study: str) -> dict[str, MatchRow]:
    """Return the matches that participants of a study played, by id."""
    standing = Standing(store, study)
    played = schema.matches.c.id.in_(sa.select(schema.plays.c.match_id))
    records = store.records(study, bodies=True, past=True, where=played)
    return {record.id: MatchRow(standing.of(record), record, None) for record in records}


def _treatment_names(
    plays: Sequence[Play], matches: dict[str, MatchRow], protocols: Sequence[Protocol]
) -> dict[str, str]:
    """Return a readable name for each treatment: its name in the design, or its settings.

    Without a design, the name consists of the game, the players and the parameters that differ
    between the treatments. A treatment without a match keeps its identifier.
    """
    named = {name for protocol in protocols for name in protocol.games.treatments}
    examples: dict[str, MatchRow] = {}
    for play in plays:
        match = matches.get(play.match_id or "")
        if play.treatment not in named and match is not None:
            examples.setdefault(play.treatment, match)
    varied = {
        game: _varied([match.record.parameters for match in rows])
        for game, rows in _grouped(examples.values(), key="game").items()
    }
    names: dict[str, str] = {}
    for play in plays:
        if play.treatment in names:
            continue
        name, match = play.treatment, examples.get(play.treatment)
        if match is not None:
            parameters = match.record.parameters
            settings = [f"{key} {readable(parameters[key])}" for key in varied[match.game]]
            name = ", ".join([f"{game_title(match.game)}: {match.pairing}", *settings])
        if name in names.values():
            name = f"{name} ({play.treatment})"
        names[play.treatment] = name
    return names


def _varied(parameters: Sequence[dict[str, Any]]) -> list[str]:
    """Return the names of the parameters that differ between the treatments of a game."""
    texts = {name: {readable(values[name]) for values in parameters} for name in parameters[0]}
    return [name for name, values in texts.items() if len(values) > 1]


def _type_of(response: Response) -> str:
    """Return the type of an answer to a question without a declaration."""
    if response.value is not None:
        return NUMBER
    return BOOLEAN if response.answer in ("true", "false") else TEXT


def invalid_answers(decisions: Sequence[AnswerRow]) -> int:
    """Return the number of requests that a participant left without a valid answer."""
    return sum(row.answer.kind not in (Kind.OK, Kind.REPAIRED) for row in decisions)
