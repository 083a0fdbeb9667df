"""Participation with only the keyboard: all kinds of answers, a game and its messages."""

from pathlib import Path

import pytest

from cheaptalk.studies.people.answers import KINDS
from tests.reports.browser import Tab, browse
from tests.web.keyboard import Keyboard
from tests.web.participants.comers import BOT, people_study
from tests.web.participants.test_questions import EVERY
from tests.web.served import served_experiment

pytestmark = pytest.mark.browser
CONSENT = {"consent": {"text": "We play.", "statements": ["I am 18"]}}


@pytest.mark.parametrize("width", [390, 1280])
def test_participant_takes_part_by_keyboard(tmp_path: Path, width: int) -> None:
    async def visit(tab: Tab) -> None:
        study = people_study(BOT, path=[CONSENT, {"survey": EVERY}, {"games": {}}])
        async with served_experiment(tmp_path, study) as site:
            keyboard = Keyboard(tab, [])
            await tab.visit(f"{site.client.base_url}?PROLIFIC_PID=ann", width)
            await keyboard.activate("main form button")
            await keyboard.reach("[name=statement_0]")
            await tab.press("Space")
            await keyboard.activate("[name=agreed][value=yes]")
            await answer_every_kind(keyboard)
            (person,) = site.experiment.people.values()
            assert {name.partition(".")[0] for name in person.journey.responses[1].answer} == {
                *KINDS
            }
            await play(keyboard)
            assert person.ending == "complete"
            assert keyboard.hidden == []
            await tab.send("Page.navigate", url="about:blank")

    browse(tmp_path / "profile", visit)


async def answer_every_kind(keyboard: Keyboard) -> None:
    """Answer the survey, first without an answer to an item, which the page then shows."""
    tab = keyboard.tab
    await keyboard.fill("[name=text]", "abc")
    for radios in ("choices", "scale", "grid.a", "grid.b", "grid.c"):
        await keyboard.reach(f"[name='{radios}']")
        await tab.press("Space")
        await tab.press("ArrowDown")
        assert await tab.run(f"document.querySelector(\"[name='{radios}']:checked\") !== null")
    await keyboard.reach("[name='checkboxes.a']", "Shift+Tab")
    await tab.press("Space")
    await keyboard.fill("[name=number]", "9.5")
    await keyboard.reach("[type=range]")
    await tab.press("ArrowRight")
    for number, row in enumerate("abc", 1):
        await keyboard.reach(f"[name='ranking.{row}']")
        for _ in range(number):
            await tab.press("ArrowDown")
    await keyboard.fill("[name='allocation.a']", "4")
    await keyboard.fill("[name='allocation.b']", "6")
    await keyboard.reach("[type=date]")
    for digit in "05172000":
        await tab.press(digit)
    await keyboard.activate("main form .row button")


async def play(keyboard: Keyboard) -> None:
    """Play until the end of the game, with a message in every offer, and finish."""
    tab = keyboard.tab
    for _ in range(10):
        await tab.until(
            "document.querySelector('.turn.now form.answer, form[action$=\"/done\"]') !== null"
        )
        if await tab.run("document.querySelector('.turn.now form.answer') === null"):
            break
        if await tab.run("document.querySelector('#f-message') !== null"):
            await keyboard.fill("#f-alice_gain", "50")
            await keyboard.fill("#f-message", "Half each?")
            await keyboard.reach("form.answer button:not([type=button])")
        else:
            await keyboard.reach("form.answer button, form.answer [type=radio]")
        key = await tab.run("document.querySelector('.turn').dataset.question")
        await tab.press("Enter")
        await tab.until(f"document.querySelector('.turn')?.dataset.question !== {key!r}")
    await keyboard.activate("form[action$='/done'] button")
