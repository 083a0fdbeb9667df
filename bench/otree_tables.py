"""Reference load test of oTree with the same number of participants and the same think time.

oTree is installed in a separate environment. Each page asks for one number from 0 to 20, for 15
rounds. Participants play individually, so none waits for another.
"""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import log
from pathlib import Path

import aiohttp

from bench.rows import Row
from cheaptalk.loopback import listening
from cheaptalk.rules import Chance
from cheaptalk.web.bots.bots import Tally
from cheaptalk.web.bots.guesses import guess
from cheaptalk.web.bots.pages import Page

VERSION = "6.0.15"
ENVIRONMENT = Path(__file__).parent / ".otree-venv"
ROUNDS = 15
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


def rows(people: int, think: float, load: tuple[float, float]) -> Iterator[Row]:
    """Yield oTree's page load time, and its ratio to cheaptalk's.

    Args:
        people: the number of concurrent participants.
        think: the mean pause before a click, in seconds.
        load: cheaptalk's pages per second and 95th percentile of the page load time in seconds.
    """
    install()
    with tempfile.TemporaryDirectory() as name, serving(Path(name)) as url:
        began = time.perf_counter()
        tally = asyncio.run(walk(url, people, think))
        seconds = time.perf_counter() - began
    p95, rate = tally.slowest(95), tally.pages / seconds
    yield Row(f"oTree {VERSION}: page load time, p95, {people} participants", 1000 * p95, "ms",
              None, f"reference; {tally.pages:,} pages, {rate:.0f} pages/s; median "
              f"{1000 * tally.slowest(50):.0f} ms; {tally.lost} lost connections, errors: "
              f"{dict(tally.errors.most_common(3)) or 'none'}")  # fmt: skip
    yield Row("oTree's page load time divided by cheaptalk's, p95", p95 / load[1], "times", None,
              f"cheaptalk: {load[0]:.0f} pages/s")  # fmt: skip


def install() -> None:
    """Create oTree's environment if it does not exist."""
    if not ENVIRONMENT.exists():
        subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True)
        pip = [str(ENVIRONMENT / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, f"otree=={VERSION}"], check=True)


@contextmanager
def serving(folder: Path) -> Iterator[str]:
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


async def walk(url: str, people: int, think: float) -> Tally:
    """Create a session, and let all participants answer all pages concurrently."""
    tally = Tally()
    timeout = aiohttp.ClientTimeout(total=600)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(
        connector=connector, timeout=timeout, cookie_jar=aiohttp.DummyCookieJar()
    ) as client:
        settings = {"session_config_name": "shares", "num_participants": people}
        code = (await request(client, "POST", f"{url}/api/sessions", settings))["code"]
        session = await request(client, "GET", f"{url}/api/sessions/{code}", {})
        participants = session["participants"]
        links = [f"{url}/InitializeParticipant/{person['code']}" for person in participants]
        await asyncio.gather(
            *(answer(client, link, Chance("otree", number), think, tally)
              for number, link in enumerate(links))
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
    """Answer pages until one has no form, and add the results to ``tally``."""
    fields: dict[str, str] | None = None
    for click in range(ROUNDS + 1):
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
        if not page.forms:
            tally.matches += 1
            return
        fields = guess(page, page.forms[0], [], chance("click", click))
