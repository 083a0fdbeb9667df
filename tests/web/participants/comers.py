"""Simulated participants who follow a study's path through its pages, in the test's process."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import httpx2

from cheaptalk.calls.dispatcher import Models
from cheaptalk.rules import Chance
from cheaptalk.studies import parse_study
from cheaptalk.studies.study import Study
from cheaptalk.web.bots.guesses import attention, guess, reply
from cheaptalk.web.bots.pages import Form, Page
from cheaptalk.web.participants.experiment import Experiment
from cheaptalk.web.participants.people import Participant
from cheaptalk.web.participants.server import make_experiment, open_experiment
from cheaptalk.web.participants.supervisor import Supervisor
from tests.web.walker import LINKS

PATIENCE = 2_000
"""Number of pages that a participant reads before giving up."""
PEOPLE: dict[str, Any] = {
    "recruitment": {"source": "prolific", "id_parameter": "PROLIFIC_PID"},
    "path": [
        {"consent": {"text": "We play.", "statements": ["I am 18"]}},
        {"games": {"max": 1}},
        {"survey": [{"name": "feedback", "ask": "Why?", "lines": 4}]},
    ],
    "pay": {"base": 1, "bonus": [{"rate": 0.01}], "ended": {"partner_left": 0.5, "technical": 0.7}},
}
TWO = [["people", "people"]]
BOT = [["people", "bot"]]
GAMES = [{"game": "bargaining", "fixed": {"horizon": 4, "money": 100, "messages": True}}]


def people_study(
    pairing: list[list[str]] = TWO,
    bot: object = "random",
    instances: int = 10,
    games: Sequence[Mapping[str, Any]] = GAMES,
    **changes: Any,
) -> Study:
    """Return a study of bargaining with people, and with changes of their protocol.

    Args:
        bot: the opponent at some tables.
    """
    players = {"people": {"person": "browser"}, "bot": bot}
    data = {
        "name": "people", "instances": instances, "pairing": pairing,
        "games": games,
        "players": {name: players[name] for name in dict.fromkeys(chain(*pairing))},
        "people": PEOPLE | changes,
    }  # fmt: skip
    return parse_study(data, "here")


class Open(NamedTuple):
    supervisor: Supervisor
    client: httpx2.AsyncClient

    @property
    def experiment(self) -> Experiment:
        return self.supervisor.experiment

    def comer(self, name: str, path: str = "") -> "Comer":
        """Return a participant with the given id, and with their link if they have one."""
        return Comer(self, name, path)

    async def enter(self, name: str) -> "Comer":
        """Return a participant with the given id who has just entered."""
        comer = self.comer(name)
        await comer.come()
        return comer


@asynccontextmanager
async def opened(
    folder: Path, study: Study | None = None, models: Models | None = None
) -> AsyncIterator[Open]:
    """Open a study over a store in a folder, as a server does."""
    store, ids = folder / "s.sqlite", folder / "s.identities"
    async with open_experiment(study or people_study(), store, ids, models) as supervisor:
        transport = httpx2.ASGITransport(make_experiment(supervisor, LINKS))
        async with httpx2.AsyncClient(transport=transport, base_url="http://test") as client:
            yield Open(supervisor, client)


class NotShown(AssertionError):
    """The server did not return a page."""


class Comer:
    """A simulated participant who does what their page permits.

    Attributes:
        known_by: their ID on the recruitment platform, by default their name.
        path: of their page; empty before they have entered.
        said: the text they write in text fields.
        answers: to questions on the path, by name; other answers are guessed.
        more: whether they play another game when offered one.
        page: the last page that they read.
    """

    def __init__(self, site: Open, name: str, path: str = "") -> None:
        self.site = site
        self.name = self.known_by = name
        self.path = path
        self.cookies = ""
        self.said = f"words of {name}"
        self.answers: dict[str, str] = {}
        self.more = True
        self.chance = Chance("comers", name)
        self.clicks = 0
        self.refused: list[str] = []
        self.page = Page("")

    @property
    def participant(self) -> Participant:
        return self.site.experiment.people[self.code]

    @property
    def code(self) -> str:
        return LINKS.visitor(self.token)

    @property
    def token(self) -> str:
        return self.path.rpartition("/")[2]

    async def come(self) -> Page:
        self.site.client.cookies.clear()
        entered = await self.site.client.post("/enter", data={"known_by": self.known_by})
        assert entered.status_code == 303, entered.text
        self.path = entered.headers["location"]
        self.cookies = "; ".join(f"{name}={value}" for name, value in entered.cookies.items())
        return await self.look()

    async def look(self) -> Page:
        await asyncio.sleep(0.001)
        response = await self.site.client.get(self.path)
        if response.status_code != 200:
            raise NotShown(f"{response.status_code}: {response.text}")
        self.page = Page(response.text)
        return self.page

    async def send(self, deed: str, fields: Mapping[str, str] | None = None) -> httpx2.Response:
        """Send a form, whether or not it is on the page."""
        headers = {"Cookie": self.cookies} if self.cookies else {}
        return await self.site.client.post(
            f"{self.path}/{deed}", data=dict(fields or {}), headers=headers
        )

    async def press(self, form: Form, fields: Mapping[str, str]) -> Page:
        sent = await self.site.client.post(form.action, data=dict(fields))
        assert sent.status_code == 303, sent.text
        return await self.look()

    async def step(self) -> Page:
        """Do what the page permits, or wait."""
        page, draw = self.page, self.chance("click", self.clicks)
        self.clicks += 1
        if form := page.form("notice"):
            return await self.press(form, attention(page, form))
        if form := page.form("page"):
            answers = {"feedback": self.said, "name": self.name} | self.answers
            return await self.press(form, reply(page, form, answers, draw, play_more=self.more))
        if forms := page.forms_for("answer"):
            fields = guess(page, forms[0], self.refused, draw)
            words = {blank.name: self.said for blank in forms[0].blanks if blank.kind == "text"}
            page_after = await self.press(forms[0], fields | words)
            self.refused = [*self.refused, page_after.problem] if page_after.problem else []
            return page_after
        if form := page.form("done"):
            return await self.press(form, {})
        notifier = self.participant.visitor.notifier
        await notifier.wait(notifier.number, 0.05)  # let others and the writing thread run
        return await self.look()

    async def until(self, condition: Callable[[Page], object]) -> Page:
        for _ in range(PATIENCE):
            if condition(self.page):
                return self.page
            await self.step()
        raise AssertionError(f"{self.name} gets no further than: {self.page.words}")

    async def to(self, deed: str) -> Page:
        return await self.until(lambda page: page.form(deed))

    async def finish(self) -> Page:
        return await self.until(lambda page: page.ending)
