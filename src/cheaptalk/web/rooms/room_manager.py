"""The room manager, which opens, fills, plays and restores a study's rooms."""

import asyncio
import logging
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TypeAlias

from cheaptalk.calls.dispatcher import Models
from cheaptalk.models import Reply
from cheaptalk.players import PersonCall
from cheaptalk.records import MatchEnd, Store, StoreError, StoreNotFound
from cheaptalk.records.people.participants import keep_room, kept_rooms
from cheaptalk.records.record import SETTLED
from cheaptalk.records.store.lookup import StoreLike
from cheaptalk.rules import CheaptalkError
from cheaptalk.studies import Plan, check, plan
from cheaptalk.studies.people.protocol import Protocol
from cheaptalk.studies.presets import StudySource
from cheaptalk.studies.runs.host import Host, open_host
from cheaptalk.web.rooms.languages import Language, languages
from cheaptalk.web.rooms.links import new_code, new_name
from cheaptalk.web.rooms.rooms import LOBBY_TIMEOUT, Room, Stage, Visitor
from cheaptalk.web.rooms.seat_sessions import CLOSING
from cheaptalk.web.rooms.table_templates import TableTemplate, table_templates_of

LOG = logging.getLogger(__name__)
TIDY_SECONDS = 300.0
"""Interval at which the tables of ended matches are removed from memory."""


class RoomUnavailable(CheaptalkError):
    """Raised if a visitor cannot join a room, for example because it is full."""


RoomCallback: TypeAlias = Callable[[Room], Awaitable[None]]
"""A function that is called with a room when its match starts or ends."""


async def _no_callback(_room: Room) -> None:
    pass


