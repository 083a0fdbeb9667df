"""A house: all rooms of a study, opened, joined, played over a host, and taken up again."""

import asyncio
import logging
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeAlias

from cheaptalk.calls.desk import Models
from cheaptalk.models import Reply
from cheaptalk.players import PersonCall
from cheaptalk.records import Ended, NoStore, Store, StoreError
from cheaptalk.records.people.rooms import keep_room, kept_rooms
from cheaptalk.records.record import SETTLED
from cheaptalk.rules import CheaptalkError
from cheaptalk.studies import Plan, check, plan
from cheaptalk.studies.runs.host import Host, open_host
from cheaptalk.studies.study import Study
from cheaptalk.web.rooms.languages import DOLLARS
from cheaptalk.web.rooms.links import new_code, new_name
from cheaptalk.web.rooms.offers import Offer, offers_of
from cheaptalk.web.rooms.rooms import PATIENCE, Guest, Room, Stage
from cheaptalk.web.rooms.sittings import CLOSING

LOG = logging.getLogger(__name__)
TIDIED = 300.0
"""Seconds after which tables that are over are let go."""


class NotHere(CheaptalkError):
    """What is asked for does not go: the room is full, gone or under way."""


Herald: TypeAlias = Callable[[Room], Awaitable[None]]
"""Is told of a room."""


async def _unheralded(_room: Room) -> None:
    """Tell nobody."""


