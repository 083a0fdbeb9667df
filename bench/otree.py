"""Load test of oTree and cheaptalk with the same design, participants, think time and client.

In each of 15 rounds, participants give 0 to 20 of 20 tokens to a group whose other members are
simulated, so that nobody waits for another participant. oTree is installed in a separate
environment.
"""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from math import log
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import aiohttp

from bench.rooms import PEOPLE, THINK, Server
from bench.rows import Row
from cheaptalk.loopback import listening
from cheaptalk.rules import Chance
from cheaptalk.web.bots.bots import Tally
from cheaptalk.web.bots.guesses import guess
from cheaptalk.web.bots.pages import Page

VERSION = "6.0.15"
ENVIRONMENT = Path(__file__).parent / ".otree-venv"
ROUNDS = 15
MOST_CLICKS = 10 * ROUNDS
STUDY: dict[str, Any] = {
    "name": "shares",
    "instances": 1000,
    "pairing": [{"you": 1, "bot": 4}],
    "games": [{"game": "public_goods", "fixed": {"players": 5, "rounds": ROUNDS, "tokens": 20}}],
    "players": {"you": {"person": "browser"}, "bot": {"strategy": "random"}},
    "people": {"path": [{"games": {"max": 1}}]},
}
STARTUP_SECONDS = 10.0
"""Waiting time after which the server either runs or has failed to start."""
SETTINGS = """
SESSION_CONFIGS = [dict(name="shares", app_sequence=["shares"], num_demo_participants=1)]
SESSION_CONFIG_DEFAULTS = dict(real_world_currency_per_point=1.0, participation_fee=0.0, doc="")
PARTICIPANT_FIELDS = SESSION_FIELDS = []
LANGUAGE_CODE, REAL_WORLD_CURRENCY_CODE, USE_POINTS = "en", "USD", True
ADMIN_USERNAME, ADMIN_PASSWORD, SECRET_KEY = "admin", "", "bench"
"""
APP = f"""
from otree.api import *

class C(BaseConstants):
    NAME_IN_URL, PLAYERS_PER_GROUP, NUM_ROUNDS = "shares", None, {ROUNDS}

class Subsession(BaseSubsession):
    pass

class Group(BaseGroup):
    pass

class Player(BasePlayer):
    given = models.IntegerField(min=0, max=20)

class Share(Page):
    form_model, form_fields = "player", ["given"]

page_sequence = [Share]
"""
PAGE = """{{ block title }}Round {{ subsession.round_number }}{{ endblock }}
{{ block content }}<p>You have 20 tokens. How many do you give, from 0 to 20?</p>
{{ formfields }}{{ next_button }}{{ endblock }}
"""


Links = Callable[[aiohttp.ClientSession, str, int], Awaitable[list[str]]]
"""A function of a client, a server's URL and a number of participants that returns their links."""


def rows() -> Iterator[Row]:
    """Yield the page load times of oTree and cheaptalk, and their ratio."""
    install()
    p95 = {}
    for system, server, links in (
        (f"oTree {VERSION}", serving_otree, otree_links),
        ("cheaptalk", serving_cheaptalk, cheaptalk_links),
    ):
        with tempfile.TemporaryDirectory() as name, server(Path(name)) as url:
            began = time.perf_counter()
            tally = asyncio.run(walk(url, links, PEOPLE, THINK))
            seconds = time.perf_counter() - began
        p95[system] = tally.slowest(95)
        yield Row(f"{system}: page load time, p95, {PEOPLE} participants, {ROUNDS} rounds",
                  1000 * p95[system], "ms", None, f"{tally.pages:,} pages, "
                  f"{tally.pages / seconds:.0f} pages/s; median {1000 * tally.slowest(50):.0f} ms; "
                  f"{tally.matches} completed, {tally.lost} lost connections, errors: "
                  f"{dict(tally.errors.most_common(3)) or 'none'}")  # fmt: skip
    of_otree, own = p95.values()
    yield Row("oTree's page load time divided by cheaptalk's, p95", of_otree / own, "times", None)


