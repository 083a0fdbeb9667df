"""Pages of participants and of the console in a browser: accessible, also on a phone."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from cheaptalk.web import (
    Laboratory,
    LaboratoryDatabase,
    listen,
    make_laboratory,
    own_address,
    serve_app,
)
from tests.reports.browser import Tab, browse
from tests.web.console.office import PASSWORD, QUICK
from tests.web.laboratory.lab import STUDY, TEXT
from tests.web.participants.comers import Comer, Open
from tests.web.served import running
from tests.web.test_in_browser import AXE, TOO_WIDE, violations
from tests.web.walker import LINKS

pytestmark = pytest.mark.browser
PROBLEM = "document.getElementById('p-games.0.values.money')"
UNNAMED = """[...document.querySelectorAll("input:not([type=hidden]), textarea, select")]
  .filter(one => !one.labels.length).map(one => one.name).join()"""


@asynccontextmanager
async def served_laboratory(folder: Path) -> AsyncIterator[tuple[Laboratory, str]]:
    """Serve a laboratory with an owner; yield it and its address."""
    with listen(0) as listener, LaboratoryDatabase(folder) as database:
        address = own_address(listener)
        async with Laboratory(folder, database, LINKS, address) as laboratory:
            database.staff.create_owner("owner", QUICK.hash(PASSWORD))
            async with running(serve_app(make_laboratory(laboratory), listener, address)):
                yield laboratory, address.url


async def log_in(tab: Tab, console: str) -> None:
    await tab.visit(f"{console}/login")
    for name, text in (("name", "owner"), ("password", PASSWORD)):
        await tab.run(f"document.querySelector('main [name={name}]').value = '{text}'")
    await tab.run("document.querySelector('main form').requestSubmit()")
    await tab.until("!document.querySelector('main [name=password]')")


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: npm install axe-core")
def test_pages_of_a_study_with_people_are_accessible(tmp_path: Path) -> None:
    async def visit(tab: Tab) -> None:
        async with served_laboratory(tmp_path) as (laboratory, url):
            laboratory.database.drafts.create(STUDY.name, TEXT, "owner")
            await laboratory.launch(STUDY.name, TEXT)
            async with httpx2.AsyncClient(base_url=url, timeout=60) as client:
                comer = Comer(Open(laboratory.supervisor(STUDY.name), client), "ann")
                await take_part(tab, comer, f"{url}/s/{STUDY.name}")
                await check_console(tab, f"{url}/console", comer.code)
            await tab.send("Page.navigate", url="about:blank")

    browse(tmp_path, visit)


async def take_part(tab: Tab, comer: Comer, base: str) -> None:
    problems = await violations(tab, f"{base}/?PROLIFIC_PID=ann", 390, "light")
    entered = await comer.site.client.post(f"{base}/enter", data={"known_by": "ann"})
    comer.path = entered.headers["location"]
    await comer.look()
    stops = set[str]()
    while not comer.page.ending:
        stop = type(comer.participant.journey.stop).__name__ + comer.participant.journey.stop.name
        if stop not in stops and comer.page.forms:
            stops.add(stop)
            problems += await check_page(tab, base.partition("/s/")[0] + comer.path)
        await comer.step()
    problems += await check_page(tab, base.partition("/s/")[0] + comer.path)
    assert problems == []
    assert len(stops) >= 3


async def check_console(tab: Tab, console: str, code: str) -> None:
    await log_in(tab, console)
    problems = []
    study = f"{console}/studies/{STUDY.name}"
    tabs = ("overview", "design", "participants", "matches", "pay", "data", "log", "delete")
    pages = [f"{study}/{tab}" for tab in tabs] + [f"{study}/participants/{code}"]
    for page in [*pages, f"{study}/participants/{code}/erase", f"{console}/", f"{console}/start"]:
        problems += await check_page(tab, page)
    assert problems == []


async def check_page(tab: Tab, address: str) -> list[str]:
    """Return the problems of a page on a phone, in light and dark mode."""
    return [
        f"{address}, {scheme}: {violation}"
        for scheme in ("light", "dark")
        for violation in await violations(tab, address, 390, scheme)
    ]


@pytest.mark.parametrize("width", [390, 1280])
def test_study_form_updates_counts_and_adds_rows_without_a_reload(
    tmp_path: Path, width: int
) -> None:
    async def visit(tab: Tab) -> None:
        async with served_laboratory(tmp_path) as (_, url):
            await log_in(tab, f"{url}/console")
            await tab.visit(f"{url}/console/form", width)
            await tab.run("window.same = true")
            await write(tab, "name", "pilot")
            await tab.run("document.querySelector('[value=add-games]').click()")
            await tab.until("document.activeElement.id == 'f-games.0.values.money'")
            await tab.write("100, -5")
            await tab.until(f"{PROBLEM}?.textContent.startsWith('Should be greater than 0')")
            await write(tab, "games.0.values.money", "100, 500, 900")
            await tab.until(f"{PROBLEM}.hidden && !document.querySelector('[aria-invalid]')")
            for number, name in enumerate(("fair", "firm")):
                await tab.run(
                    f"document.getElementById('f-players.{number}.kind').value = 'strategy'"
                )
                await write(tab, f"players.{number}.label", name)
                strategy = ("equal_split", "boulware")[number]
                await write(tab, f"players.{number}.name", strategy)
                await tab.run("document.querySelector('[value=add-players]').click()")
                await tab.until(f"!!document.getElementById('players.{number + 1}')")
            await tab.until("document.querySelector('.outlook .total b')?.textContent == '12'")
            assert await tab.run("document.getElementById('f-name').value") == "pilot"
            assert await tab.run("window.same"), "the page was loaded anew"
            assert await tab.run(TOO_WIDE) <= 0
            assert await tab.run(UNNAMED) == ""
            await tab.send("Page.navigate", url="about:blank")

    async def write(tab: Tab, field: str, text: str) -> None:
        await tab.run(f"(one => (one.focus(), one.select()))(document.getElementById('f-{field}'))")
        await tab.write(text)

    browse(tmp_path / "profile", visit)


def test_form_previews_reorders_and_restores_steps(tmp_path: Path) -> None:
    shown = "document.querySelector('.shown-step iframe').srcdoc.includes"
    names = "[...document.querySelectorAll('[data-step] > summary b')].map(b => b.textContent)"
    order = ("1. Consent,2. Instructions", "1. Instructions,2. Consent")
    drag = """(() => {
      const [first, second] = document.querySelectorAll('[data-step] > summary');
      for (const [place, type] of [[second, 'dragstart'], [first, 'dragover'], [first, 'drop']])
        place.dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true }));
    })()"""

    async def visit(tab: Tab) -> None:
        async with served_laboratory(tmp_path) as (_, url):
            await log_in(tab, f"{url}/console")
            await tab.visit(f"{url}/console/form?preset=trust", 1280)
            await tab.run("document.querySelector('[data-step]').open = true")
            await tab.until(f"{shown}('This study examines')")
            consent = "document.getElementById('f-people.path.0.text.en')"
            await tab.run(f"({consent}.focus(), {consent}.select())")
            await tab.write("Please read this.")
            await tab.until(f"{shown}('Please read this.')")
            await tab.run(drag)
            await tab.until(f"{names}.join().startsWith('{order[1]}')")
            await tab.run("document.querySelector('[data-undo]').click()")
            await tab.until(f"{names}.join().startsWith('{order[0]}')")
            assert await tab.run(f"{consent}.value") == "Please read this."
            await tab.send("Page.navigate", url="about:blank")

    browse(tmp_path / "profile", visit)
