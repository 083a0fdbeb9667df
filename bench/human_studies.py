"""Simulated participants of the papers' human studies: completions and response times in Chromium.

Each participant has a separate window as narrow as a phone's screen and clicks through all pages.
Scripted players replace the models. A participant who does not complete the study, or whose page
reports an error, counts as failed.
"""

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.papers.people import PRESCREENED, UNDERSTOOD, of_preset, scripted, visiting
from tests.reports.browser import CHROMIUM

from bench.rows import Row

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
            visits = visiting(Path(name), study, PEOPLE, games, answers)
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
