"""Pages of participants and of the console in a browser: accessible, also on a phone."""

import asyncio
from contextlib import suppress
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
from tests.web.test_in_browser import AXE, violations
from tests.web.walker import LINKS

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: npm install axe-core"),
]


def test_pages_of_a_study_with_people_are_accessible(tmp_path: Path) -> None:
    async def visit(tab: Tab) -> None:
        with listen(0) as lab, LaboratoryDatabase(tmp_path) as database:
            address = own_address(lab)
            async with Laboratory(tmp_path, database, LINKS, address) as laboratory:
                database.staff.create_owner("owner", QUICK.hash(PASSWORD))
                database.drafts.create(STUDY.name, TEXT, "owner")
                await laboratory.launch(STUDY.name, TEXT)
                app = make_laboratory(laboratory)
                serving = asyncio.create_task(serve_app(app, lab, address))
                async with httpx2.AsyncClient(base_url=address.url, timeout=60) as client:
                    comer = Comer(Open(laboratory.supervisor(STUDY.name), client), "ann")
                    await take_part(tab, comer, f"{address.url}/s/{STUDY.name}")
                    await check_console(tab, f"{address.url}/console", comer.code)
                await tab.send("Page.navigate", url="about:blank")
                serving.cancel()
                with suppress(asyncio.CancelledError):
                    await serving

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
    await tab.visit(f"{console}/login")
    for name, text in (("name", "owner"), ("password", PASSWORD)):
        await tab.run(f"document.querySelector('main [name={name}]').value = '{text}'")
    await tab.run("document.querySelector('main form').requestSubmit()")
    await tab.until("!document.querySelector('main [name=password]')")
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
