"""The wire between the rooms and their people: all data sent to each of them, byte by byte."""

import asyncio
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx2

from cheaptalk.records import Store
from cheaptalk.rules import Event, Game, Given
from cheaptalk.studies import parse_study
from cheaptalk.studies.plans.matches import Configuration, PlannedInstance
from cheaptalk.web import make_rooms, open_room_manager
from cheaptalk.web.rooms.room_manager import RoomManager
from cheaptalk.web.rooms.rooms import Room, Stage
from cheaptalk.web.rooms.table_templates import TableTemplate
from tests.web.asker import http_scope
from tests.web.walker import LINKS, Rooms, Walker, posted

READER = b"x-reader"
"""The header with which tests identify the sender of a request."""
STRANGER = "a stranger"
"""A visitor without a seat at the table."""
COUNTED = re.compile(
    rb"id: \d+\nevent: moved\ndata: \d+\n\n|events\?after=\d+|content-length: \d+\n"
)
"""Event counters, which depend on timing, and content lengths, which depend on their digits."""
KEY = re.compile(rb"(?<=[0-9]_)[0-9a-f]{16}")
"""The end of a question's key, which depends on the code of the room."""

Message = Mapping[str, Any]
Mutation = Callable[[Message, str], Message]
"""Changes a message, given a secret of the others: a leak that must be detected."""


class World(NamedTuple):
    """A match for people: its game, instance and seed, and the answers that they give."""

    game: Game
    instance: Any
    seed: str
    given: Sequence[Given]


class Step(NamedTuple):
    """Data sent to a person between two answers, and the events known by then.

    Attributes:
        page: the last page, as they see it.
        question: the key of their open request, or None.
    """

    sent: bytes
    page: str
    heard: tuple[Event, ...]
    question: str | None


class Wire:
    """An application whose sent bytes are recorded by reader."""

    def __init__(self, app: Any, mutation: Mutation | None, secret: str) -> None:
        self.app = app
        self.mutation = mutation
        self.secret = secret
        self.sent: defaultdict[str, bytearray] = defaultdict(bytearray)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        reader = dict(scope["headers"])[READER].decode()

        async def record(message: Message) -> None:
            if self.mutation is not None:
                message = self.mutation(message, self.secret)
            for part in (
                str(message.get("status", "")).encode(),
                *(b"%s: %s\n" % pair for pair in message.get("headers", ())),
                message.get("body", b""),
            ):
                self.sent[reader] += part
            await send(message)

        await self.app(scope, receive, record)

    def client(self, reader: str) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            transport=httpx2.ASGITransport(self),
            base_url="http://test",
            headers={READER.decode(): reader},
        )

    async def listen(self, path: str, reader: str, gone: asyncio.Event) -> None:
        """Read the events of a page until it is closed."""

        async def receive() -> Message:
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(_message: Message) -> None:
            """Ignore the message, which is already recorded."""

        headers = {"host": "test", READER.decode(): reader}
        await self(http_scope("GET", f"{path}/events?after=0", headers), receive, send)


