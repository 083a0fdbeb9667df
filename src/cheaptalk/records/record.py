"""A match's record: self-describing, versioned, and enough to replay it."""

import time
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

from pydantic import ValidationError

from cheaptalk import __version__
from cheaptalk.players import Kind
from cheaptalk.records.costs import Cost, cost_of
from cheaptalk.records.encoding import pack, text_of, unpack
from cheaptalk.records.forfeits import Forfeit, blamed, invalid
from cheaptalk.records.identity import Configuration
from cheaptalk.records.shapes import Body, DamagedValue, EndedBody, check_shape
from cheaptalk.records.store.backend import DamagedStore
from cheaptalk.rules import (
    CheaptalkError,
    Deal,
    Game,
    Given,
    ReplayMismatch,
    Result,
    RulesError,
    Table,
    UnknownName,
    explain,
    game_box,
    give,
)
from cheaptalk.rules.display import brief, html_table
from cheaptalk.rules.errors import describe, first_problem, shown
from cheaptalk.rules.game import expect_json

FORMAT = 1
"""Version of the record's layout."""


class Status(StrEnum):
    """How far a match has come."""

    LIVE = "live"
    """Begun: some answers are recorded, more are to come."""
    FINISHED = "finished"
    FORFEITED = "forfeited"
    """Ended because a seat finally failed to answer; no part of the score."""
    FAILED = "failed"
    """Stopped by an error that is not play; it can be resumed."""


class AnswerRecord(NamedTuple):
    """One answer as recorded: who, to which request, of what kind, with every call it took."""

    request: int
    seat: str
    kind: Kind
    action: dict[str, Any] | None
    calls: Sequence[dict[str, Any]] = ()

    def as_json(self) -> dict[str, Any]:
        data: dict[str, Any] = {
            "request": self.request, "seat": self.seat, "kind": self.kind, "action": self.action,
        }  # fmt: skip
        if self.calls:
            data["calls"] = list(self.calls)
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "AnswerRecord":
        return cls(
            data["request"], data["seat"], Kind(data["kind"]), data["action"],
            tuple(data.get("calls", ())),
        )  # fmt: skip


def scripted_answers(given: Sequence[Given]) -> list[AnswerRecord]:
    """The answers of a match in which every seat is scripted."""
    return [
        AnswerRecord(request, seat, Kind.OK, action.model_dump(mode="json") if action else None)
        for request, seat, action in given
    ]


@dataclass(slots=True)
class Ended:
    """The part of a match's row that play decides."""

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


def ended(
    table: Table,
    seed: str,
    answers: Sequence[AnswerRecord],
    source: Mapping[str, Any] | None = None,
    *,
    begun: float | None = None,
) -> Ended:
    """Sum up a table that is over.

    Args:
        source: where an imported match comes from.
        begun: when it began, in seconds since 1970; None where that is in the store, or not known.
    """
    paid = sum(
        (cost_of(call.get("reply")) for answer in answers for call in answer.calls
         if "model" in call["call"]),
        Cost(),
    )  # fmt: skip
    outcome, payoffs, reason = None, None, None
    if table.forfeited:
        reason = f"forfeited by {', '.join(sorted(table.forfeited))}"
    else:
        assert table.outcome is not None
        outcome = table.outcome.model_dump(mode="json")
        payoffs = table.game.place_payoffs(table.outcome)
        expect_json(table.game.name, outcome)
    body: dict[str, Any] = {
        "format": FORMAT,
        "package": __version__,
        "seed": seed,
        "deal": table.deal.model_dump(mode="json"),
        "answers": [answer.as_json() for answer in answers],
    }
    if source:
        body["source"] = dict(source)
    return Ended(
        Status.FORFEITED if table.forfeited else Status.FINISHED, reason, outcome, payoffs,
        _count_kinds(table, answers), paid.calls, paid.usage.input_tokens,
        paid.usage.output_tokens, time.time(), pack(body), paid.usage.cached_tokens,
        paid.usage.reasoning_tokens, paid.dollars, paid.unpriced, paid.uncounted,
        paid.implausible, begun,
    )  # fmt: skip


def _count_kinds(table: Table, answers: Sequence[AnswerRecord]) -> dict[str, dict[str, int]]:
    places = {seat.name: seat.place for seat in table.game.seats}
    kinds: dict[str, dict[str, int]] = {}
    for (seat, kind), count in Counter((one.seat, one.kind) for one in answers).items():
        counts = kinds.setdefault(places[seat], {})
        counts[str(kind)] = counts.get(str(kind), 0) + count
    return kinds


class UnreadBody(ReplayMismatch):
    """A record's deal or answers are asked for, and it was read without them."""


class OtherVersion(ReplayMismatch):
    """A match recorded under another version of its game's rules, which are not to replay it."""