class House:
    """The rooms of a study.

    Args:
        host: plays the matches.
        offers: the tables that can be opened, by name.
        currency: the code of the currency in which all amounts are written.

    Attributes:
        on_begin, on_end: told of a room when its match begins, and when nothing more happens there.
    """

    def __init__(self, host: Host, offers: Mapping[str, Offer], currency: str = DOLLARS) -> None:
        self.host = host
        self.offers = offers
        self.currency = currency
        self.guests: dict[str, Guest] = {}
        self.rooms: dict[str, Room] = {}
        self.on_begin: Herald = _unheralded
        self.on_end: Herald = _unheralded
        self._met: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
        self._repeats: Counter[tuple[str, tuple[str, ...], int]] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def store(self) -> Store:
        return self.host.desk.store

    def take_up(self) -> None:
        """Open the rooms that were kept, and go on with the matches that had begun."""
        for code, kept in kept_rooms(self.store, self.host.rows.id):
            offer = self.offers.get(kept["offer"])
            if offer is None:
                LOG.warning("room %s is of a table that the study no longer has", code)
                continue
            for name in filter(None, kept["guests"].values()):
                language = kept.get("languages", {}).get(name, "")
                self.guests.setdefault(name, Guest(name)).language = language
            room = self.rooms[code] = Room.of(code, kept, offer, self.guests)
            for guest in filter(None, room.guests.values()):
                there = guest.room
                if there is None or there.done_for(guest) or not room.done_for(guest):
                    guest.room = room
            if room.stage is not Stage.WAITING:
                self._note(room)
            if room.stage is Stage.PLAYING:
                self._begin(room)

    def guest(self, name: str | None = None) -> Guest:
        """Somebody by name, or somebody new."""
        name = name or new_name()
        return self.guests.setdefault(name, Guest(name))

    async def open(self, offer: Offer, guest: Guest, place: str | None = None) -> Room:
        """Open a room for somebody, which begins as soon as its places are taken.

        Raises:
            NotHere: they are in a match that is under way, or the place is none for people.
        """
        self._expect_free(guest)
        place = place or offer.people[0]
        if place not in offer.people:
            raise NotHere("this is no place for people at this table")
        room = Room(new_code(), offer, dict.fromkeys(offer.people))
        self.rooms[room.code] = room
        await self._sit(room, place, guest)
        asyncio.get_running_loop().call_later(PATIENCE, room.ring)
        return room

    async def join(self, room: Room, guest: Guest, place: str | None = None) -> None:
        """Let somebody take a free place: the first, unless another is named.

        Raises:
            NotHere: there is none, or they are in a match that is under way.
        """
        if guest.room is room:
            return
        self._expect_free(guest)
        self.sweep(room)
        if room.stage is not Stage.WAITING or not room.free:
            raise NotHere("this table is full; open another one")
        await self._sit(room, place if place in room.free else room.free[0], guest)

    async def fill(self, room: Room) -> None:
        """Begin with stand-ins in the places that nobody came for.

        Raises:
            NotHere: the match has begun, or nobody can stand in.
        """
        self.sweep(room)
        if room.stage is not Stage.WAITING:
            raise NotHere("the match has begun")
        if not set(room.free) <= set(room.offer.stand_ins):
            raise NotHere("nobody can stand in at this table")
        room.filled = tuple(room.free)
        await self._start(room)

    async def come_back(self, guest: Guest) -> None:
        """Let somebody have a place again that was given up while they were not there.

        Raises:
            NotHere: all places have been taken.
        """
        room = guest.room
        if room is None or room.seats(guest):
            return
        if room.stage is not Stage.WAITING or not room.free:
            guest.room = None
            raise NotHere("others have taken the places while you were away; open another table")
        await self._sit(room, room.free[0], guest)

    async def try_again(self, room: Room) -> None:
        """Go on with a match that broke, from its last answer: what failed may be back."""
        if room.stage is Stage.BROKEN:
            room.stage = Stage.PLAYING
            for place, guest in room.guests.items():
                if guest is not None and guest.room is not room:
                    room.sittings[place].left = True
            await self._keep(room)
            room.ring()
            self._begin(room)

    async def leave(self, guest: Guest) -> None:
        """Let somebody go: from a room that waits at once; from a match for good."""
        room = guest.room
        if room is None:
            return
        if room.stage is Stage.PLAYING and room.seats(guest):
            room.sitting(guest).leave()
            await self._keep(room)
            room.ring()
        elif not room.over:
            guest.room = None
            await self._vacate(room, guest)
        guest.bell.ring()

    def forget(self, guest: Guest) -> None:
        """Let somebody go for good: nothing is known of them."""
        self.close_rooms(guest)
        self.guests.pop(guest.name, None)

    def close_rooms(self, guest: Guest) -> None:
        """Let all rooms go in which somebody sat."""
        for code, room in list(self.rooms.items()):
            if room.seats(guest):
                for other in filter(None, room.guests.values()):
                    other.room = None if other.room is room else other.room
                del self.rooms[code]

    def sweep(self, room: Room) -> None:
        """Free the places of those who are no longer there, until they come back."""
        if room.stage is Stage.WAITING:
            for place, guest in room.guests.items():
                if guest is not None and not guest.present:
                    room.guests[place] = None

    def tidy(self) -> None:
        """Let the tables go of what is over; where one is asked for, it is played back."""
        for room in self.rooms.values():
            if room.stage is Stage.OVER:
                room.table = None

    async def tidy_at_times(self) -> None:
        """Tidy now and then, for ever."""
        while True:
            await asyncio.sleep(TIDIED)
            self.tidy()

    async def close(self) -> None:
        """Stop all matches where they are; they go on when the house is opened again."""
        for room in self.rooms.values():
            for sitting in room.sittings.values():
                sitting.halt(CLOSING)
        self.host.desk.halt(CLOSING)
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def keep(self, guest: Guest) -> None:
        """Keep what somebody chose."""
        if guest.room is not None:
            await self._keep(guest.room)

    @staticmethod
    def _expect_free(guest: Guest) -> None:
        """Raise :class:`NotHere` where a match with somebody is under way."""
        room = guest.room
        if room is None or room.over or room.stage is Stage.WAITING or not room.seats(guest):
            return
        if not room.sitting(guest).left:
            raise NotHere("your match is under way; play it to its end, or leave it")

    async def _vacate(self, room: Room, guest: Guest) -> None:
        """Free the place of somebody who has gone from a room that waits."""
        if room.stage is not Stage.WAITING:
            return
        room.guests |= {place: None for place, one in room.guests.items() if one is guest}
        if not any(room.guests.values()):
            room.stage = Stage.OVER
        await self._keep(room)
        room.ring()

    async def _sit(self, room: Room, place: str, guest: Guest) -> None:
        """Give somebody a place, who then has none anywhere else."""
        guest.here()
        before = guest.room
        room.guests[place], guest.room = guest, room
        try:
            if before is not None and before is not room:
                await self._vacate(before, guest)
            if room.free:
                await self._keep(room)
                room.ring()
            else:
                await self._start(room)
        except StoreError:
            room.guests[place] = guest.room = None
            raise

    async def _start(self, room: Room) -> None:
        """Choose a deal that nobody here has met, and play."""
        room.read = {place: one.language for place, one in room.guests.items() if one is not None}
        room.deal = self._new_deal(room)
        room.repeat = self._repeats[self._table(room)]
        room.stage = Stage.PLAYING
        self._note(room)
        room.seat_people()
        try:
            await self._keep(room)
        except StoreError:
            room.stage, room.sittings = Stage.WAITING, {}
            raise
        await self.on_begin(room)
        self._begin(room)

    def _new_deal(self, room: Room) -> int:
        """The deal that was played least at such a table, of those that nobody here has met."""
        configuration = room.offer.configuration.digest
        guests = [one.name for one in room.guests.values() if one is not None]
        met = set[int]().union(*(self._met[name, configuration] for name in guests))
        alike = self._table(room)[:2]
        enough = min(len(room.offer.deals), len(self._repeats)) + len(met) + 1
        fresh = [number for number in range(enough) if number not in met]
        planned = [number for number in fresh if number < len(room.offer.deals)]
        return min(planned or fresh, key=lambda number: self._repeats[*alike, number])

    def _table(self, room: Room) -> tuple[str, tuple[str, ...], int]:
        """What tells matches on a deal apart but for their repeats."""
        seating = room.match.seating
        return room.offer.configuration.digest, tuple(one.digest for one in seating), room.deal

    def _note(self, room: Room) -> None:
        """Remember who has met which deal."""
        for guest in filter(None, room.guests.values()):
            self._met[guest.name, room.offer.configuration.digest].add(room.deal)
        self._repeats[self._table(room)] = max(self._repeats[self._table(room)], room.repeat + 1)

    def _begin(self, room: Room) -> None:
        task = asyncio.create_task(self._play(room))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _play(self, room: Room) -> None:
        try:
            end = await self.host.play(room.match, room.ask, room.watch)
        except Exception:
            LOG.exception("room %s", room.code)
            room.stage = Stage.BROKEN
        else:
            if end is None:  # the server stops; the match goes on when it is back
                return
            over = isinstance(end, Ended) and end.status in SETTLED
            room.stage = Stage.OVER if over else Stage.BROKEN
            if not over:
                LOG.warning("room %s: %s", room.code, getattr(end, "reason", end))
        try:
            await self._keep(room)
            await self.on_end(room)
        except StoreError:
            LOG.exception("room %s", room.code)
        room.ring()

    async def _keep(self, room: Room) -> None:
        """Keep a room as it now is."""
        await self.host.desk.ledger.write(keep_room(self.host.rows.id, room.code, room.kept()))


