"""Rooms: tables that wait for their people, are played, and are over.

A room is kept whenever it changes, so that a restart loses none.
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
from cheaptalk.studies.plans.seating import Seated
from cheaptalk.web.rooms.offers import Offer
from cheaptalk.web.rooms.sittings import CLOSING, PRESENT, Bell, Sitting

PATIENCE = 300.0
"""Seconds after which somebody who waits for others is told that they need not."""


class Stage(StrEnum):
    """How far a room is."""

    WAITING = "waiting"
    """For people."""
    PLAYING = "playing"
    OVER = "over"
    """The match has ended, or everybody left before it began."""
    BROKEN = "broken"
    """The match cannot go on: an error that is not play."""


@dataclass
class Guest:
    """Somebody who came, known by their link alone.

    Attributes:
        name: which the link is signed for.
        known_as: what others at a table call them; None where they are called as all who sit there.
        language: that they read; empty where they are not known to have come.
        room: where they are; None for nowhere.
        seen: when something was heard of them last, in seconds since 1970.
    """

    name: str
    language: str = ""
    known_as: str | None = None
    room: "Room | None" = None
    seen: float = 0.0
    bell: Bell = field(default_factory=Bell)

    def here(self) -> None:
        """Something was heard of them."""
        self.seen = time.time()

    @property
    def present(self) -> bool:
        return time.time() - self.seen < PRESENT


@dataclass
class Room:
    """One table and who came to it.

    Attributes:
        code: which people tell one another, to come to the same table.
        guests: who sits in the places for people; None where nobody does yet.
        filled: places whose stand-ins play, as nobody came.
        deal, repeat: which match it is, once it has begun.
        read: the languages in which its people then read the game's words, by place.
        since: when it was opened, or the server started, in seconds since 1970.
    """

    code: str
    offer: Offer
    guests: dict[str, Guest | None]
    stage: Stage = Stage.WAITING
    filled: tuple[str, ...] = ()
    deal: int = 0
    repeat: int = 0
    read: dict[str, str] = field(default_factory=dict)
    since: float = field(default_factory=time.time)
    table: Table | None = None
    sittings: dict[str, Sitting] = field(default_factory=dict)

    @property
    def over(self) -> bool:
        """Whether nothing more happens here."""
        ended = self.table is not None and self.table.over
        return ended or self.stage in (Stage.OVER, Stage.BROKEN)

    def done_for(self, guest: Guest) -> bool:
        """Whether nothing more happens here to somebody who sits here."""
        return self.over or self.sitting(guest).left

    @property
    def forsaken(self) -> bool:
        """Whether people have waited for others as long as can be asked of them."""
        return self.stage is Stage.WAITING and time.time() - self.since >= PATIENCE

    @property
    def free(self) -> list[str]:
        """Places that wait for somebody."""
        return [place for place, guest in self.guests.items() if guest is None]

    @property
    def match(self) -> PlannedMatch:
        """What is played here."""
        return self.offer.match(self.deal, self.repeat, self.filled, self.read)

    def seated(self, place: str) -> Seated:
        """Who sits in a place, as the match records them."""
        return dict(zip(self.offer.seated, self.match.seating, strict=True))[place]

    def seats(self, guest: Guest) -> bool:
        """Whether somebody has a place here, or had to give theirs up while they were away."""
        return any(one is guest for one in self.guests.values())

    @property
    def silent(self) -> list[str]:
        """Players who are no people and owe an answer, by name: in a broken room, who failed."""
        if self.table is None:
            return []
        game, people = self.table.game, self.sittings
        places = {one.name: one.place for one in game.seats if one.place not in people}
        return [game.called(places[seat]) for seat in self.table.pending if seat in places]

    def as_called(self, game: Game) -> Game:
        """A game in whose words people have the names by which they are known here."""
        known = {place: one.known_as for place, one in self.guests.items() if one and one.known_as}
        return game.model_copy(update={"names": {**game.names, **known}}) if known else game

    @property
    def stood_in(self) -> list[str]:
        """Places for people in which programs play, as nobody came or who did is away."""
        gone = [place for place, one in self.sittings.items() if one.left or one.away]
        return [place for place in self.offer.people if place in (*self.filled, *gone)]

    def place_of(self, guest: Guest) -> str:
        """Where somebody sits."""
        return next(place for place, one in self.guests.items() if one is guest)

    def sitting(self, guest: Guest) -> Sitting:
        """Somebody's place in the match."""
        return self.sittings[self.place_of(guest)]

    def ring(self) -> None:
        """Tell all who are here that something has happened."""
        for guest in self.guests.values():
            if guest is not None:
                guest.bell.ring()

    def seat_people(self) -> None:
        """Let everybody who came sit down."""
        self.sittings = {
            place: Sitting(place, guest.bell, self.code)
            for place, guest in self.guests.items() if guest is not None
        }  # fmt: skip

    async def ask(self, call: PersonCall) -> Reply:
        """Put a question to whoever has the seat.

        Raises:
            Halted: the server stops.
        """
        table = self.table
        if table is None:
            raise Halted(CLOSING)
        place = next(seat.place for seat in table.game.seats if seat.name == call.seat)
        return await self.sittings[place].ask(call, table)

    def watch(self, table: Table) -> None:
        """Something has happened at the table."""
        self.table = table
        self.ring()

    def kept(self) -> dict[str, Any]:
        """The room as it is kept."""
        return {
            "offer": self.offer.name, "stage": self.stage.value, "filled": list(self.filled),
            "guests": {place: one and one.name for place, one in self.guests.items()},
            "languages": {one.name: one.language for one in self.guests.values() if one},
            "read": self.read,
            "deal": self.deal, "repeat": self.repeat,
            "left": [place for place, one in self.sittings.items() if one.left],
        }  # fmt: skip

    @classmethod
    def of(
        cls, code: str, kept: Mapping[str, Any], offer: Offer, guests: Mapping[str, Guest]
    ) -> "Room":
        """A room as it was kept."""
        made = cls(
            code, offer, {place: guests.get(name) for place, name in kept["guests"].items()},
            Stage(kept["stage"]), tuple(kept["filled"]), kept["deal"], kept["repeat"],
            kept.get("read", {}),
        )  # fmt: skip
        made.seat_people()
        for place in kept["left"]:
            if place in made.sittings:
                made.sittings[place].left = True
        return made
