"""A console as researchers' browsers see it."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
from argon2 import PasswordHasher
from fastapi import FastAPI

from cheaptalk.web.console.server import make_console, set_up_code
from cheaptalk.web.laboratory.database import LaboratoryDatabase
from cheaptalk.web.laboratory.staff import Role

QUICK = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
"""Hashes in no time, for tests that are about something else."""
CSRF = re.compile(r'name="csrf" value="(\w+)"')
SECRET = re.compile(r'class="secret">([^<]+)<')
PASSWORD = "correct horse"  # noqa: S105 - of accounts in tests
ROOT = "/console"


class Clock:
    """A time that goes on when it is told to."""

    def __init__(self) -> None:
        self.time = 1_800_000_000.0

    def __call__(self) -> float:
        return self.time


class Browser:
    """Somebody's browser, with the cookies that it was given."""

    def __init__(self, app: FastAPI, address: str = "192.0.2.7") -> None:
        outer = FastAPI(redirect_slashes=False)
        outer.mount(ROOT, app)
        transport = httpx2.ASGITransport(outer, client=(address, 1))
        self.client = httpx2.AsyncClient(transport=transport, base_url="http://test")

    async def get(self, path: str) -> httpx2.Response:
        """A page, wherever it leads to."""
        return await self.client.get(ROOT + path)

    async def shown(self, answer: httpx2.Response) -> str:
        """The page that an answer leads to."""
        assert answer.status_code == 303, answer.text
        return (await self.client.get(answer.headers["location"])).text

    async def post(self, path: str, page: str = "", **fields: str) -> httpx2.Response:
        """Send a form, as the page that it stands on has it; by default that of the same path."""
        form = CSRF.search((await self.get(page or path)).text)
        assert form is not None, page or path
        return await self.client.post(ROOT + path, data={"csrf": form[1], **fields})

    async def log_in(self, name: str, password: str = PASSWORD) -> httpx2.Response:
        """Log in by the page for it."""
        return await self.post("/login", name=name, password=password)

    @property
    def token(self) -> str:
        """The token of the session."""
        return next(iter(self.client.cookies.values()))


class Office:
    """A laboratory's console, and those who work there."""

    def __init__(self, database: LaboratoryDatabase, clock: Clock) -> None:
        self.database = database
        self.clock = clock
        self.code = set_up_code(database)
        self.app = make_console(database, code=self.code, hasher=QUICK)

    def browser(self, address: str = "192.0.2.7") -> Browser:
        """A browser in which nobody has been."""
        return Browser(self.app, address)

    async def somebody(self, role: Role = Role.OWNER, name: str = "") -> Browser:
        """Somebody of a role who is logged in, and whose account is new."""
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
    """The office of a laboratory in a folder."""
    clock = Clock()
    with LaboratoryDatabase(folder, clock) as database:
        yield Office(database, clock)


def in_office(folder: Path, work: Callable[[Office], Awaitable[None]]) -> None:
    """Do something in a laboratory that has just been opened."""

    async def main() -> None:
        async with opened(folder) as office:
            await work(office)

    asyncio.run(main())
