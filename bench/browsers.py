"""Pages of rooms in Chromium, played by clicking; run by a Python that has playwright.

    python bench/browsers.py URL PAGES THINK

prints as its last line what it saw, as JSON. Every page plays a match of public goods to its end.
"""

import asyncio
import json
import random
import shutil
import sys
import time
from typing import Any

from playwright.async_api import Page, async_playwright

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
LONGEST = 120_000
"""Milliseconds that anything may take."""


async def click(page: Page, selector: str, think: float, luck: random.Random) -> float:
    """Think, click, and wait for the next page; the seconds that it took to stand."""
    await asyncio.sleep(luck.expovariate(1 / think))
    began = time.perf_counter()
    async with page.expect_navigation(wait_until="load", timeout=LONGEST):
        await page.click(selector, timeout=LONGEST)
    return time.perf_counter() - began


async def play(
    page: Page, url: str, think: float, luck: random.Random, told: dict[str, Any]
) -> None:
    """Play a match by clicking."""
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    await page.goto(f"{url}games/public_goods", timeout=LONGEST)
    told["seconds"].append(await click(page, "form[action='/open'] button", think, luck))
    while True:
        await page.wait_for_selector("form.answer, .earned", timeout=LONGEST)
        if await page.query_selector(".earned"):
            break
        await page.fill("form.answer input[name=tokens_contributed]", str(luck.randint(0, 20)))
        told["seconds"].append(await click(page, "form.answer button", think, luck))
    told["matches"] += 1
    told["errors"] += len(errors)


async def main(url: str, pages: int, think: float) -> None:
    """Open so many pages at once."""
    told: dict[str, Any] = {"seconds": [], "matches": 0, "errors": 0}
    path = next(filter(None, map(shutil.which, CHROMIUM)))
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=path, args=FLAGS)
        opened = [await browser.new_page() for _ in range(pages)]
        playing = [
            play(page, url, think, random.Random(number), told)  # noqa: S311 - luck keeps no secrets
            for number, page in enumerate(opened)
        ]
        for outcome in await asyncio.gather(*playing, return_exceptions=True):
            if isinstance(outcome, BaseException):
                told["errors"] += 1
                print(outcome, file=sys.stderr)
        await browser.close()
    seconds = sorted(told.pop("seconds"))
    told |= {"clicks": len(seconds), "p95": seconds[int(0.95 * (len(seconds) - 1))]}
    print(json.dumps(told))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))