class RoomManager:
    """Manager of the rooms in which people play a study's matches.

    Methods raise :class:`RoomUnavailable` if a seat cannot be taken or filled. ``on_begin`` is
    called when a room's match starts, and ``on_end`` when it ends or fails.
    """

    def __init__(
        self,
        host: Host,
        table_templates: Mapping[str, TableTemplate],
        page_languages: Mapping[str, Language],
    ) -> None:
        self.host = host
        self.table_templates = table_templates
        self.languages = page_languages
        self.visitors: dict[str, Visitor] = {}
        self.rooms: dict[str, Room] = {}
        self.on_begin: RoomCallback = _no_callback
        self.on_end: RoomCallback = _no_callback
        self._met: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
        self._repeats: Counter[tuple[str, tuple[str, ...], int]] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def store(self) -> Store:
        return self.host.dispatcher.store

    def restore(self) -> None:
        for code, record in kept_rooms(self.store, self.host.rows.id):
            table_template = self.table_templates.get(record["table_template"])
            if table_template is None:
                LOG.warning("room %s is not restored: its table is no longer in the study", code)
                continue
            for name in filter(None, record["visitors"].values()):
                language = record.get("languages", {}).get(name, "")
                self.visitors.setdefault(name, Visitor(name)).language = language
            room = self.rooms[code] = Room.from_record(code, record, table_template, self.visitors)
            for visitor in filter(None, room.visitors.values()):
                current = visitor.room
                if current is None or current.done_for(visitor) or not room.done_for(visitor):
                    visitor.room = room
            if room.stage is not Stage.WAITING:
                self._count(room)
            if room.stage is Stage.PLAYING:
                self._begin(room)

    def visitor(self, name: str | None = None) -> Visitor:
        name = name or new_name()
        return self.visitors.setdefault(name, Visitor(name))

    async def open(
        self, table_template: TableTemplate, visitor: Visitor, seat: str | None = None
    ) -> Room:
        """Open a room; its match starts when all seats are taken."""
        self._expect_free(visitor)
        seat = seat or table_template.human_seats[0]
        if seat not in table_template.human_seats:
            raise RoomUnavailable("this seat is reserved for a computer player")
        room = Room(new_code(), table_template, dict.fromkeys(table_template.human_seats))
        self.rooms[room.code] = room
        await self._sit(room, seat, visitor)
        asyncio.get_running_loop().call_later(LOBBY_TIMEOUT, room.notify)
        return room

    async def join(self, room: Room, visitor: Visitor, seat: str | None = None) -> None:
        """Give a visitor a free seat, by default the first."""
        if visitor.room is room:
            return
        self._expect_free(visitor)
        self.sweep(room)
        if room.stage is not Stage.WAITING or not room.free:
            raise RoomUnavailable("this game is full; create another one")
        await self._sit(room, seat if seat in room.free else room.free[0], visitor)

    async def fill(self, room: Room) -> None:
        """Start a match with substitutes in the free seats."""
        self.sweep(room)
        if room.stage is not Stage.WAITING:
            raise RoomUnavailable("the game has already started")
        if not set(room.free) <= set(room.table_template.substitutes):
            raise RoomUnavailable("computer players cannot take seats in this game")
        room.substituted = tuple(room.free)
        await self._start(room)

    async def restore_seat(self, visitor: Visitor) -> None:
        """Give a returning visitor a free seat; raise RoomUnavailable if there is none."""
        room = visitor.room
        if room is None or room.has_seat(visitor):
            return
        if room.stage is not Stage.WAITING or not room.free:
            visitor.room = None
            raise RoomUnavailable(
                "other players took the free seats while you were away; create another game"
            )
        await self._sit(room, room.free[0], visitor)

    async def try_again(self, room: Room) -> None:
        """Retry a failed match, continuing after the last answer that was saved."""
        if room.stage is Stage.BROKEN:
            room.stage = Stage.PLAYING
            for seat, visitor in room.visitors.items():
                if visitor is not None and visitor.room is not room:
                    room.seat_sessions[seat].has_left = True
            await self._keep(room)
            room.notify()
            self._begin(room)

    async def leave(self, visitor: Visitor) -> None:
        room = visitor.room
        if room is None:
            return
        if room.stage is Stage.PLAYING and room.has_seat(visitor):
            room.seat_session(visitor).leave()
            await self._keep(room)
            room.notify()
            room.wake_chat()
        elif not room.over:
            visitor.room = None
            await self._vacate(room, visitor)
        visitor.notifier.notify()

    def forget(self, visitor: Visitor) -> None:
        self.close_rooms(visitor)
        self.visitors.pop(visitor.name, None)

    def close_rooms(self, visitor: Visitor) -> None:
        for code, room in list(self.rooms.items()):
            if room.has_seat(visitor):
                for other in filter(None, room.visitors.values()):
                    other.room = None if other.room is room else other.room
                del self.rooms[code]

    def sweep(self, room: Room) -> None:
        """Free the seats of visitors who are absent from a waiting room."""
        if room.stage is Stage.WAITING:
            for seat, visitor in room.visitors.items():
                if visitor is not None and not visitor.present:
                    room.visitors[seat] = None

    def tidy(self) -> None:
        """Free the memory of ended matches, which are replayed when needed."""
        for room in self.rooms.values():
            if room.stage is Stage.OVER:
                room.table = None

    async def tidy_periodically(self) -> None:
        while True:
            await asyncio.sleep(TIDY_SECONDS)
            self.tidy()

    async def close(self) -> None:
        """Interrupt all matches, which resume when the study is opened again."""
        for room in self.rooms.values():
            for seat_session in room.seat_sessions.values():
                seat_session.halt(CLOSING)
        self.host.dispatcher.halt(CLOSING)
        for room in self.rooms.values():
            room.wake_chat()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def keep(self, visitor: Visitor) -> None:
        if visitor.room is not None:
            await self._keep(visitor.room)

    @staticmethod
    def _expect_free(visitor: Visitor) -> None:
        room = visitor.room
        if room is None or room.over or room.stage is Stage.WAITING or not room.has_seat(visitor):
            return
        if not room.seat_session(visitor).has_left:
            raise RoomUnavailable("your game is still in progress; finish it or leave it")

    async def _vacate(self, room: Room, visitor: Visitor) -> None:
        if room.stage is not Stage.WAITING:
            return
        room.visitors |= {
            seat: None for seat, occupant in room.visitors.items() if occupant is visitor
        }
        if not any(room.visitors.values()):
            room.stage = Stage.OVER
        await self._keep(room)
        room.notify()

    async def _sit(self, room: Room, seat: str, visitor: Visitor) -> None:
        visitor.mark_seen()
        before = visitor.room
        room.visitors[seat], visitor.room = visitor, room
        try:
            if before is not None and before is not room:
                await self._vacate(before, visitor)
            if room.free:
                await self._keep(room)
                room.notify()
            else:
                await self._start(room)
        except StoreError:
            room.visitors[seat] = visitor.room = None
            raise

    async def _start(self, room: Room) -> None:
        room.seat_languages = {
            seat: visitor.language for seat, visitor in room.visitors.items() if visitor
        }
        room.instance = self._new_instance(room)
        room.repeat = self._repeats[self._repeat_key(room)]
        room.stage = Stage.PLAYING
        self._count(room)
        room.seat_people()
        try:
            await self._keep(room)
        except StoreError:
            room.stage, room.seat_sessions = Stage.WAITING, {}
            raise
        await self.on_begin(room)
        self._begin(room)

    def _new_instance(self, room: Room) -> int:
        """Return the least-played instance that is new to all visitors in a room."""
        configuration = room.table_template.configuration.digest
        visitors = filter(None, room.visitors.values())
        played = set[int]().union(*(self._met[visitor.name, configuration] for visitor in visitors))
        group = self._repeat_key(room)[:2]
        planned = len(room.table_template.instances)
        limit = min(planned, len(self._repeats)) + len(played) + 1
        fresh = [number for number in range(limit) if number not in played]
        candidates = [number for number in fresh if number < planned] or fresh
        return min(candidates, key=lambda number: self._repeats[*group, number])

    def _repeat_key(self, room: Room) -> tuple[str, tuple[str, ...], int]:
        return (
            room.table_template.configuration.digest,
            tuple(seated.digest for seated in room.match.seating),
            room.instance,
        )

    def _count(self, room: Room) -> None:
        for visitor in filter(None, room.visitors.values()):
            self._met[visitor.name, room.table_template.configuration.digest].add(room.instance)
        key = self._repeat_key(room)
        self._repeats[key] = max(self._repeats[key], room.repeat + 1)

    def _begin(self, room: Room) -> None:
        task = asyncio.create_task(self._play(room))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _play(self, room: Room) -> None:
        try:
            end = await self.host.play(room.match, room.ask, room.watch, room.join_chat)
        except Exception:
            LOG.exception("the match in room %s failed", room.code)
            room.stage = Stage.BROKEN
        else:
            if end is None:  # the server is stopping; the match resumes after a restart
                return
            over = isinstance(end, MatchEnd) and end.status in SETTLED
            room.stage = Stage.OVER if over else Stage.BROKEN
            if not over:
                reason = getattr(end, "reason", end)
                LOG.warning("the match in room %s failed: %s", room.code, reason)
        finally:
            room.chat = None
        try:
            await self._keep(room)
            await self.on_end(room)
        except StoreError:
            LOG.exception("room %s cannot be saved", room.code)
        room.notify()

    async def _keep(self, room: Room) -> None:
        await self.host.dispatcher.ledger.write(
            keep_room(self.host.rows.id, room.code, room.to_record())
        )


