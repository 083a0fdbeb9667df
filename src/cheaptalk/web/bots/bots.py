"""Bots that play games and take part in studies through the web pages.

They know no game and use nothing of the server but its pages: forms, links and addresses.
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
from cheaptalk.web.bots.guesses import MESSAGES, attention, guess, reply
from cheaptalk.web.bots.pages import Form, Page

RETRY_SECONDS = 3.0
"""Wait after a rate limit or a failed request."""
REFRESH_SECONDS = 4.0
"""Interval at which a waiting page is reloaded, unless the page sets one."""
LOBBY_RELOADS = 3
"""Reloads of a lobby before a bot starts with substitutes."""
MAX_WAITS = 200
"""Consecutive waits after which a bot gives up."""
MAX_FAILURES = 50
"""Consecutive inadmissible answers to questions after which a bot gives up."""
REQUEST_TIMEOUT = aiohttp.ClientTimeout(total=60)

TALKATIVE = 0.3
"""Probability that a bot sends a line of chat when it looks at a page with a chat."""

Rest = Callable[[float], Awaitable[object]]
"""A function that waits for a number of seconds."""


class GaveUp(Exception):
    """Raised if a bot cannot continue."""


class Sent(NamedTuple):
    """A form that a bot submitted at its link; ``saved`` if the server confirmed it."""

    link: str
    fields: dict[str, str]
    saved: bool


@dataclass
class Tally:
    """The results of a crowd of bots.

    Attributes:
        matches: matches played to the end.
        moves, refused: valid answers, and invalid ones, which were then repeated.
        slowed, lost: rate-limited requests, and requests whose connection was lost.
        errors: other errors with their counts.
        seconds: load times of pages, from each click or reload.
        sent: answers, in order for each bot.
        endings: endings of participants' visits with their counts.
        codes: completion codes by participants' links.
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
        """Return the bots' counters, and percentiles of the page load times in seconds."""
        times = {f"within_{percent}": self.slowest(percent) for percent in (50, 95, 100)}
        counts = ("matches", "pages", "moves", "refused", "slowed", "lost")
        details = {"endings": self.endings, "errors": self.errors}
        return {name: getattr(self, name) for name in counts} | times | details

    def slowest(self, percent: float) -> float:
        """Return a percentile of the page load times in seconds; 0 if no page was loaded.

        >>> Tally(seconds=[0.1, 0.4, 0.2]).slowest(95)
        0.4
        """
        ordered = sorted(self.seconds)
        return ordered[max(0, ceil(percent / 100 * len(ordered)) - 1)] if ordered else 0.0