class Table:
    """A match that people play through their pages, each recorded on the wire."""

    def __init__(self, room_manager: RoomManager, wire: Wire, world: World) -> None:
        self.room_manager = room_manager
        self.wire = wire
        self.world = world
        self.walkers: dict[str, Walker] = {}
        self.steps: defaultdict[str, list[Step]] = defaultdict(list)
        self.refused: set[str] = set()
        self.stranger = wire.client(STRANGER)

    @property
    def room(self) -> Room:
        return next(iter(self.walkers.values())).room

    async def play(self) -> Mapping[str, Sequence[Step]]:
        """Sit down, and give the answers of the world until one is no longer legal."""
        gone = asyncio.Event()
        await self.sit_down()
        async with asyncio.TaskGroup() as listening:
            for place, walker in self.walkers.items():
                listening.create_task(self.wire.listen(walker.path, place, gone))
            try:
                await self.note()
                for given in self.world.given:
                    if not await self.answer(given):
                        break
                    await self.note()
            finally:
                gone.set()
        return self.steps

    async def sit_down(self) -> None:
        (table_template,) = self.room_manager.table_templates.values()
        for place in table_template.human_seats:
            rooms = Rooms(self.room_manager, self.wire.client(place))
            await rooms.client.get("/")
            page = await rooms.client.get(f"/games/{table_template.game.name}")
            if not self.walkers:
                assert LINKS.table_template(table_template.name) in page.text
                self.walkers[place] = await rooms.sit(table_template)
            else:
                await rooms.client.get(f"/join/{self.room.code}")
                self.walkers[place] = await rooms.join(self.room.code)
            if len(self.walkers) == len(table_template.human_seats):
                await self.settled()  # or the slowest player decides which page shows a request
            await self.walkers[place].page()
            await rooms.client.get("/p/forged")
            await self.walkers[place].post({}, "dance")

    async def answer(self, given: Given) -> bool:
        """Give an answer, the first time after invalid ones; return whether it is legal here."""
        table = self.room.table
        assert table is not None
        assert given.action is not None
        ask = table.pending[given.actor]
        if ask.refuse(given.action) is not None:
            return False
        walker = self.walkers[place_of(table.game, given.actor)]
        question = walker.room.seat_session(walker.visitor).open[given.actor]
        if walker.path not in self.refused:
            self.refused.add(walker.path)
            await walker.post({"question": question.key})
            await walker.post({"question": question.key, "no": "such"})
            await self.settled()
            question = walker.room.seat_session(walker.visitor).open[given.actor]
        await walker.post({"question": question.key} | posted(given.action))
        return True

    async def settled(self) -> None:
        async with asyncio.timeout(60):
            while not self._settled():
                await asyncio.sleep(0.001)

    def _settled(self) -> bool:
        room = self.room
        if room.table is None or room.table.over:
            return room.stage is Stage.OVER
        return {
            seat for seat_session in room.seat_sessions.values() for seat in seat_session.open
        } == set(room.table.pending)

    async def note(self) -> None:
        """Read all pages, and record the data sent since the last time."""
        await self.settled()
        table = self.room.table
        assert table is not None
        await self.stranger.get(f"/join/{self.room.code}")
        for place, walker in self.walkers.items():
            page = COUNTED.sub(b"", (await walker.page()).encode()).decode()
            heard = [
                moment.event for seat, moments in table.heard.items()
                if place_of(table.game, seat) == place for moment in moments
            ]  # fmt: skip
            question = self.room.seat_session(walker.visitor).current
            if question is not None:
                heard.append(table.pending[question.call.seat].event)
            self._step(place, page, tuple(heard), question.key if question else None)
        self._step(STRANGER, "", (), None)

    def _step(self, place: str, page: str, heard: tuple[Event, ...], question: str | None) -> None:
        """Add a step of the data sent, without the values drawn at random for all players."""
        sent = bytes(self.wire.sent.pop(place, b""))
        for drawn in (
            code := self.room.code,
            " ".join(code),
            LINKS.table_template(self.room.table_template.name),
        ):
            sent = sent.replace(drawn.encode(), b"DRAWN")
        sent = KEY.sub(b"DRAWN", sent)
        if place in self.walkers:
            sent = sent.replace(self.walkers[place].token.encode(), b"TOKEN")
        self.steps[place].append(Step(COUNTED.sub(b"", sent), page, heard, question))


def place_of(game: Game, seat: str) -> str:
    return next(actor.seat for actor in game.actors if actor.name == seat)


@asynccontextmanager
async def opened_tables(game: str, where: Path) -> AsyncIterator[Callable[..., Table]]:
    """Open the rooms of a game, and yield a function that returns a table of a world there."""
    study = parse_study(
        {
            "name": "people", "games": [{"game": game}], "pairing": "self",
            "players": {"you": {"person": "browser"}},
        },
        "here",
    )  # fmt: skip
    with Store.open(where, create=True) as store:
        async with open_room_manager(study, store) as room_manager:
            seated = next(iter(room_manager.table_templates.values())).seating[0]

            def table(world: World, mutation: Mutation | None = None) -> Table:
                seating = (seated,) * len(world.game.seats)
                dealt = PlannedInstance("0", world.seed, world.instance)
                template = TableTemplate(Configuration(world.game), [dealt], seating)
                room_manager.table_templates = {template.name: template}
                room_manager._repeats.clear()  # because repeats have other random draws
                app = make_rooms(room_manager, LINKS)
                return Table(room_manager, Wire(app, mutation, repr(world)), world)

            yield table
