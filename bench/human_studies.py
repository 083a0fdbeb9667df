"""Simulated participants of the papers' human studies: completions and response times in Chromium.

Each participant has a separate window as narrow as a phone's screen and clicks through all pages.
Scripted players replace the models. A participant who does not complete the study, or whose page
reports an error, counts as failed.
"""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.papers.people import PRESCREENED, UNDERSTOOD, Visitor, of_preset, scripted
from tests.reports.browser import CHROMIUM, Tab, browser
from tests.web.participants.comers import Open
from tests.web.served import served_experiment

from bench.rows import Row
from cheaptalk.studies.study import Study
from cheaptalk.web.bots.pages import Form

PEOPLE = 30
NOTE = f"{PEOPLE} Chromium windows on the server's machine"


def rows() -> Iterator[Row]:
    """Yield the completions and the response time of each preset."""
    if CHROMIUM is None:
        return
    for study, games, answers in (
        (scripted("glee-human"), 1, {}),
        (scripted("deal-or-no-deal-human"), 2, PRESCREENED),
        (of_preset("chip-trading-human"), 2, UNDERSTOOD),
    ):
        with tempfile.TemporaryDirectory() as name:
            visits = asyncio.run(_visits(Path(name), study, games, answers))
        completed = [
            visit.page.ending == "complete" and bool(visit.page.code)
            and not (visit.failure or visit.tab.complaints or visit.wide)
            for visit in visits
        ]  # fmt: skip
        for visit in visits:
            if visit.failure:
                print(visit.name, repr(visit.failure)[:300])
            if visit.tab.complaints:
                print(visit.name, visit.tab.complaints[:3])
            if visit.page.ending != "complete":
                print(visit.name, visit.page.ending, visit.page.words[-300:])
        title = f"{study.name}: participants with a completion code"
        yield Row(title, sum(completed), "of 30", (">=", PEOPLE), NOTE)
        seconds = [second for visit in visits for second in visit.seconds]
        ms = 1_000 * statistics.quantiles(seconds, n=20)[-1]
        yield Row(
            f"{study.name}: time from click to page, p95", ms, "ms", None, f"{len(seconds)} clicks"
        )


class TimedVisitor(Visitor):
    """A participant whose visit may fail.

    Attributes:
        seconds: time from each click to the next page.
        failure: exception that ended the visit.
    """

    def __init__(self, site: Open, name: str, tab: Tab, /, **answers: str) -> None:
        super().__init__(site, name, tab, **answers)
        self.seconds: list[float] = []
        self.failure: Exception | None = None

    async def take_part(self, games: int) -> None:
        try:
            await super().take_part(games)
        except Exception as failure:  # noqa: BLE001 - it is printed, and the others continue
            self.failure = failure

    async def submit(self, form: Form, fields: Any) -> bool:
        clicked = time.perf_counter()
        submitted = await super().submit(form, fields)
        if submitted:
            self.seconds.append(time.perf_counter() - clicked)
        return submitted


async def _visits(
    folder: Path, study: Study, games: int, answers: Mapping[str, str]
) -> list[TimedVisitor]:
    """Run participants concurrently, each in a window, until each has finished or failed."""
    async with served_experiment(folder, study) as site, browser(folder / "profile") as opened:
        visitors = [
            TimedVisitor(site, f"{study.name}-{number}", await opened.tab(), **answers)
            for number in range(PEOPLE)
        ]
        await asyncio.gather(*(visitor.take_part(games) for visitor in visitors))
        await asyncio.gather(
            *(visitor.tab.send("Page.navigate", url="about:blank") for visitor in visitors)
        )  # closes the pages' event streams
        return visitors