@asynccontextmanager
async def open_room_manager(
    study: StudySource, store: StoreLike, models: Models | None = None
) -> AsyncIterator[RoomManager]:
    """Open the rooms of a study, and resume its unfinished matches.

    Raises:
        StudyError: the study has no player in the browser, a human player elsewhere, or a model
            that cannot be reached. The store is not changed.
        StoreError: the store is in use or cannot be written.
    """
    planned = plan(study)
    table_templates = table_templates_of(planned)
    _check(planned, store)
    async with open_host(planned.study, store, models=models, ask_person=_nobody) as host:
        people = planned.study.people or Protocol(path=["games"])
        page_languages = languages(people.pay.currency, points=people.pay.points)
        room_manager = RoomManager(host, table_templates, page_languages)
        room_manager.restore()
        tidying = asyncio.create_task(room_manager.tidy_periodically())
        try:
            yield room_manager
        finally:
            tidying.cancel()
            await room_manager.close()


def _check(planned: Plan, store: StoreLike) -> None:
    try:
        with Store.opened(store) as opened:
            check(planned, opened, ask_person=_nobody)
    except StoreNotFound:
        check(planned, None, ask_person=_nobody)


async def _nobody(call: PersonCall) -> Reply:
    """Reject a decision request, because each room asks its own visitors."""
    raise AssertionError(call)
