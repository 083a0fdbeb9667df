"""Players who only use their pages: they read a page, fill in its form and send it."""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import httpx2
from starlette.applications import Starlette
from starlette.routing import Mount

from cheaptalk.calls.dispatcher import Models
from cheaptalk.records import Store
from cheaptalk.rules import Action, Table, get_game
from cheaptalk.studies.study import Study
from cheaptalk.styles.writing import PLAIN, Writing
from cheaptalk.web import Links, make_rooms, open_room_manager
from cheaptalk.web.rooms.languages import languages
from cheaptalk.web.rooms.room_manager import RoomManager
from cheaptalk.web.rooms.rooms import Room, Stage, Visitor
from cheaptalk.web.rooms.seat_sessions import PendingRequest
from cheaptalk.web.rooms.table_templates import TableTemplate

LINKS = Links(b"the key of the tests")
QUESTION = re.compile(r'name="question" value="(\w+)"')
EARNED = re.compile(r'<data value="([^"]*)')
PATIENCE = 1_000
"""Number of times that a page is read again."""


class Rooms(NamedTuple):
    room_manager: RoomManager
    client: httpx2.AsyncClient
    root: str = ""

    @property
    def url(self) -> str:
        return str(self.client.base_url).rstrip("/")

    def table(self, game: str = "", people: int = 1) -> TableTemplate:
        """Return the first table of a game, or of any game, for a number of people."""
        return next(
            template
            for template in self.room_manager.table_templates.values()
            if game in ("", template.game.name) and len(template.human_seats) == people
        )

    async def sit(self, game: str | TableTemplate, people: int = 1, **more: str) -> "Walker":
        """Open a room at a table, which may be given by its game, and take a seat."""
        template = self.table(game, people) if isinstance(game, str) else game
        opened = await self.client.post(
            f"{self.root}/open", data={"offer": LINKS.table_template(template.name), **more}
        )
        assert opened.status_code == 303, opened.text
        return Walker(self, opened.headers["location"])

    async def join(self, code: str) -> "Walker":
        joined = await self.client.post(f"{self.root}/join/{code}")
        assert joined.status_code == 303, joined.text
        return Walker(self, joined.headers["location"])


@asynccontextmanager
async def visited(
    study: Study, where: Path, models: Models | None = None, language: str = "en", root: str = ""
) -> AsyncIterator[Rooms]:
    """Open the rooms of a study over a store, and close them as a stopped server does.

    Args:
        language: that the browsers request.
        root: where the rooms are mounted.
    """
    with Store.open(where, create=True) as store:
        async with open_room_manager(study, store, models) as room_manager:
            app = make_rooms(room_manager, LINKS)
            # A mount matches no path with a line break, which must reach the rooms, too.
            transport = httpx2.ASGITransport(Starlette(routes=[Mount(root, app)]) if root else app)
            async with httpx2.AsyncClient(
                transport=transport, base_url="http://test", headers={"Accept-Language": language}
            ) as client:
                yield Rooms(room_manager, client, root)


class Walker:
    """A player with a link, who only knows what their page shows.

    Legal answers come from the game's random strategy, which sees what the seat sees.
    """

    def __init__(self, rooms: Rooms, path: str) -> None:
        self.rooms = rooms
        self.path = path
        self.seen: list[str] = []

    @property
    def token(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def visitor(self) -> Visitor:
        return self.rooms.room_manager.visitors[self.name]

    @cached_property
    def name(self) -> str:
        return LINKS.visitor(self.token)

    @property
    def room(self) -> Room:
        assert self.visitor.room is not None
        return self.visitor.room

    @property
    def table(self) -> Table:
        assert self.room.table is not None
        return self.room.table

    @property
    def question(self) -> PendingRequest:
        question = self.room.seat_session(self.visitor).current
        assert question is not None
        return question

    async def page(self) -> str:
        """Return the current page after a short pause, in which the table can proceed."""
        await asyncio.sleep(0.001)
        page = await self.rooms.client.get(self.path)
        assert page.status_code == 200, page.text
        return page.text

    async def until(self, *words: str) -> str:
        for _ in range(PATIENCE):
            number = self.visitor.notifier.number
            page = await self.page()
            if any(word in page for word in words):
                return page
            await self.visitor.notifier.wait(number, 0.05)
        raise AssertionError(f"{words} in none of {PATIENCE} pages, the last: {page}")

    async def key(self, words: str = ">Your turn<") -> str:
        """Wait for a page with words, and return the key of the request on it."""
        shown = QUESTION.search(await self.until(words))
        assert shown is not None
        return shown[1]

    async def end(self) -> None:
        """Wait until the end of the match is saved."""
        while self.room.stage is not Stage.OVER:
            await asyncio.sleep(0)

    async def post(self, fields: Mapping[str, str], deed: str = "answer") -> httpx2.Response:
        return await self.rooms.client.post(f"{self.path}/{deed}", data=dict(fields))

    async def answer(self, page: str) -> httpx2.Response:
        shown = QUESTION.search(page)
        assert shown is not None
        return await self.post({"question": shown[1], **self.legal()})

    def legal(self) -> dict[str, str]:
        """Return a legal answer to the open request, as fields of its form."""
        request = self.table.request(self.question.call.seat)
        action = get_game(self.table.game.name).strategies["random"].function(request)
        assert isinstance(action, Action)
        return posted(action, languages()[self.visitor.language].writing)

    async def play(self) -> str:
        text = languages()[self.visitor.language].text
        turn, over, broken = map(
            text, ("Your turn", "The game is over", "This game cannot continue")
        )
        while True:
            page = await self.until(f">{turn}<", f">{over}<", broken)
            self.seen.append(page)
            if f">{turn}<" not in page:
                return page
            sent = await self.answer(page)
            assert sent.status_code == 303, sent.text


def posted(action: Action, writing: Writing = PLAIN) -> dict[str, str]:
    """Return the form fields with which a person enters an action, in their number format."""
    fields = {}
    for name, value in action.model_dump(mode="json").items():
        match value:
            case None:
                continue
            case list():
                fields[name] = ", ".join(map(str, value))
            case dict():
                fields[name] = "\n".join(f"{key}: {number}" for key, number in value.items())
            case float():
                text = repr(value)
                more = "0" if len(text.partition(".")[2]) == 3 else ""
                fields[name] = writing.local(text) + more
            case _:
                fields[name] = str(value)
    return fields
