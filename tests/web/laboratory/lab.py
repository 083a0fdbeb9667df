"""A laboratory for tests: its folder and site, and a model that answers on demand."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Lock, Semaphore
from typing import Any, Self

import httpx2
import pytest
import yaml
from aiohttp import web

from cheaptalk.cli.main import app
from cheaptalk.cli.shared.settings import Defaults
from cheaptalk.rules import CheaptalkError
from cheaptalk.web import Laboratory, LaboratoryDatabase, make_laboratory
from cheaptalk.web.laboratory.commands import Command
from cheaptalk.web.laboratory.folder import Folder
from tests.fakes import PATIENCE, Server, spec
from tests.web.console.office import CSRF, PASSWORD, QUICK
from tests.web.participants.comers import BOT, Comer, Open, people_study
from tests.web.walker import LINKS


def laboratory(path: Path, name: str = "small", **changes: Any) -> Folder:
    text = yaml.safe_dump(spec(name=name, **changes))
    (path / f"{name}.yaml").write_text(text, encoding="utf-8")
    return Folder(path)


class Gate:
    """A model server that holds calls until they are released."""

    def __init__(self) -> None:
        self.open = False
        self.waiting = 0
        self.server = Server(handler=self)
        self._tickets = Semaphore(0)

    def release(self, number: int) -> None:
        self._tickets.release(number)

    async def called(self) -> None:
        """Wait for a call."""
        async with asyncio.timeout(PATIENCE):
            while not self.waiting:
                await asyncio.sleep(0.02)

    async def __call__(
        self, request: web.Request, body: dict[str, Any]
    ) -> web.StreamResponse | None:
        self.waiting += 1
        try:
            while not self.open and not self._tickets.acquire(blocking=False):
                await asyncio.sleep(0.01)
        finally:
            self.waiting -= 1
        return None


STUDY = people_study(BOT, instances=5)
TEXT = yaml.safe_dump(STUDY.model_dump(mode="json", exclude_defaults=True), sort_keys=False)


TURN = Lock()


class CommandInThread(Command):
    """A CLI command in a thread of this process, which starts faster than another process."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self.status = None
        self.error = ""
        self._output = b""
        self._reading = asyncio.create_task(self._run(arguments))

    @classmethod
    async def start(cls, *arguments: str) -> Self:
        return cls(arguments)

    async def _run(self, arguments: Sequence[str]) -> None:
        try:
            self.status = await asyncio.to_thread(run_command, arguments)
        except CheaptalkError as error:
            self.error, self.status = str(error), 2


def run_command(arguments: Sequence[str]) -> int:
    with TURN:
        status = app(arguments, prog_name="cheaptalk", standalone_mode=False, obj=Defaults())
    return status or 0


class Site:
    def __init__(self, laboratory: Laboratory, client: httpx2.AsyncClient) -> None:
        self.laboratory = laboratory
        self.client = client

    async def open_study(self, text: str = TEXT) -> None:
        """Launch the study with people, and save its design in the console."""
        await self.laboratory.launch(STUDY.name, text)
        self.laboratory.database.drafts.create(STUDY.name, text, "owner")

    async def log_in(self) -> None:
        """Log in as the laboratory's owner."""
        self.laboratory.database.staff.create_owner("owner", QUICK.hash(PASSWORD))
        sent = await self.post("/login", "/login", name="owner", password=PASSWORD)
        assert sent.status_code == 303, sent.text

    async def post(self, path: str, page: str = "/", **fields: str) -> httpx2.Response:
        form = CSRF.search((await self.client.get(f"/console{page}")).text)
        assert form is not None
        return await self.client.post(f"/console{path}", data={"csrf": form[1], **fields})

    async def get(self, path: str) -> httpx2.Response:
        return await self.client.get(f"/console{path}")

    async def comer(self, name: str) -> Comer:
        """Return a participant who has just entered, in a browser of their own."""
        app = self.client._transport  # the same site, without the researcher's cookies
        browser = httpx2.AsyncClient(transport=app, base_url="http://test")
        comer = Comer(Open(self.laboratory.supervisor(STUDY.name), browser), name)
        entered = await browser.post(f"/s/{STUDY.name}/enter", data={"known_by": name})
        comer.path = entered.headers["location"]
        await comer.look()
        return comer

    async def participant(self, name: str) -> Comer:
        comer = await self.comer(name)
        await comer.finish()
        return comer


@asynccontextmanager
async def site(folder: Path) -> AsyncIterator[Site]:
    with LaboratoryDatabase(folder) as database, pytest.MonkeyPatch.context() as patch:
        patch.setattr("cheaptalk.web.console.server.PasswordHasher", lambda: QUICK)
        async with Laboratory(folder, database, LINKS) as laboratory:
            transport = httpx2.ASGITransport(make_laboratory(laboratory))
            async with httpx2.AsyncClient(transport=transport, base_url="http://test") as client:
                yield Site(laboratory, client)
