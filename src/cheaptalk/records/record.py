"""Record of a match: self-describing, versioned and sufficient to replay the match."""

import time
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

from pydantic import ValidationError

from cheaptalk import __version__
from cheaptalk.players import Kind
from cheaptalk.printing.printout import Printed, Printout
from cheaptalk.records.chat import ChatRecord, lines_of
from cheaptalk.records.costs import Cost, cost_of
from cheaptalk.records.descriptions import Forfeit, blamed, invalid
from cheaptalk.records.encoding import moment, pack, text_of, unpack
from cheaptalk.records.identity import Configuration
from cheaptalk.records.metrics import Measured, measure
from cheaptalk.records.store.backend import DamagedStore
from cheaptalk.records.validation import Body, DamagedValue, EndedBody, check_shape
from cheaptalk.rules import (
    ChatLine,
    CheaptalkError,
    Game,
    Given,
    Instance,
    ReplayMismatch,
    Result,
    RulesError,
    Table,
    UnknownName,
    explain,
    get_game,
    replay_answer,
    replay_chat,
)
from cheaptalk.rules.errors import describe, first_problem, shown
from cheaptalk.rules.game import expect_json

FORMAT = 2
"""Version of the record format."""


class Status(StrEnum):
    """The status of a match."""

    LIVE = "live"
    """Started; some answers are recorded, others are pending."""
    FINISHED = "finished"
    FORFEITED = "forfeited"
    """Ended because a player gave no valid answer; not scored."""
    FAILED = "failed"
    """Stopped by a technical error; can be resumed."""


class AnswerRecord(NamedTuple):
    """A recorded answer: the request, the actor, the kind, the action and all calls."""

    request: int
    actor: str
    kind: Kind
    action: dict[str, Any] | None
    calls: Sequence[dict[str, Any]] = ()

    def as_json(self) -> dict[str, Any]:
        data = self._asdict()
        calls = list(data.pop("calls"))
        return data | {"calls": calls} if calls else data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "AnswerRecord":
        return cls(
            data["request"],
            data["actor"],
            Kind(data["kind"]),
            data["action"],
            tuple(data.get("calls", ())),
        )


def scripted_answers(answers: Sequence[Given]) -> list[AnswerRecord]:
    """Create answer records for answers that were given without model calls."""
    return [
        AnswerRecord(request, actor, Kind.OK, action.model_dump(mode="json") if action else None)
        for request, actor, action in answers
    ]


@dataclass(slots=True)
class MatchEnd:
    """The result of a match, as stored in the table of matches."""

    status: Status
    reason: str | None
    outcome: dict[str, Any] | None
    payoffs: dict[str, float] | None
    kinds: dict[str, dict[str, int]]
    calls: int
    input_tokens: int
    output_tokens: int
    finished: float
    body: bytes
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    dollars: float = 0.0
    unpriced: int = 0
    uncounted: int = 0
    implausible: int = 0
    begun: float | None = None
    metrics: Measured | None = None


ENDED_COLUMNS = tuple(column.name for column in fields(MatchEnd) if column.name != "metrics")
"""The columns of the table of matches that contain a result."""


def match_end(
    table: Table,
    seed: str,
    answers: Sequence[AnswerRecord],
    source: Mapping[str, Any] | None = None,
    *,
    begun: float | None = None,
    chat: Sequence[ChatRecord] = (),
) -> MatchEnd:
    """Return the result of a match; before its end, the answers so far and the status live.

    Args:
        source: the origin of an imported match.
        begun: start in seconds since 1970; None if it is already stored or unknown.
        chat: the recorded chat.
    """
    made = chain(*(answer.calls for answer in answers), *(line.calls for line in chat))
    calls = [call for call in made if "model" in call["call"]]
    paid = sum((cost_of(call.get("reply")) for call in calls), Cost())
    outcome, payoffs, reason, metrics = None, None, None, None
    status = Status.LIVE
    if table.forfeited:
        status, reason = Status.FORFEITED, f"forfeited by {', '.join(sorted(table.forfeited))}"
    elif table.outcome is not None:
        status = Status.FINISHED
        outcome = table.outcome.model_dump(mode="json")
        payoffs = table.game.seat_payoffs(table.outcome)
        expect_json(table.game.name, outcome)
        with suppress(UnknownName):
            metrics = measure(
                Result(table.game, table.instance, table.outcome, lambda: table.given)
            )
    body: dict[str, Any] = {
        "format": FORMAT,
        "package": __version__,
        "seed": seed,
        "instance": table.instance.model_dump(mode="json"),
        "answers": [answer.as_json() for answer in answers],
    }
    if chat:
        body["chat"] = [entry.as_json() for entry in chat]
    if source:
        body["source"] = dict(source)
    return MatchEnd(
        status,
        reason,
        outcome,
        payoffs,
        _count_kinds(table, answers),
        finished=time.time(),
        body=pack(body),
        begun=begun,
        metrics=metrics,
        **paid.columns,
    )


