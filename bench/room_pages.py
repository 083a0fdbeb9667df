"""Sizes of the game pages, and the time to the first decision on a slow phone."""

import asyncio
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.reports.browser import CHROMIUM, Tab, browse
from tests.web.served import served
from tests.web.walker import Rooms, Walker

from bench.rows import Row

SLOW_4G = {
    "offline": False, "latency": 400, "downloadThroughput": 1.6e6 / 8,
    "uploadThroughput": 750e3 / 8,
}  # fmt: skip
"""Network conditions: latency in milliseconds, and throughput in bytes per second."""
CPU_SLOWDOWN = 4
"""Factor by which the CPU is slowed down."""
FILES = re.compile(r'(?:href|src)="(/static/[^"]+)"')
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
NOTE = "Chromium, latency 400 ms, 1.6 Mbit/s down, 750 kbit/s up, CPU 4x slower, empty cache"


def rows() -> Iterator[Row]:
    """Yield the size of each game's page, with style sheet and script, and the time to show it."""
    results: list[Row] = []

    async def visit(tab: Tab | None, folder: Path) -> None:
        async with served(folder) as rooms:
            for table_template in rooms.room_manager.table_templates.values():
                if len(table_template.human_seats) == 1 and table_template.human_seats[0] == next(
                    iter(table_template.game.seats)
                ):
                    walker = await rooms.sit(table_template)
                    page = await walker.until(">Your turn<", ">The game is over<")
                    size = await weight(rooms, page)
                    results.append(
                        Row(f"page size: {table_template.game.name}", size, "kB", ("<=", 60.0))
                    )
                    if tab is not None and ">Your turn<" in page:
                        seconds = await first_question(tab, rooms, walker)
                        title = f"time to first decision: {table_template.game.name}"
                        results.append(Row(title, seconds, "s", ("<=", 1.0), NOTE))

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if CHROMIUM is None:
            asyncio.run(visit(None, folder))
        else:
            browse(folder / "profile", lambda tab: visit(tab, folder))
    yield from results


async def weight(rooms: Rooms, page: str) -> float:
    """Return the size of a page and its static files in kilobytes."""
    files = [(await rooms.client.get(path)).content for path in FILES.findall(page)]
    return (len(page.encode()) + sum(map(len, files))) / 1_000


async def first_question(tab: Tab, rooms: Rooms, walker: Walker) -> float:
    """Return the seconds to the first paint, which shows the whole page with its form."""
    await tab.send("Page.navigate", url="about:blank")
    await tab.send("Network.enable")
    await tab.send("Network.clearBrowserCache")
    await tab.send("Network.emulateNetworkConditions", **SLOW_4G)
    await tab.send("Emulation.setCPUThrottlingRate", rate=CPU_SLOWDOWN)
    await tab.visit(f"{rooms.client.base_url}".rstrip("/") + walker.path, 360)
    await tab.until(f"{PAINTED} > 0 && document.querySelector('form.answer') !== null")
    return float(await tab.run(PAINTED)) / 1_000
