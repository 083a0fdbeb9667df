"""Bots at tables and on the paths of studies: each does what the page at its link lets it do.

They know no game and nothing of the server but its pages: forms, links, and addresses.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from math import ceil, log
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

import aiohttp

from cheaptalk.rules import Chance, CheaptalkError
from cheaptalk.rules.chance import Stream
from cheaptalk.web.bots.guesses import guess
from cheaptalk.web.bots.pages import Form, Page
from cheaptalk.web.bots.replies import attention, reply

SLOWER = 3.0
"""Seconds to wait where the server asks for patience, or is not there."""
REFRESH = 4.0
"""Seconds after which a page that waits is read again, unless it says how long."""
LOOKS = 3
"""At a lobby, before a bot begins with stand-ins."""
GIVES_UP = 200
"""Times in a row that a bot gets no further before it gives up."""
LONGEST = aiohttp.ClientTimeout(total=60)

Rest = Callable[[float], Awaitable[object]]
"""Lets so many seconds go by."""


class GaveUp(Exception):
    """A bot does not get on."""


class Sent(NamedTuple):
    """An answer that was sent.

    Attributes:
        link: of whoever sent it.
        taken: whether the server said that it has it; False where the connection broke before.
    """

    link: str
    fields: dict[str, str]
    taken: bool


@dataclass
class Tally:
    """What bots did, and what they met.

    Attributes:
        matches: that were played to their end.
        pages: that were read.
        moves: answers that counted.
        refused: answers that did not count, and were asked for again.
        slowed: times that a bot was told to be slower.
        lost: connections that broke.
        errors: whatever else was wrong, with how often it was.
        seconds: from each click to the page that followed, and for each page read again.
        sent: the answers in order, each bot's own.
        endings: of participants' visits, by kind.
        codes: that participants were shown in the end, by their links.
    """

    matches: int = 0
    pages: int = 0
    moves: int = 0
    refused: int = 0
    slowed: int = 0
    lost: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)
    endings: Counter[str] = field(default_factory=Counter)
    codes: dict[str, str] = field(default_factory=dict)

    def summary(self) -> dict[str, object]:
        """The same in numbers, to be printed: times of pages in seconds."""
        times = {f"within_{percent}": self.slowest(percent) for percent in (50, 95, 100)}
        counts = ("matches", "pages", "moves", "refused", "slowed", "lost")
        more = {"endings": self.endings, "errors": self.errors}
        return {name: getattr(self, name) for name in counts} | times | more

    def slowest(self, percent: float) -> float:
        """Seconds within which so many percent of the pages came; 0 without pages.

        >>> Tally(seconds=[0.1, 0.4, 0.2]).slowest(95)
        0.4
        """
        ordered = sorted(self.seconds)
        return ordered[max(0, ceil(percent / 100 * len(ordered)) - 1)] if ordered else 0.0


@dataclass
class Crowd:
    """Bots that come to a server together.

    Attributes:
        url: where each begins: the gallery, a game, an invitation, somebody's link, or the entry
            to a study, where ``{id}`` stands for an id of each bot's own.
        people: how many they are.
        think: seconds that they think between clicks, exponential with this mean.
        matches: that each plays.
        games: that they choose among; empty for all.
        answers: to questions on a participant's path, by their names; others are guessed.
        seed: of all that they choose.
        rest: how time goes by for them.
        tally: what they have done so far, all together.
    """

    url: str
    people: int = 1
    think: float = 0.0
    matches: int = 1
    games: Collection[str] = ()
    seed: int = 0
    rest: Rest = asyncio.sleep
    tally: Tally = field(default_factory=Tally)
    invitations: list[str] = field(default_factory=list)
    answers: Mapping[str, str] = field(default_factory=dict)

    async def play(self) -> Tally:
        """Let all play all their matches.

        Raises:
            CheaptalkError: no server answers where they begin.
        """
        connector = aiohttp.TCPConnector(limit=0)
        jar = aiohttp.DummyCookieJar()  # they are told apart by their links
        async with aiohttp.ClientSession(
            connector=connector, timeout=LONGEST, cookie_jar=jar
        ) as session:
            await self.knock(session)
            await asyncio.gather(
                *(Bot(self, number, session).play() for number in range(self.people))
            )
        return self.tally

    async def knock(self, session: aiohttp.ClientSession) -> None:
        """See whether a server is there at all.

        Raises:
            CheaptalkError: none answers.
        """
        try:
            async with session.get(self.entry(0)):
                pass
        except (aiohttp.ClientError, TimeoutError, ValueError):
            raise CheaptalkError(
                f"no server answers at {self.url}; start one with cheaptalk serve, and give the "
                "address that it says"
            ) from None

    def entry(self, number: int) -> str:
        """Where a bot begins."""
        known_by = f"{abs(self.seed) % 10**12:012}{number:012}"  # digits suit every platform
        return self.url.replace("{id}", known_by)


class Bot:
    """One of a crowd.

    Args:
        number: which one.
        session: how it reaches the server.
    """

    def __init__(self, crowd: Crowd, number: int, session: aiohttp.ClientSession) -> None:
        self.crowd = crowd
        self.tally = crowd.tally
        self.session = session
        self.chance = Chance(f"bots/{crowd.seed}", number)
        self.where = self.link = crowd.entry(number)
        self.played = 0
        self.done = self.moved = False
        self.refusals: list[str] = []
        self._clicks = self._waits = 0

    async def play(self) -> None:
        """Play all matches, or as many as go, on a path to its end."""
        try:
            page = await self.read(self.link)
            while not self.done and not page.ending:
                page = await self.go_on(page)
            if page.ending:
                self.tally.endings[page.ending] += 1
                self.tally.codes[self.link] = page.code
        except GaveUp as error:
            self.tally.errors[str(error)] += 1

    async def go_on(self, page: Page) -> Page:
        """Do what a page lets one do, and see what comes of it."""
        if form := page.form("notice") or page.form("enter") or page.form("page"):
            return await self.step(page, form)
        if ways := page.forms_for("answer"):
            return await self.answer(page, self.draw().pick(ways))
        if page.form("again"):
            return await self.broken(page)
        if done := page.form("done"):
            return await self.over(page, done)
        if back := page.form("back"):
            return await self.press(back)
        if fill := page.form("fill"):
            return await self.wait_for_others(page, fill)
        if page.form("withdraw"):
            leave = page.form("leave")
            return await (self.press(leave) if leave else self.wait(page))
        return await self.choose(page)

    async def step(self, page: Page, form: Form) -> Page:
        """Take a step on a participant's path: come, answer a page or a prompt."""
        if form.deed == "enter":
            return await self.press(form)
        if form.deed == "notice":
            return await self.press(form, attention(page, form))
        more = self.played < self.crowd.matches
        return await self.press(form, reply(page, form, self.crowd.answers, self.draw(), more=more))

    async def over(self, page: Page, done: Form) -> Page:
        """Leave a match that has ended, for another one or for what comes next on the path."""
        again = page.form("open")
        if self.moved:  # or it was counted, and the server was away since
            self.played += 1
            self.tally.matches += 1
        self.moved = False
        if again is None:
            return await self.press(done)
        self.done = self.played == self.crowd.matches
        return page if self.done else await self.press(self.draw().pick([done, again]))

    async def broken(self, page: Page) -> Page:
        """Go on without a match that broke.

        Raises:
            GaveUp: there is nothing to go on to.
        """
        if give_up := page.form("give_up"):
            return await self.press(give_up)
        raise GaveUp(f"it does not go on: {' '.join(page.words.split())[:200]}")

    async def answer(self, page: Page, form: Form) -> Page:
        """Answer a question; another way where an answer was refused before."""
        fields = guess(page, form, self.refusals, self.draw())
        shown = await self.press(form, fields)
        if shown.problem:
            self.tally.refused += 1
            self.refusals.append(shown.problem)
        else:
            self.tally.moves += 1
            self.moved = True
            self.refusals.clear()
        return shown

    async def wait_for_others(self, page: Page, fill: Form) -> Page:
        """Tell the others where one is; begin with stand-ins where they do not come."""
        invitation = next((one for one in page.links if "/join/" in one), None)
        if invitation and self._waits == 0:
            self.crowd.invitations.append(invitation)
        if self._waits < LOOKS:
            return await self.wait(page)
        if invitation in self.crowd.invitations:
            self.crowd.invitations.remove(invitation)
        return await self.press(fill)

    async def choose(self, page: Page) -> Page:
        """Choose a game, a table of it, or a place; where there is nothing to choose, wait.

        Raises:
            GaveUp: the page has nothing to wait for.
        """
        if "/join/" in self.where and page.forms:
            return await self.press(page.forms[0])
        if tables := page.forms_for("open"):
            return await self.press(self.draw().pick(tables))
        games = [one for one in page.links if "/games/" in one and self.wants(one)]
        if not games:
            if page.refresh is None:
                raise GaveUp(f"nothing is to be played at {self.where}")
            return await self.wait(page)
        await self.think()
        if self.crowd.invitations:
            return await self.read(self.crowd.invitations.pop())
        return await self.read(self.draw().pick(games))

    def wants(self, link: str) -> bool:
        """Whether the game that a link leads to is one of those to choose among."""
        return not self.crowd.games or urlsplit(link).path.split("/")[-1] in self.crowd.games

    async def press(self, form: Form, fields: dict[str, str] | None = None) -> Page:
        """Think, send a form, and see where it leads.

        Args:
            fields: of an answer; by default the form is sent as it stands.
        """
        await self.think()
        began, link, where = time.perf_counter(), self.link, urljoin(self.where, form.action)
        data = {one.name: one.value for one in form.blanks} if fields is None else fields
        leads = page = None
        try:
            async with self.session.post(where, data=data, allow_redirects=False) as reply:
                leads = reply.headers.get("Location")
                page = Page(await reply.text())
        except (aiohttp.ClientError, TimeoutError):
            await self.lost()
        if fields is not None and (leads or page is None):
            self.tally.sent.append(Sent(link, fields, leads is not None))
        if leads:
            self.link = urljoin(where, leads)
            self._waits = 0
            return await self.read(self.link, began)
        if page is not None:
            await self.refused(page, reply.status, final=form.deed == "enter")
        return await self.read(self.link)

    async def read(self, link: str, began: float | None = None) -> Page:
        """Read a page, or one's own where that one is not to be had.

        Args:
            began: when one clicked for it; now by default.
        """
        while True:
            began = time.perf_counter() if began is None else began
            self.where = urljoin(self.where, link)
            try:
                async with self.session.get(self.where) as reply:
                    page = Page(await reply.text())
            except (aiohttp.ClientError, TimeoutError):
                await self.lost()
            else:
                self.tally.pages += 1
                self.tally.seconds.append(time.perf_counter() - began)
                if reply.status == 200:
                    return page
                await self.refused(page, reply.status)
            link, began = self.link, None

    async def refused(self, page: Page, status: int, *, final: bool = False) -> None:
        """Wait a little where something did not work.

        Args:
            final: whether there is nothing else to try.

        Raises:
            GaveUp: it was final, or one's own page, which is not to be had.
        """
        said = f"{status}: {' '.join(page.words.split())[:200]}"
        if status in (429, 503):
            self.tally.slowed += 1
        elif final and status < 500:
            raise GaveUp(said)
        elif status != 409:  # a place that somebody else took first
            if status < 500 and self.where == self.link:
                raise GaveUp(said)
            self.tally.errors[said] += 1
        await self.rest(SLOWER)

    async def lost(self) -> None:
        """Wait a little where a connection broke."""
        self.tally.lost += 1
        await self.rest(SLOWER)

    async def wait(self, page: Page) -> Page:
        """Read the page again after a while."""
        await self.rest(page.refresh or REFRESH)
        return await self.read(self.link)

    async def rest(self, seconds: float) -> None:
        """Let time go by in which nothing is done.

        Raises:
            GaveUp: it was too often so.
        """
        self._waits += 1
        if self._waits > GIVES_UP:
            raise GaveUp(f"nothing happened at {self.where}")
        await self.crowd.rest(seconds)

    async def think(self) -> None:
        """Think for a while."""
        if self.crowd.think:
            seconds = -self.crowd.think * log(1 - self.chance("think", self._clicks).uniform())
            await self.crowd.rest(seconds)
        self._clicks += 1

    def draw(self) -> Stream:
        """Luck for the next click."""
        return self.chance("click", self._clicks)