def _count_kinds(table: Table, answers: Sequence[AnswerRecord]) -> dict[str, dict[str, int]]:
    seats = {actor.name: actor.seat for actor in table.game.actors}
    kinds: dict[str, dict[str, int]] = {}
    for (actor, kind), count in Counter((answer.actor, answer.kind) for answer in answers).items():
        counts = kinds.setdefault(seats[actor], {})
        counts[str(kind)] = counts.get(str(kind), 0) + count
    return kinds


def _current(body: dict[str, Any]) -> dict[str, Any]:
    """Convert a match's body from format 1 to the current key names."""
    if not isinstance(body, dict) or body.get("format") != 1:
        return body
    answers = [_renamed(answer, "seat", "actor") for answer in body.get("answers", ())]
    return _renamed(body, "deal", "instance") | {"answers": answers}


def _renamed(data: Mapping[str, Any], old: str, new: str) -> dict[str, Any]:
    return {new if key == old else key: value for key, value in data.items()}


class UnreadBody(ReplayMismatch):
    """Raised when the instance or answers of a match were not read from the store."""


class VersionMismatch(ReplayMismatch):
    """Raised when the installed rules can't replay a match recorded under another version."""


@dataclass(frozen=True, repr=False)
class MatchRecord(Printed):
    """A recorded match.

    >>> study = ct.Study(name="s", games=[{"game": "bargaining"}], players={"fair": "equal_split"})
    >>> _ = ct.run(study, "s.sqlite")
    >>> with ct.Store.open("s.sqlite") as store:
    ...     (record,) = store.records("s")
    >>> record, record.payoffs
    (<MatchRecord: ..., bargaining, fair / fair, finished>, {'alice': 5000.0, 'bob': 5000.0})

    Attributes:
        id: hash of the match's complete definition.
        configuration: the game, its parameters, and the rules version of the match.
        instance_key: equal for matches played on the same instance.
        repeat: counts repetitions on one instance.
        seats: the player's label and settings by seat.
        status, reason: how the match ended, and why if it failed or was forfeited.
        outcome, payoffs: the outcome as the game defines it; payoffs by seat.
        kinds: counts of answers by seat and kind.
        calls, input_tokens, output_tokens: calls and tokens used, without cached responses.
        finished, begun: times in seconds since 1970; None if not reached or not recorded. For an
            imported match, ``finished`` is the time of the import; see ``played``.
        body: seed, instance, and answers with all calls; for a live match only the seed.
        unread: whether the record was read without its body. Then ``body``, ``instance``,
            ``answers``, ``played`` and methods that replay the match raise :class:`UnreadBody`.
        cached_tokens, reasoning_tokens: parts of input and output tokens; None if unknown.
        dollars: cost at the prices of the time, as far as known.
        unpriced, uncounted, implausible: calls with an unknown price, unknown tokens, and
            implausible reported tokens; None if unknown.
    """

    id: str
    configuration: Configuration
    instance_key: str
    repeat: int
    seats: dict[str, dict[str, Any]]
    status: Status
    reason: str | None
    outcome: dict[str, Any] | None
    payoffs: dict[str, float] | None
    kinds: dict[str, dict[str, int]]
    calls: int
    input_tokens: int
    output_tokens: int
    finished: float | None
    packed: bytes | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    dollars: float | None = None
    unpriced: int | None = None
    uncounted: int | None = None
    implausible: int | None = None
    begun: float | None = None
    unread: bool = field(default=False, repr=False, compare=False)

    def printout(self) -> Printout:
        rows = [
            (answer.request, answer.actor, text_of(answer.action) if answer.action else "forfeited")
            for answer in ([] if self.unread else self.answers)
        ]
        payoffs = [f"{seat} {payoff:,.10g}" for seat, payoff in (self.payoffs or {}).items()]
        notes = [f"payoffs: {', '.join(payoffs)}"] if payoffs else []
        notes += [self.reason] if self.reason else []
        title = f"{self.id}, {self.game}, {self._players}, {self.status.value}"
        return Printout(title, ["request", "actor", "answer"], rows, notes)

    @property
    def game(self) -> str:
        return self.configuration.game

    @property
    def version(self) -> int:
        """The rules version under which the match was played."""
        return self.configuration.version

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the game, shared by all matches with the same configuration."""
        return self.configuration.parameters

    @property
    def _players(self) -> str:
        return " / ".join(map(self.label, self.seats))

    @cached_property
    def body(self) -> dict[str, Any]:
        """Seed, instance and answers of the match.

        Raises:
            UnreadBody: the match was read without its body.
            DamagedStore: the body is damaged.
        """
        if self.unread or (self.over and self.packed is None):
            raise UnreadBody(
                f"match {self.id} was read without its body (instance and answers); read it with "
                f'store.records(STUDY, bodies=True) or store.find("{self.id}")'
            )
        if self.packed is None:
            return {}
        try:
            return check_shape(_current(unpack(self.packed)), EndedBody if self.over else Body)
        except (zlib.error, ValueError, TypeError, DamagedValue) as error:
            raise self.damaged(str(error)) from error

    def damaged(self, problem: str) -> DamagedStore:
        """Return the error that reports a problem with this record."""
        return DamagedStore(f"the record of match {self.id}", problem)

    @cached_property
    def imported(self) -> bool:
        """Whether the match was imported; the attempts of imported matches are unknown."""
        return any("imported" in seat["spec"] for seat in self.seats.values())

    @property
    def times(self) -> dict[str, float | None]:
        """Times in seconds since 1970 by exported name: start, and either end or import."""
        ended, imported = (None, self.finished) if self.imported else (self.finished, None)
        return {"started_at": self.begun, "ended_at": ended, "imported_at": imported}

    @property
    def written_times(self) -> dict[str, str | None]:
        """The times as ISO 8601 text in UTC."""
        return {key: None if time is None else moment(time) for key, time in self.times.items()}

    @property
    def played(self) -> str | None:
        """Time at which another system played the match, in that system's format, or None."""
        date = (self.body.get("source") or {}).get("date") if self.imported else None
        return None if date is None else str(date)

    @property
    def over(self) -> bool:
        """Whether the match is finished or forfeited and will not be played again."""
        return self.status in SETTLED

    @cached_property
    def at(self) -> dict[str, str]:
        return {seat.name: seat.seat for seat in self.rules.actors}

    def seat_of(self, actor: str) -> str:
        """Return the seat of an actor; raise DamagedStore if the game lacks the actor."""
        if actor not in self.at:
            raise self.damaged(f"{self.game} has no actor {shown(actor)}")
        return self.at[actor]

    @cached_property
    def rules(self) -> Game:
        try:
            game = self.configuration.rules
        except ValidationError as error:
            raise VersionMismatch(
                f"match {self.id} does not replay: its parameters do not fit version "
                f"{get_game(self.game).rules.version} of the rules of {self.game}: {explain(error)}"
            ) from error
        if self.seats.keys() != game.seats.keys():
            raise self.damaged(f"the seats of {self.game} are {', '.join(game.seats)}")
        return game

    @property
    def answers(self) -> list[AnswerRecord]:
        return [AnswerRecord.from_json(data) for data in self.body.get("answers", ())]

    @property
    def chat(self) -> list[ChatRecord]:
        """The recorded chat, in order; empty if the match had none."""
        return [ChatRecord.from_json(data) for data in self.body.get("chat", ())]

    @property
    def made_calls(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """All calls with their actors: those of answers, then those of the chat."""
        for answer in self.answers:
            yield from ((answer.actor, call) for call in answer.calls)
        for line in self.chat:
            yield from ((line.actor, call) for call in line.calls)

    @cached_property
    def roles(self) -> dict[str, str]:
        """Roles by seat, or the seats' own names if the installed rules can't replay the match."""
        try:
            seat_roles = self.rules.seats
        except (VersionMismatch, UnknownName):
            seat_roles = {}
        return {seat: seat_roles.get(seat, seat) for seat in self.seats}

    def label(self, seat: str) -> str:
        """Return the label of the player in a seat; raise DamagedStore if there is no such seat."""
        if seat not in self.seats:
            raise self.damaged(f"no seat {shown(seat)}")
        return str(self.seats[seat]["label"])

    @property
    def forfeits(self) -> list[Forfeit]:
        """Forfeits of the match; empty unless the match was forfeited."""
        if self.status is not Status.FORFEITED:
            return []
        return [
            Forfeit(self.label(seat), seat, kind, self.seats[seat]["spec"].get("model"))
            for seat, kind in invalid(self.kinds)
        ]

    @property
    def why(self) -> str | None:
        """Why the match failed, or which player forfeited; None if the match finished."""
        return blamed(self.forfeits) or self.reason

    def result(self) -> Result:
        """Return the result of a finished match, from which metrics are computed.

        Raises:
            VersionMismatch: the match was played under another version of the rules.
            ReplayMismatch: the match did not finish.
            DamagedStore: the record is damaged.
        """
        return self._result

    @cached_property
    def _result(self) -> Result:
        if self.status is not Status.FINISHED:
            raise ReplayMismatch(f"match {self.id} has no result: it is {self.status.value}")
        rules = self.rules
        instance = Instance() if rules.instance_type is Instance else self.instance
        with self._fitting():
            outcome = rules.outcome_type.model_validate(self.outcome)
        return Result(rules, instance, outcome, lambda: self._given)

    @cached_property
    def _given(self) -> list[Given]:
        return self.replay().given

    @cached_property
    def instance(self) -> Any:
        """The instance on which the match was played, validated by the rules.

        Raises:
            UnreadBody: the match was read without its body.
            ReplayMismatch: the match has not ended in play, so its instance is not recorded.
        """
        if "instance" not in self.body:
            raise ReplayMismatch(
                f"match {self.id} has no instance: it is {self.status.value}, and an instance is "
                "recorded only when its match ends in play"
            )
        with self._fitting():
            return self.rules.instance_type.model_validate(self.body["instance"])

    @contextmanager
    def _fitting(self) -> Iterator[None]:
        try:
            yield
        except ValidationError as error:
            if self.rules.version != self.version:
                raise self._other_version() from error
            raise self.damaged(first_problem(error)) from error

    def _other_version(self) -> VersionMismatch:
        return VersionMismatch(
            f"match {self.id} was played under version {self.version} of the rules of "
            f"{self.game}; version {self.rules.version} is installed and can't replay it"
        )

    @contextmanager
    def _replaying(self) -> Iterator[None]:
        """Convert errors that the rules raise for invalid recorded data to ReplayMismatch."""
        try:
            yield
        except ReplayMismatch as mismatch:
            raise ReplayMismatch(f"match {self.id} does not replay: {mismatch}") from mismatch
        except Exception as error:
            if isinstance(error, CheaptalkError) and not isinstance(error, RulesError):
                raise
            reason = f"the rules of {self.game} fail ({describe(error)})"
            raise ReplayMismatch(f"match {self.id} does not replay: {reason}") from error

    def table(self) -> Table:
        """Return the initial game state of the match, before any recorded answer.

        Raises:
            VersionMismatch: the match was played under another version of the rules.
            ReplayMismatch: the match can't be replayed.
        """
        if "instance" not in self.body:
            reason = f"it is {self.status.value}"
            raise ReplayMismatch(f"match {self.id} has no answers to replay: {reason}")
        rules = self.rules
        if rules.version != self.version:
            raise self._other_version()
        instance = self.instance
        with self._replaying():
            return Table(rules, instance, self.body["seed"])

    def give(self, table: Table, answer: AnswerRecord) -> None:
        """Apply a recorded answer to a game state; raise ReplayMismatch if the rules reject it."""
        with self._replaying():
            replay_answer(table, answer.request, answer.actor, answer.action)

    def repeat_chat(self, table: Table, lines: Sequence[ChatLine], request: int) -> None:
        """Repeat the recorded lines up to a request; raise ReplayMismatch if one is refused."""
        with self._replaying():
            replay_chat(table, lines, request)

    def replay(self) -> Table:
        """Replay the recorded answers, and return the resulting game state.

        Raises:
            VersionMismatch: the match was played under another version of the rules.
            ReplayMismatch: an answer does not fit the rules.
        """
        table, lines = self.table(), lines_of(self.chat)
        for answer in self.answers:
            self.repeat_chat(table, lines, answer.request)
            self.give(table, answer)
        self.repeat_chat(table, lines, table.requests)
        return table

    def as_json(self) -> dict[str, Any]:
        """Return the complete record as one JSON object, readable without this package."""
        names = [attribute.name for attribute in fields(self) if attribute.name not in UNWRITTEN]
        data = {"match_id": self.id, "game": self.game, "rules_version": self.version}
        data |= {"parameters": self.parameters} | {name: getattr(self, name) for name in names}
        return data | {"status": self.status.value} | self.written_times | self.body


def failed(reason: str, seed: str) -> MatchEnd:
    """Return the result of a match that a technical error stopped."""
    return MatchEnd(
        Status.FAILED, reason, None, None, {}, 0, 0, 0, time.time(), pack({"seed": seed})
    )


UNWRITTEN = ("id", "configuration", "packed", "unread", "begun", "finished")
"""Attributes that a record's JSON contains in another form."""

SETTLED = (Status.FINISHED, Status.FORFEITED)
"""Statuses of matches that are not played again."""
