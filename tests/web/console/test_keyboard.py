"""A whole study with only the keyboard, from the laboratory's set-up to the payment."""

import asyncio
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
from tests.web.keyboard import Keyboard
from tests.web.participants.comers import Comer, Open
from tests.web.served import running
from tests.web.walker import LINKS

pytestmark = pytest.mark.browser
CODE = "ABCD-EFGH-JKLM"
PLACES = "[name='people.recruitment.places']"
BASE = "[name='people.pay.base']"
DONE = "document.querySelector('.said')?.textContent"


@pytest.mark.parametrize("width", [390, 1280])
def test_researcher_runs_a_study_by_keyboard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setattr("cheaptalk.web.console.server.PasswordHasher", lambda: QUICK)

    async def visit(tab: Tab) -> None:
        with listen(0) as listener, LaboratoryDatabase(tmp_path) as database:
            address = own_address(listener)
            async with (
                Laboratory(tmp_path, database, LINKS, address) as laboratory,
                running(serve_app(make_laboratory(laboratory, CODE), listener, address)),
                httpx2.AsyncClient(base_url=address.url, timeout=60) as client,
            ):
                keyboard = Keyboard(tab, [])
                await tab.visit(f"{address.url}/console/", width)
                await set_up(keyboard)
                await launch(keyboard)
                await monitor(keyboard, laboratory, client)
                await pay(keyboard)
                entries = [entry.deed for entry in database.audit.page()]
                assert {"sent a message", "removed a participant", "paid out",
                        "downloaded a payout file"} <= {*entries}  # fmt: skip
                assert keyboard.hidden == []
                await tab.send("Page.navigate", url="about:blank")

    browse(tmp_path / "profile", visit)


async def set_up(keyboard: Keyboard) -> None:
    """Create the owner's account; as after every action, the notice has the focus."""
    await keyboard.fill("#f-code", CODE)
    await keyboard.fill("#f-name", "owner")
    await keyboard.fill("#f-password", PASSWORD)
    await keyboard.fill("#f-again", PASSWORD)
    await keyboard.activate("main form button")
    assert await keyboard.tab.run("document.activeElement.matches('.said')"), "no notice"


async def skip_menu(tab: Tab) -> None:
    """Use the first link of a page, which skips the menu."""
    await tab.press("Tab")
    assert await tab.run("document.activeElement.matches('.skip')")
    await tab.press("Enter")
    await tab.press("Tab")
    assert await tab.run("document.activeElement.closest('main') !== null")


async def launch(keyboard: Keyboard) -> None:
    """Create a study from a preset, change settings, correct an error, and launch the study."""
    tab = keyboard.tab
    await keyboard.activate("main a[href$='/start']")
    await skip_menu(tab)
    await keyboard.activate("a[href$='preset=trust']")
    await keyboard.fill("#f-name", "lending")
    await keyboard.open(PLACES)
    await keyboard.fill(PLACES, "many")
    await keyboard.activate("[name=do][value=save]")
    await keyboard.reach(".mend a")
    await tab.press("Enter")
    assert await tab.run(f"document.activeElement.matches({PLACES!r})"), "the error has no link"
    await keyboard.fill(PLACES, "4")
    await keyboard.open(BASE)
    await keyboard.fill(BASE, "2")
    await keyboard.activate("[name=do][value=save]")
    await keyboard.activate("a[href$='/launch']")
    await keyboard.activate("form[action$='/launch'] button", "Space")


async def monitor(keyboard: Keyboard, laboratory: Laboratory, client: httpx2.AsyncClient) -> None:
    """Message and remove one participant while two others complete the study."""
    tab, supervisor = keyboard.tab, laboratory.supervisor("lending")
    comers = [Comer(Open(supervisor, client), name) for name in ("ann", "bob", "cat")]
    for comer in comers:
        entered = await client.post("/s/lending/enter", data={"known_by": comer.name})
        client.cookies.clear()
        comer.path = entered.headers["location"]
        comer.answers |= {"tripled": "12", "investor": "11", "trustee": "17"}
        await comer.look()
    await asyncio.gather(*(comer.finish() for comer in comers[:2]))
    await keyboard.activate("a[aria-current='page']")
    await keyboard.activate(f"a[href$='{comers[2].code}']")
    await keyboard.reach("details.card > summary")
    await tab.press("Space")
    await keyboard.fill("textarea[name=text]", "Please continue.")
    await keyboard.activate("form[action$='/tell'] button")
    assert await tab.run(DONE) == "The message was sent."
    await keyboard.reach("details.card > summary")
    await tab.press("Enter")
    await keyboard.reach("details details > summary")
    await tab.press("Enter")
    await keyboard.activate("form[action$='/remove'] button")
    assert "removed" in await tab.run(DONE)


async def pay(keyboard: Keyboard) -> None:
    """Pay the participants, and download the file of the payout."""
    await keyboard.activate(".tabs a[href$='/pay']")

    await keyboard.reach("#f-form")
    await keyboard.activate("form[action$='/pay'] button")
    assert "Payout 1 was created" in await keyboard.tab.run(DONE)
    await keyboard.reach("a[href$='/pay/1/file']")
    await keyboard.tab.press("Enter")
    await keyboard.reach(".tabs a[href$='/log']", "Shift+Tab")
    await keyboard.activate(".tabs a[href$='/log']")
    await keyboard.tab.until("document.body.textContent.includes('downloaded a payout file')")
