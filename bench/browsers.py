"""Load test that plays matches in Chromium pages; run it with a Python that has Playwright.

    python bench/browsers.py URL PAGES THINK

Each page plays a match of the public goods game. The last line of the output is a JSON object with
the number of clicks, matches and errors, and the 95th percentile of the page load times.
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
TIMEOUT = 120_000
"""Timeout of each browser operation, in milliseconds."""


async def click(page: Page, selector: str, think: float, rng: random.Random) -> float:
    """Pause, click, and return the seconds until the next page has loaded."""
    await asyncio.sleep(rng.expovariate(1 / think))
    began = time.perf_counter()
    async with page.expect_navigation(wait_until="load", timeout=TIMEOUT):
        await page.click(selector, timeout=TIMEOUT)
    return time.perf_counter() - began


async def play(
    page: Page, url: str, think: float, rng: random.Random, results: dict[str, Any]
) -> None:
    """Play a match by clicking, and add its timings, matches and errors to ``results``."""
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    await page.goto(f"{url}games/public_goods", timeout=TIMEOUT)
    results["seconds"].append(await click(page, "form[action='/open'] button", think, rng))
    while True:
        await page.wait_for_selector("form.answer, .earned", timeout=TIMEOUT)
        if await page.query_selector(".earned"):
            break
        await page.fill("form.answer input[name=tokens_contributed]", str(rng.randint(0, 20)))
        results["seconds"].append(await click(page, "form.answer button", think, rng))
    results["matches"] += 1
    results["errors"] += len(errors)


async def main(url: str, pages: int, think: float) -> None:
    """Play in ``pages`` pages concurrently and print the results."""
    results: dict[str, Any] = {"seconds": [], "matches": 0, "errors": 0}
    path = next(filter(None, map(shutil.which, CHROMIUM)))
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=path, args=FLAGS)
        opened = [await browser.new_page() for _ in range(pages)]
        playing = [
            play(page, url, think, random.Random(number), results)  # noqa: S311 - not for cryptography
            for number, page in enumerate(opened)
        ]
        for outcome in await asyncio.gather(*playing, return_exceptions=True):
            if isinstance(outcome, BaseException):
                results["errors"] += 1
                print(outcome, file=sys.stderr)
        await browser.close()
    seconds = sorted(results.pop("seconds"))
    results |= {"clicks": len(seconds), "p95": seconds[int(0.95 * (len(seconds) - 1))]}
    print(json.dumps(results))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))