@asynccontextmanager
async def open_house(
    study: Study | Path | str, store: Store | Path | str, models: Models | None = None
) -> AsyncIterator[House]:
    """The rooms of a study over its store, with the matches under way going on.

    Args:
        study: a study, its file or a preset's name.
        store: where its matches are kept, or the store's file or URL; made where there is none.
        models: makes the calls to models; by default over HTTP.

    Raises:
        StudyError: the study has nobody who plays in the browser, somebody who plays elsewhere, or
            a model that cannot be reached; nothing is written then.
        StoreError: the store is held by somebody else, or cannot be written.
    """
    planned = plan(study)
    offers = offers_of(planned)
    _check(planned, store)
    async with open_host(planned.study, store, models=models, ask_person=_nobody) as host:
        people = planned.study.people
        house = House(host, offers, DOLLARS if people is None else people.pay.currency)
        house.take_up()
        tidying = asyncio.create_task(house.tidy_at_times())
        try:
            yield house
        finally:
            tidying.cancel()
            await house.close()


def _check(planned: Plan, store: Store | Path | str) -> None:
    try:
        with Store.opened(store) as there:
            check(planned, there, ask_person=_nobody)
    except NoStore:
        check(planned, None, ask_person=_nobody)


async def _nobody(call: PersonCall) -> Reply:
    """Ask nobody: each room asks its own people."""
    raise AssertionError(call)
