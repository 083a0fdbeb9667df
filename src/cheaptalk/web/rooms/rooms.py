"""Rooms, from waiting for players to the end of the match.

Every change of a room is saved, so that it survives a restart.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from cheaptalk.calls.budget import Halted
from cheaptalk.models import Reply
from cheaptalk.players import PersonCall
from cheaptalk.rules import Game, Table
from cheaptalk.studies.plans.matches import PlannedMatch
from cheaptalk.studies.plans.seating import SeatedPlayer
from cheaptalk.studies.runs.live_chat import LiveChat
from cheaptalk.web.rooms.seat_sessions import CLOSING, PRESENT, ChangeNotifier, SeatSession
from cheaptalk.web.rooms.table_templates import TableTemplate, neutral_names

LOBBY_TIMEOUT = 300.0
"""Seconds after which waiting visitors can stop waiting."""


class Stage(StrEnum):
    """The stage of a room."""

    WAITING = "waiting"
    """For visitors to take the free seats."""
    PLAYING = "playing"
    OVER = "over"
    """The match has ended, or all visitors left before it started."""
    BROKEN = "broken"
    """The match cannot continue because of a technical error."""


@dataclass
class Visitor:
    """A person who plays in the browser, identified only by their link.

    ``known_as`` is the name that others see; by default the seat's usual name.
    """

    name: str
    language: str = ""
    known_as: str | None = None
    room: "Room | None" = None
    seen: float = 0.0
    notifier: ChangeNotifier = field(default_factory=ChangeNotifier)

    def mark_seen(self) -> None:
        self.seen = time.time()

    @property
    def present(self) -> bool:
        return time.time() - self.seen < PRESENT


@dataclass
class Room:
    """A game table and the visitors who sit at it; None marks a free seat.

    ``substituted`` are the seats that were still free at the start, and ``seat_languages`` the
    language codes by seat at that time. ``since`` is the time of opening, or of the server's start.
    """

    code: str
    table_template: TableTemplate
    visitors: dict[str, Visitor | None]
    stage: Stage = Stage.WAITING
    substituted: tuple[str, ...] = ()
    instance: int = 0
    repeat: int = 0
    seat_languages: dict[str, str] = field(default_factory=dict)
    since: float = field(default_factory=time.time)
    table: Table | None = None
    seat_sessions: dict[str, SeatSession] = field(default_factory=dict)
    chat: LiveChat | None = None

    @property
    def over(self) -> bool:
        ended = self.table is not None and self.table.over
        return ended or self.stage in (Stage.OVER, Stage.BROKEN)

    def done_for(self, visitor: Visitor) -> bool:
        return self.over or self.seat_session(visitor).has_left

    @property
    def lobby_timed_out(self) -> bool:
        return self.stage is Stage.WAITING and time.time() - self.since >= LOBBY_TIMEOUT

    @property
    def free(self) -> list[str]:
        return [seat for seat, visitor in self.visitors.items() if visitor is None]

    @property
    def match(self) -> PlannedMatch:
        return self.table_template.match(
            self.instance, self.repeat, self.substituted, self.seat_languages
        )

    def seated(self, seat: str) -> SeatedPlayer:
        return dict(zip(self.table_template.seated, self.match.seating, strict=True))[seat]

    def has_seat(self, visitor: Visitor) -> bool:
        return any(occupant is visitor for occupant in self.visitors.values())

    @property
    def unresponsive(self) -> list[str]:
        """Names of the models and scripts whose answers are pending."""
        if self.table is None:
            return []
        game, people = self.table.game, self.seat_sessions
        seats = {actor.name: actor.seat for actor in game.actors if actor.seat not in people}
        shown = self.with_names(game)
        return [shown.called(seats[actor]) for actor in self.table.pending if actor in seats]

    def with_names(self, game: Game) -> Game:
        """Return a game with the names that people see: chosen, from the study, or neutral."""
        chosen = neutral_names(game) | {
            seat: visitor.known_as
            for seat, visitor in self.visitors.items()
            if visitor and visitor.known_as
        }
        return game.model_copy(update={"names": {**game.names, **chosen}})

    @property
    def replaced(self) -> list[str]:
        """Human seats that substitutes have taken over, at the start or during the match."""
        sessions = self.seat_sessions.items()
        gone = [seat for seat, session in sessions if session.has_left or session.away]
        seats = (*self.substituted, *gone)
        return [seat for seat in self.table_template.human_seats if seat in seats]

    def seat_of(self, visitor: Visitor) -> str:
        return next(seat for seat, occupant in self.visitors.items() if occupant is visitor)

    def seat_session(self, visitor: Visitor) -> SeatSession:
        return self.seat_sessions[self.seat_of(visitor)]

    def notify(self) -> None:
        for visitor in filter(None, self.visitors.values()):
            visitor.notifier.notify()

    def seat_people(self) -> None:
        self.seat_sessions = {
            seat: SeatSession(seat, visitor.notifier, self.code)
            for seat, visitor in self.visitors.items()
            if visitor is not None
        }

    async def ask(self, call: PersonCall) -> Reply:
        """Forward a decision request to the seat's visitor; raise Halted if the server stops."""
        table = self.table
        if table is None:
            raise Halted(CLOSING)
        seat = next(actor.seat for actor in table.game.actors if actor.name == call.seat)
        return await self.seat_sessions[seat].ask(call, table)

    def join_chat(self, chat: LiveChat) -> None:
        """Let the people in the room take part in the chat of the match."""
        actors = {actor.seat: actor.name for actor in chat.table.game.actors}
        self.chat = chat
        chat.people = lambda: {
            actors[seat]
            for seat, session in self.seat_sessions.items()
            if not session.has_left and not session.away
        }

    def wake_chat(self) -> None:
        """Let the chat notice that a person has left, or that the server stops."""
        if self.chat is not None:
            self.chat.wake()

    def watch(self, table: Table) -> None:
        self.table = table
        self.notify()

    def to_record(self) -> dict[str, Any]:
        visitors = {seat: visitor for seat, visitor in self.visitors.items() if visitor}
        return {
            "table_template": self.table_template.name,
            "stage": self.stage.value,
            "filled": list(self.substituted),
            "visitors": dict.fromkeys(self.visitors)
            | {seat: visitor.name for seat, visitor in visitors.items()},
            "languages": {visitor.name: visitor.language for visitor in visitors.values()},
            "read": self.seat_languages,
            "instance": self.instance,
            "repeat": self.repeat,
            "left": [seat for seat, session in self.seat_sessions.items() if session.has_left],
        }

    @classmethod
    def from_record(
        cls,
        code: str,
        record: Mapping[str, Any],
        table_template: TableTemplate,
        visitors: Mapping[str, Visitor],
    ) -> "Room":
        seats = {seat: visitors.get(name) for seat, name in record["visitors"].items()}
        room = cls(
            code,
            table_template,
            seats,
            Stage(record["stage"]),
            tuple(record["filled"]),
            record["instance"],
            record["repeat"],
            record.get("read", {}),
        )
        room.seat_people()
        for seat in record["left"]:
            if seat in room.seat_sessions:
                room.seat_sessions[seat].has_left = True
        return room