@dataclass(frozen=True)
class MatchRecord:
    """A recorded match.

    Attributes:
        id: hash of everything that defines the match.
        configuration: the game, its parameters, and the version of its rules when it was played.
        deal_key: equal for matches played on the same deal.
        repeat: counts repetitions on one deal.
        seats: by place, what the study calls the player and the settings that make it.
        status, reason: how it ended and, if badly, why.
        outcome, payoffs: in the game's terms; payoffs by place.
        kinds: how many answers were of each kind, by place.
        calls, input_tokens, output_tokens: what it took, replies from a cache left out.
        finished, begun: when, in seconds since 1970; None where it has not, or nobody noted it. An
            imported match finished when it was imported; see ``played``.
        body: seed, deal, answers with every call; while live the seed alone.
        unread: whether it was read without its body. Then ``body``, ``deal``, ``answers``,
            ``played`` and whatever replays the match raise :class:`UnreadBody`.
        cached_tokens, reasoning_tokens: of the input and of the output; None where nobody counted.
        dollars: what it cost at the prices of the time, as far as these were known.
        unpriced, uncounted, implausible: calls of unknown price, of unknown tokens, and of tokens
            that as reported cannot be true; None where nobody counted.
    """

    id: str
    configuration: Configuration
    deal_key: str
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

    def __repr__(self) -> str:
        return brief(self, f"{self.id}, {self.game}, {self._players}, {self.status.value}")

    def _repr_html_(self) -> str:
        rows = [
            (
                one.request,
                one.seat,
                text_of(one.action) if one.action else "forfeited",
            )
            for one in ([] if self.unread else self.answers)
        ]
        gains = ", ".join(f"{place} {gain:,.10g}" for place, gain in (self.payoffs or {}).items())
        notes = [*filter(None, [gains and f"payoffs: {gains}", self.reason])]
        title = f"{self.game}, {self._players}: {self.status.value}"
        return html_table(title, ["request", "seat", "answer"], rows, notes)

    @property
    def game(self) -> str:
        """The name of its game."""
        return self.configuration.game

    @property
    def version(self) -> int:
        """The version of the rules that it was played under."""
        return self.configuration.version

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of its game, which other matches share."""
        return self.configuration.parameters

    @property
    def _players(self) -> str:
        return " / ".join(map(self.label, self.seats))

    @cached_property
    def body(self) -> dict[str, Any]:
        """Seed, deal and answers.

        Raises:
            UnreadBody: it was read without them.
            DamagedStore: they are not as they were written.
        """
        if self.unread or (self.over and self.packed is None):
            raise UnreadBody(
                f"match {self.id} was read without its body, which holds its deal and answers; "
                f'read it with store.records(STUDY, bodies=True) or store.find("{self.id}")'
            )
        if self.packed is None:
            return {}
        try:
            return check_shape(unpack(self.packed), EndedBody if self.over else Body)
        except (zlib.error, ValueError, TypeError, DamagedValue) as error:
            raise self.damaged(str(error)) from error

    def damaged(self, what: str) -> DamagedStore:
        """That the record is not as it was written, as an error."""
        return DamagedStore(f"the record of match {self.id}", what)

    @cached_property
    def imported(self) -> bool:
        """Whether another system played it: how many tries an answer took is then not known."""
        return any("imported" in seat["spec"] for seat in self.seats.values())

    @property
    def played(self) -> str | None:
        """When another system played it, as that wrote it; None where it did not."""
        date = (self.body.get("source") or {}).get("date") if self.imported else None
        return None if date is None else str(date)

    @property
    def over(self) -> bool:
        """Whether it ended in play, and is not played again."""
        return self.status in SETTLED

    @cached_property
    def at(self) -> dict[str, str]:
        """Places by seat."""
        return {seat.name: seat.place for seat in self.rules.seats}

    def place_of(self, seat: str) -> str:
        """The place of a seat that is named in the record.

        Raises:
            DamagedStore: the game has no such seat.
        """
        if seat not in self.at:
            raise self.damaged(f"{self.game} has no seat {shown(seat)}")
        return self.at[seat]

    @cached_property
    def rules(self) -> Game:
        try:
            found = self.configuration.rules
        except ValidationError as error:
            raise OtherVersion(
                f"match {self.id} does not replay: its parameters do not fit version "
                f"{game_box(self.game).rules.version} of the rules of {self.game}: {explain(error)}"
            ) from error
        if self.seats.keys() != found.places.keys():
            raise self.damaged(f"{self.game} has the places {', '.join(found.places)}")
        return found

    @property
    def answers(self) -> list[AnswerRecord]:
        return [AnswerRecord.from_json(data) for data in self.body.get("answers", ())]

    @cached_property
    def places(self) -> dict[str, str]:
        """The roles of its places; a place is its own where the installed rules do not say it."""
        try:
            known = self.rules.places
        except (OtherVersion, UnknownName):
            known = {}
        return {place: known.get(place, place) for place in self.seats}

    def label(self, place: str) -> str:
        """What the study calls the player of this place.

        Raises:
            DamagedStore: nobody sits there.
        """
        if place not in self.seats:
            raise self.damaged(f"nobody sits in {shown(place)}")
        return str(self.seats[place]["label"])

    @property
    def forfeits(self) -> list[Forfeit]:
        """Who forfeited it; nobody where it ended otherwise."""
        if self.status is not Status.FORFEITED:
            return []
        return [
            Forfeit(self.label(place), place, kind, self.seats[place]["spec"].get("model"))
            for place, kind in invalid(self.kinds)
        ]

    @property
    def why(self) -> str | None:
        """Why it ended badly, if it did, and by whose doing."""
        return blamed(self.forfeits) or self.reason

    def result(self) -> Result:
        """The match as measures see it; only for one that finished, read with its body.

        Raises:
            OtherVersion: it was played under other rules than those installed.
            ReplayMismatch: it did not finish.
            DamagedStore: its record is damaged.
        """
        return self._result

    @cached_property
    def _result(self) -> Result:
        if self.status is not Status.FINISHED:
            raise ReplayMismatch(f"match {self.id} has no result: it is {self.status.value}")
        rules = self.rules
        deal = Deal() if rules.deal_type is Deal else self.deal
        with self._fitting():
            outcome = rules.outcome_type.model_validate(self.outcome)
        return Result(rules, deal, outcome, lambda: self._given)

    @cached_property
    def _given(self) -> list[Given]:
        """The answers, as the rules take them."""
        return self.replay().given

    @cached_property
    def deal(self) -> Any:
        """What nature decided, as the rules define it.

        Raises:
            UnreadBody: the match was read without its body.
            ReplayMismatch: it has not ended in play, and only then is its deal recorded.
        """
        if "deal" not in self.body:
            raise ReplayMismatch(
                f"match {self.id} has no deal: it is {self.status.value}, and a match's deal is "
                "recorded when it ends in play"
            )
        with self._fitting():
            return self.rules.deal_type.model_validate(self.body["deal"])

    @contextmanager
    def _fitting(self) -> Iterator[None]:
        """Read parts of the record as the rules define them."""
        try:
            yield
        except ValidationError as error:
            if self.rules.version != self.version:
                raise self._other_version() from error
            raise self.damaged(first_problem(error)) from error

    def _other_version(self) -> OtherVersion:
        return OtherVersion(
            f"match {self.id} was played under version {self.version} of the rules of "
            f"{self.game}; version {self.rules.version} is installed and does not replay it"
        )

    @contextmanager
    def _replaying(self) -> Iterator[None]:
        """Let the rules act on the record, which may hold what they never made."""
        try:
            yield
        except ReplayMismatch as mismatch:
            raise ReplayMismatch(f"match {self.id} does not replay: {mismatch}") from mismatch
        except Exception as error:
            if isinstance(error, CheaptalkError) and not isinstance(error, RulesError):
                raise
            why = f"the rules of {self.game} fail at it ({describe(error)})"
            raise ReplayMismatch(f"match {self.id} does not replay: {why}") from error

    def table(self) -> Table:
        """The match's table before anyone answered.

        Raises:
            OtherVersion: it was played under other rules than those installed.
            ReplayMismatch: there is nothing to replay, or the rules cannot deal it.
        """
        if "deal" not in self.body:
            why = f"it is {self.status.value}"
            raise ReplayMismatch(f"match {self.id} has no answers to replay: {why}")
        rules = self.rules
        if rules.version != self.version:
            raise self._other_version()
        deal = self.deal
        with self._replaying():
            return Table(rules, deal, self.body["seed"])

    def give(self, table: Table, answer: AnswerRecord) -> None:
        """Give a table one of the recorded answers.

        Raises:
            ReplayMismatch: the answer does not fit the rules.
        """
        with self._replaying():
            give(table, answer.request, answer.seat, answer.action)

    def replay(self) -> Table:
        """Play the recorded answers again.

        Raises:
            OtherVersion: it was played under other rules than those installed.
            ReplayMismatch: an answer does not fit the rules.
        """
        table = self.table()
        for answer in self.answers:
            self.give(table, answer)
        return table

    def as_json(self) -> dict[str, Any]:
        """The whole record as one JSON object, readable without this package."""
        made = {
            "match_id": self.id, "game": self.game, "rules_version": self.version,
            "parameters": self.parameters,
        }  # fmt: skip
        names = [one.name for one in fields(self) if one.name not in UNWRITTEN]
        data = made | {name: getattr(self, name) for name in names}
        return data | {"status": self.status.value} | self.body


def failed(reason: str, seed: str) -> Ended:
    """A match that was stopped by an error that is not play."""
    return Ended(Status.FAILED, reason, None, None, {}, 0, 0, 0, time.time(), pack({"seed": seed}))


UNWRITTEN = ("id", "configuration", "packed", "unread")
"""Attributes of a record that its JSON has otherwise."""

SETTLED = (Status.FINISHED, Status.FORFEITED)
"""How a match has ended that is not played again."""
