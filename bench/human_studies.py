"""People in Chromium on the paths of the papers' studies: how many come to their code, how soon.

Each has a window of their own, as narrow as a phone's, and clicks on whatever the page has, with
scripts in the places of models. Whoever comes to no end, or meets an error, counts as failed.
"""

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.papers.people import PRESCREENED, UNDERSTOOD, of_preset, scripted, visiting
from tests.reports.browser import CHROMIUM

from bench.rows import Row

PEOPLE = 30
NOTE = f"{PEOPLE} windows of Chromium on the server's own machine"


def rows() -> Iterator[Row]:
    """Each preset: people who came to their code, and how soon pages followed clicks."""
    if CHROMIUM is None:
        return
    for study, games, answers in (
        (scripted("glee-human"), 1, {}),
        (scripted("deal-or-no-deal-human"), 2, PRESCREENED),
        (of_preset("chip-trading-human"), 2, UNDERSTOOD),
    ):
        with tempfile.TemporaryDirectory() as name:
            came = visiting(Path(name), study, PEOPLE, games, answers)
        fine = [
            one.page.ending == "complete" and bool(one.page.code)
            and not (one.failure or one.tab.complaints or one.wide)
            for one in came
        ]  # fmt: skip
        for one in came:
            if one.failure:
                print(one.name, repr(one.failure)[:300])
            if one.tab.complaints:
                print(one.name, one.tab.complaints[:3])
            if one.page.ending != "complete":
                print(one.name, one.page.ending, one.page.words[-300:])
        yield Row(f"{study.name}: people with their code", sum(fine), "of 30", (">=", PEOPLE), NOTE)
        seconds = [second for one in came for second in one.seconds]
        ms = 1_000 * statistics.quantiles(seconds, n=20)[-1]
        yield Row(
            f"{study.name}: page after a click, p95", ms, "ms", None, f"{len(seconds)} clicks"
        )
