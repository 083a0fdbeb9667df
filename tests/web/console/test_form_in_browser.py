"""The form of a study in a browser: live counts, and rows that are added without a reload."""

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest
import uvicorn

from cheaptalk.loopback import HOST
from cheaptalk.web import listen
from tests.reports.browser import Tab, browse
from tests.web.console.form_preview import make_form_preview

pytestmark = pytest.mark.browser

TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
PROBLEM = "document.getElementById('p-games.0.values.money')"
UNNAMED = """[...document.querySelectorAll("input:not([type=hidden]), textarea, select")]
  .filter(one => !one.labels.length).map(one => one.name).join()"""


@pytest.mark.parametrize("width", [390, 1280])
def test_counts_update_and_rows_are_added_without_a_reload(tmp_path: Path, width: int) -> None:
    async def fill_in(tab: Tab) -> None:
        with listen(0) as listener:
            config = uvicorn.Config(make_form_preview(), log_level="warning")
            server = uvicorn.Server(config)
            running = asyncio.create_task(server.serve(sockets=[listener]))
            await tab.visit(f"http://{HOST}:{listener.getsockname()[1]}/form", width)
            await steps(tab)
            await tab.send("Page.navigate", url="about:blank")
            server.should_exit = True
            with suppress(asyncio.CancelledError):
                await running

    async def steps(tab: Tab) -> None:
        await tab.run("window.same = true")
        await write(tab, "name", "pilot")
        await tab.run("document.querySelector('[value=add-games]').click()")
        await tab.until("document.activeElement.id == 'f-games.0.values.money'")
        await tab.write("100, -5")
        await tab.until(f"{PROBLEM}?.textContent.startsWith('Should be greater than 0')")
        await write(tab, "games.0.values.money", "100, 500, 900")
        await tab.until(f"{PROBLEM}.hidden && !document.querySelector('[aria-invalid]')")
        for number, name in enumerate(("fair", "firm")):
            await tab.run(f"document.getElementById('f-players.{number}.kind').value = 'strategy'")
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

    async def write(tab: Tab, field: str, text: str) -> None:
        await tab.run(f"(one => (one.focus(), one.select()))(document.getElementById('f-{field}'))")
        await tab.write(text)

    browse(tmp_path / "profile", fill_in)
