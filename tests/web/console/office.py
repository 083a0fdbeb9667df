"""A console as researchers' browsers see it."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
from argon2 import PasswordHasher
from fastapi import FastAPI

from cheaptalk.web.console.server import make_console, set_up_code
from cheaptalk.web.laboratory.database import LaboratoryDatabase
from cheaptalk.web.laboratory.laboratory import Laboratory
from cheaptalk.web.laboratory.staff import Role
from tests.web.walker import LINKS

QUICK = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
"""A fast hasher for tests of other behaviour."""
CSRF = re.compile(r'name="csrf" value="(\w+)"')
SECRET = re.compile(r'class="secret">([^<]+)<')
PASSWORD = "correct horse"  # noqa: S105 - for accounts in tests
ROOT = "/console"


class Clock:
    """A clock that only advances when a test sets it."""

    def __init__(self) -> None:
        self.time = 1_800_000_000.0

    def __call__(self) -> float:
        return self.time


class Browser:
    def __init__(self, app: FastAPI, address: str = "192.0.2.7") -> None:
        outer = FastAPI(redirect_slashes=False)
        outer.mount(ROOT, app)
        transport = httpx2.ASGITransport(outer, client=(address, 1))
        self.client = httpx2.AsyncClient(transport=transport, base_url="http://test")

    async def get(self, path: str) -> httpx2.Response:
        return await self.client.get(ROOT + path)

    async def follow(self, response: httpx2.Response) -> str:
        assert response.status_code == 303, response.text
        return (await self.client.get(response.headers["location"])).text

    async def post(self, path: str, page: str = "", **fields: str) -> httpx2.Response:
        """Send a form with the token of its page, by default the page of the same path."""
        form = CSRF.search((await self.get(page or path)).text)
        assert form is not None, page or path
        return await self.client.post(ROOT + path, data={"csrf": form[1], **fields})

    async def log_in(self, name: str, password: str = PASSWORD) -> httpx2.Response:
        return await self.post("/login", name=name, password=password)

    @property
    def token(self) -> str:
        return next(iter(self.client.cookies.values()))


class Office:
    def __init__(self, laboratory: Laboratory, clock: Clock) -> None:
        self.database = laboratory.database
        self.clock = clock
        self.code = set_up_code(self.database)
        self.app = make_console(laboratory, self.code, "cheaptalk", QUICK)

    def browser(self, address: str = "192.0.2.7") -> Browser:
        return Browser(self.app, address)

    async def log_in_as(self, role: Role = Role.OWNER, name: str = "") -> Browser:
        """Return the browser of a new account with the given role, logged in."""
        name, hashed = name or role, QUICK.hash(PASSWORD)
        if role is Role.OWNER and not self.database.staff.any():
            self.database.staff.create_owner(name, hashed)
        else:
            account = self.database.staff.invite(name, hashed, role, "owner")
            self.database.staff.set_password(account.id, hashed, name, one_time=False)
        browser = self.browser()
        assert (await browser.log_in(name)).status_code == 303
        return browser


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Office]:
    clock = Clock()
    with LaboratoryDatabase(folder, clock) as database:
        async with Laboratory(folder, database, LINKS) as laboratory:
            yield Office(laboratory, clock)