@dataclass
class Crowd:
    """A crowd of bots that start at the same URL.

    Attributes:
        url: start address: the gallery, a game, an invitation, a visitor's link, or the link of a
            study, in which ``{id}`` is replaced by each bot's ID.
        people: number of bots.
        think: mean of the exponentially distributed time before each click, in seconds.
        matches: number of matches per bot.
        games: names of the games to play; empty for all.
        answers: answers to a study's questions by name; other answers are guessed.
        seed: seed of all random choices.
        rest: function that waits.
        tally: results of all bots so far.
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
        """Run all bots.

        Raises:
            CheaptalkError: no server answers at the start address.
        """
        connector = aiohttp.TCPConnector(limit=0)
        jar = aiohttp.DummyCookieJar()  # bots are distinguished by their links
        async with aiohttp.ClientSession(
            connector=connector, timeout=REQUEST_TIMEOUT, cookie_jar=jar
        ) as session:
            await self.check_server(session)
            await asyncio.gather(
                *(Bot(self, number, session).play() for number in range(self.people))
            )
        return self.tally

    async def check_server(self, session: aiohttp.ClientSession) -> None:
        try:
            async with session.get(self.entry(0)):
                pass
        except (aiohttp.ClientError, TimeoutError, ValueError):
            raise CheaptalkError(
                f"no server answers at {self.url}: start one with cheaptalk serve and use the "
                "address that it prints"
            ) from None

    def entry(self, number: int) -> str:
        known_by = f"{abs(self.seed) % 10**12:012}{number:012}"  # valid as an ID on every platform
        return self.url.replace("{id}", known_by)


class Bot:
    """A bot that plays through the web pages."""

    def __init__(self, crowd: Crowd, number: int, session: aiohttp.ClientSession) -> None:
        self.crowd = crowd
        self.tally = crowd.tally
        self.session = session
        self.chance = Chance(f"bots/{crowd.seed}", number)
        self.address = self.link = crowd.entry(number)
        self.played = 0
        self.done = self.moved = False
        self.refusals: list[str] = []
        self._clicks = self._waits = self._failures = 0

    async def play(self) -> None:
        """Play all matches or, in an experiment, go through its steps to the end."""
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
        if form := page.form("notice") or page.form("enter") or page.form("page"):
            return await self.step(page, form)
        if (chat := page.form("say")) and self.draw().happens(TALKATIVE):
            return await self.press(chat, {"line": self.draw().pick(MESSAGES)})
        if ready := page.form("ready"):
            return await self.press(ready)
        if forms := page.forms_for("answer"):
            return await self.answer(page, self.draw().pick(forms))
        if page.form("again"):
            return await self.failed_match(page)
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
        """Submit a page of an experiment, such as a questionnaire or an attention check."""
        if form.deed == "enter":
            return await self.press(form)
        if form.deed == "notice":
            return await self.press(form, attention(page, form))
        fields = reply(
            page,
            form,
            self.crowd.answers,
            self.draw(),
            play_more=self.played < self.crowd.matches,
        )
        page = await self.press(form, fields)
        self._failures = self._failures + 1 if page.problem else 0
        if self._failures == MAX_FAILURES:
            problem = " ".join(page.problem.split())
            raise GaveUp(f"cannot answer a page after {MAX_FAILURES} attempts: {problem[:200]}")
        return page

    async def over(self, page: Page, done: Form) -> Page:
        rematch = page.form("open")
        if self.moved:  # otherwise the match was counted before the server restarted
            self.played += 1
            self.tally.matches += 1
        self.moved = False
        if rematch is None:
            return await self.press(done)
        self.done = self.played == self.crowd.matches
        return page if self.done else await self.press(self.draw().pick([done, rematch]))

    async def failed_match(self, page: Page) -> Page:
        if give_up := page.form("give_up"):
            return await self.press(give_up)
        raise GaveUp(f"the match failed: {' '.join(page.words.split())[:200]}")

    async def answer(self, page: Page, form: Form) -> Page:
        """Answer a decision request, taking earlier rejection messages into account."""
        fields = guess(page, form, self.refusals, self.draw())
        response = await self.press(form, fields)
        if response.problem:
            self.tally.refused += 1
            self.refusals.append(response.problem)
        else:
            self.tally.moves += 1
            self.moved = True
            self.refusals.clear()
        return response

    async def wait_for_others(self, page: Page, fill: Form) -> Page:
        """Invite other bots to the match, and start with substitute players if none joins."""
        invitation = next((link for link in page.links if "/join/" in link), None)
        if invitation and self._waits == 0:
            self.crowd.invitations.append(invitation)
        if self._waits < LOBBY_RELOADS:
            return await self.wait(page)
        if invitation in self.crowd.invitations:
            self.crowd.invitations.remove(invitation)
        return await self.press(fill)

    async def choose(self, page: Page) -> Page:
        """Choose a game, a table or a seat; if the page offers none, wait for it to refresh."""
        if "/join/" in self.address and page.forms:
            return await self.press(page.forms[0])
        if tables := page.forms_for("open"):
            return await self.press(self.draw().pick(tables))
        games = [link for link in page.links if "/games/" in link and self.accepts(link)]
        if not games:
            if page.refresh is None:
                raise GaveUp(f"no game to play at {self.address}")
            return await self.wait(page)
        await self.think()
        if self.crowd.invitations:
            return await self.read(self.crowd.invitations.pop())
        return await self.read(self.draw().pick(games))

    def accepts(self, link: str) -> bool:
        return not self.crowd.games or urlsplit(link).path.split("/")[-1] in self.crowd.games

    async def press(self, form: Form, fields: dict[str, str] | None = None) -> Page:
        """Submit a form, by default with its initial values, and return the next page."""
        await self.think()
        start, link, action = time.perf_counter(), self.link, urljoin(self.address, form.action)
        data = {blank.name: blank.value for blank in form.blanks} if fields is None else fields
        location = page = None
        try:
            async with self.session.post(action, data=data, allow_redirects=False) as response:
                location = response.headers.get("Location")
                page = Page(await response.text())
        except (aiohttp.ClientError, TimeoutError):
            await self.lost()
        if fields is not None and (location or page is None):
            self.tally.sent.append(Sent(link, fields, location is not None))
        if location:
            self.link = urljoin(action, location)
            self._waits = 0
            return await self.read(self.link, start)
        if page is not None:
            await self.refused(page, response.status, final=form.deed == "enter")
        return await self.read(self.link)

    async def read(self, link: str, start: float | None = None) -> Page:
        """Load a page, or the bot's own page if that fails, and record the time since ``start``."""
        while True:
            start = time.perf_counter() if start is None else start
            self.address = urljoin(self.address, link)
            try:
                async with self.session.get(self.address) as response:
                    page = Page(await response.text())
            except (aiohttp.ClientError, TimeoutError):
                await self.lost()
            else:
                self.tally.pages += 1
                self.tally.seconds.append(time.perf_counter() - start)
                if response.status == 200:
                    return page
                await self.refused(page, response.status, final=self.address == self.link)
            link, start = self.link, None

    async def refused(self, page: Page, status: int, *, final: bool) -> None:
        """Record a failed request, then wait, or raise GaveUp if retrying cannot help."""
        error = f"{status}: {' '.join(page.words.split())[:200]}"
        if status in (429, 503):
            self.tally.slowed += 1
        elif final and status < 500:
            raise GaveUp(error)
        elif status != 409:  # another bot took the seat
            if status < 500 and self.address == self.link:
                raise GaveUp(error)
            self.tally.errors[error] += 1
        await self.rest(RETRY_SECONDS)

    async def lost(self) -> None:
        self.tally.lost += 1
        await self.rest(RETRY_SECONDS)

    async def wait(self, page: Page) -> Page:
        await self.rest(page.refresh or REFRESH_SECONDS)
        return await self.read(self.link)

    async def rest(self, seconds: float) -> None:
        """Wait, or raise GaveUp if the bot has already waited too often."""
        self._waits += 1
        if self._waits > MAX_WAITS:
            raise GaveUp(f"gave up after {MAX_WAITS} reloads without a change at {self.address}")
        await self.crowd.rest(seconds)

    async def think(self) -> None:
        if self.crowd.think:
            seconds = -self.crowd.think * log(1 - self.chance("think", self._clicks).uniform())
            await self.crowd.rest(seconds)
        self._clicks += 1

    def draw(self) -> Stream:
        return self.chance("click", self._clicks)
