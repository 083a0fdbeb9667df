"""oTree beside us: as many people, thinking as long, answer as small a question on its pages.

It is installed into an environment of its own. One number from 0 to 20 is asked for in each of 15
rounds, by people who play alone, so that nobody waits for anybody.
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
STARTING = 10.0
"""Seconds after which a server that cannot start has ended."""
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


def rows(people: int, think: float, ours: tuple[float, float]) -> Iterator[Row]:
    """Pages a second and how soon they come.

    Args:
        ours: pages a second of ours, and the seconds within which 95 % of them came.
    """
    install()
    with tempfile.TemporaryDirectory() as name, serving(Path(name)) as url:
        began = time.perf_counter()
        tally = asyncio.run(walk(url, people, think))
        seconds = time.perf_counter() - began
    slowest, rate = tally.slowest(95), tally.pages / seconds
    yield Row(f"oTree {VERSION}: 95 % of pages, {people} people", 1000 * slowest, "ms", None,
              f"anchor; {tally.pages:,} pages, {rate:.0f} a second; half within "
              f"{1000 * tally.slowest(50):.0f} ms; {tally.lost} connections lost, errors: "
              f"{dict(tally.errors.most_common(3)) or 'none'}")  # fmt: skip
    yield Row("the same by ours", slowest / ours[1], "times ours", None,
              f"{ours[0]:.0f} pages a second of ours")  # fmt: skip


def install() -> None:
    """Make oTree's environment once."""
    if not ENVIRONMENT.exists():
        subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True)
        pip = [str(ENVIRONMENT / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, f"otree=={VERSION}"], check=True)


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Where oTree serves the question, as it does in production."""
    for name in ("shares", "_static", "_templates"):
        (folder / name).mkdir()
    (folder / "settings.py").write_text(SETTINGS)
    (folder / "shares" / "__init__.py").write_text(APP)
    (folder / "shares" / "Share.html").write_text(PAGE)
    with listening(0) as there:
        port = there.getsockname()[1]
    programs = ENVIRONMENT / "bin"
    environment = os.environ | {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "OTREE_PRODUCTION": "1",
    }  # fmt: skip
    process = subprocess.Popen(
        [str(programs / "otree"), "prodserver", str(port)], cwd=folder, env=environment,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        time.sleep(STARTING)
        if process.poll() is not None:
            raise RuntimeError(f"oTree ended with status {process.returncode}")
        yield f"http://127.0.0.1:{port}"
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
        process.wait()


async def walk(url: str, people: int, think: float) -> Tally:
    """Let everybody answer all that they are asked."""
    tally = Tally()
    timeout = aiohttp.ClientTimeout(total=600)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(
        connector=connector, timeout=timeout, cookie_jar=aiohttp.DummyCookieJar()
    ) as client:
        wanted = {"session_config_name": "shares", "num_participants": people}
        code = (await asked(client, "POST", f"{url}/api/sessions", wanted))["code"]
        told = await asked(client, "GET", f"{url}/api/sessions/{code}", {})
        links = [f"{url}/InitializeParticipant/{one['code']}" for one in told["participants"]]
        await asyncio.gather(
            *(answer(client, link, Chance("otree", number), think, tally)
              for number, link in enumerate(links))
        )  # fmt: skip
    return tally


async def asked(
    client: aiohttp.ClientSession, method: str, url: str, data: dict[str, object]
) -> dict[str, list[dict[str, str]]]:
    """What the server says by its interface for programs, once it is there."""
    while True:
        try:
            async with client.request(method, url, json=data or None) as reply:
                reply.raise_for_status()
                found: dict[str, list[dict[str, str]]] = await reply.json(content_type=None)
                return found
        except aiohttp.ClientConnectionError:
            await asyncio.sleep(1)


async def answer(
    client: aiohttp.ClientSession, link: str, chance: Chance, think: float, tally: Tally
) -> None:
    """Answer page after page, until one has no form."""
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