def install() -> None:
    """Create oTree's environment if it does not exist."""
    if not ENVIRONMENT.exists():
        subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True)
        pip = [str(ENVIRONMENT / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, f"otree=={VERSION}"], check=True)


@contextmanager
def serving_otree(folder: Path) -> Iterator[str]:
    """Run oTree in production mode, and provide its URL."""
    for name in ("shares", "_static", "_templates"):
        (folder / name).mkdir()
    (folder / "settings.py").write_text(SETTINGS)
    (folder / "shares" / "__init__.py").write_text(APP)
    (folder / "shares" / "Share.html").write_text(PAGE)
    with listening(0) as listener:
        port = listener.getsockname()[1]
    programs = ENVIRONMENT / "bin"
    environment = os.environ | {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "OTREE_PRODUCTION": "1",
    }  # fmt: skip
    process = subprocess.Popen(
        [str(programs / "otree"), "prodserver", str(port)], cwd=folder, env=environment,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        time.sleep(STARTUP_SECONDS)
        if process.poll() is not None:
            raise RuntimeError(f"oTree ended with status {process.returncode}")
        yield f"http://127.0.0.1:{port}"
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
        process.wait()


@contextmanager
def serving_cheaptalk(folder: Path) -> Iterator[str]:
    """Run a study of cheaptalk, and provide its URL."""
    server = Server(folder, STUDY)
    server.start()
    try:
        yield server.url
    finally:
        server.kill()


async def otree_links(client: aiohttp.ClientSession, url: str, people: int) -> list[str]:
    """Create a session, and return its participants' links."""
    settings = {"session_config_name": "shares", "num_participants": people}
    code = (await request(client, "POST", f"{url}/api/sessions", settings))["code"]
    session = await request(client, "GET", f"{url}/api/sessions/{code}", {})
    return [f"{url}/InitializeParticipant/{person['code']}" for person in session["participants"]]


async def cheaptalk_links(_: aiohttp.ClientSession, url: str, people: int) -> list[str]:
    """Return the same link for all participants."""
    return [url] * people


async def walk(url: str, links: Links, people: int, think: float) -> Tally:
    """Let all participants answer all pages concurrently."""
    tally = Tally()
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        timeout=aiohttp.ClientTimeout(total=600),
        cookie_jar=aiohttp.DummyCookieJar(),
    ) as client:
        await asyncio.gather(
            *(answer(client, link, Chance("otree", number), think, tally)
              for number, link in enumerate(await links(client, url, people)))
        )  # fmt: skip
    return tally


async def request(
    client: aiohttp.ClientSession, method: str, url: str, data: dict[str, object]
) -> dict[str, list[dict[str, str]]]:
    """Send a request to oTree's REST API, with retries until the server accepts connections."""
    while True:
        try:
            async with client.request(method, url, json=data or None) as reply:
                reply.raise_for_status()
                content: dict[str, list[dict[str, str]]] = await reply.json(content_type=None)
                return content
        except aiohttp.ClientConnectionError:
            await asyncio.sleep(1)


async def answer(
    client: aiohttp.ClientSession, link: str, chance: Chance, think: float, tally: Tally
) -> None:
    """Click through all pages of a participant, and add the results to ``tally``."""
    fields: dict[str, str] | None = None
    for click in range(MOST_CLICKS):
        await asyncio.sleep(-think * log(1 - chance("think", click).uniform()))
        began = time.perf_counter()
        method = "GET" if fields is None else "POST"
        try:
            async with client.request(method, link, data=fields) as reply:
                page, link = Page(await reply.text()), str(reply.url)
        except aiohttp.ClientError:
            tally.lost += 1
            return
        tally.pages += 1 + len(reply.history)
        tally.seconds.append(time.perf_counter() - began)
        if reply.status != 200:
            tally.errors[str(reply.status)] += 1
            return
        if page.ending or not (page.forms or page.refresh):
            tally.matches += 1
            return
        form, fields = next(iter(page.forms), None), None
        if form is not None and form.deed != "withdraw":  # else the page waits for the server
            link = urljoin(link, form.action)
            fields = guess(page, form, [], chance("click", click))
    tally.errors["too many pages"] += 1
