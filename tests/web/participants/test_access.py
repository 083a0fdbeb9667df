"""Accessibility of every kind of participants' page, on phones and desktops, light and dark."""

from pathlib import Path
from typing import get_args

import pytest

from cheaptalk.studies.people.protocol import Ending
from cheaptalk.studies.people.steps import Attention
from tests.reports.browser import Tab, browse
from tests.web.participants.comers import BOT, TWO, Comer, people_study
from tests.web.served import served_experiment
from tests.web.test_in_browser import AXE, findings

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: npm install axe-core"),
]
STEPS = [
    {"consent": {"text": "We play.", "statements": ["I am 18"]}},
    "first_name",
    {"instructions": {"pages": ["One **page**.", "Another page."]}},
    {"comprehension": [{"name": "sum", "ask": "What is 1 + 1?", "number": {}, "correct": 2}]},
    {"games": {"max": 2, "can_stop": True}},
    {"debrief": "Thank you."},
]


def test_pages_of_a_participant_are_accessible(tmp_path: Path) -> None:
    """From the entry to the end, with a wrong answer and the offer of another game."""
    problems: list[str] = []

    async def visit(tab: Tab) -> None:
        async with served_experiment(tmp_path, people_study(BOT, path=STEPS)) as site:
            url = str(site.client.base_url).rstrip("/")
            problems.extend(await findings(tab, f"{url}/?PROLIFIC_PID=ann"))
            comer, stops = await site.enter("ann"), set[str]()
            while not comer.page.ending:
                stop = f"{comer.participant.journey.stop}"
                if stop not in stops and comer.page.forms:
                    stops.add(stop)
                    problems.extend(
                        f"{stop} {item}" for item in await findings(tab, url + comer.path)
                    )
                await comer.step()
                if comer.page.problem or len(stops) > 3:
                    comer.answers["sum"] = "2"
            problems.extend(await findings(tab, url + comer.path))
            assert len(stops) >= len(STEPS)
            await tab.send("Page.navigate", url="about:blank")

    browse(tmp_path / "profile", visit)
    assert problems == []


def test_waiting_messages_endings_and_refusals_are_accessible(tmp_path: Path) -> None:
    problems: list[str] = []

    async def visit(tab: Tab) -> None:
        async with served_experiment(tmp_path, people_study(TWO)) as site:
            url = str(site.client.base_url).rstrip("/")

            async def check(path: str) -> None:
                problems.extend(f"{path} {item}" for item in await findings(tab, url + path))

            async def arrive(name: str) -> Comer:
                comer = await site.enter(name)
                site.client.cookies.clear()
                return comer

            for path in ("/", "/nowhere", "/p/forged"):
                await check(path)
            waiting = await arrive("ann")
            await waiting.until(lambda page: "Waiting for other players" in page.words)
            await check(waiting.path)
            await site.supervisor.send_message(waiting.participant, "Please continue.")
            await check(waiting.path)
            await waiting.step()
            await site.supervisor.prompt(waiting.participant, Attention())
            await check(waiting.path)
            for ending in get_args(Ending):
                comer = await arrive(ending)
                await site.supervisor.end(comer.participant, ending)
                await check(comer.path)
            await tab.send("Page.navigate", url="about:blank")

    browse(tmp_path / "profile", visit)
    assert problems == []
