"""Numbers that participants write in the language of their page."""

from pathlib import Path

import pytest

from cheaptalk.studies.people.items import Item
from tests.reports.browser import Tab, browse
from tests.web.participants.comers import BOT, opened, people_study
from tests.web.served import served_experiment

ITEM = {"name": "age", "ask": "How many?", "number": [0, 5_000], "correct": 1_500}
PATH = [{"comprehension": {"items": [ITEM], "tries": 5}}, {"games": {"max": 1}}]


async def test_numbers_are_parsed_in_the_language_of_the_page(tmp_path: Path) -> None:
    async with opened(tmp_path, people_study(BOT, path=PATH)) as site:
        for number, (language, written, recorded) in enumerate([
            ("de", "1.500", (1_500.0, True)), ("de", "7,5", (7.5, False)), ("de", "1,500", None),
            ("en", "1,500", (1_500.0, True)), ("en", "7.5", (7.5, False)), ("en", "1.500", None),
            ("en", "1_500", None), ("de", "1e3", None), ("en", "nan", None), ("en", "seven", None),
        ]):  # fmt: skip
            site.client.cookies.clear()
            entry = {"known_by": f"ann-{number}"}
            entered = await site.client.post(f"/enter?lang={language}", data=entry)
            path = entered.headers["location"].partition("?")[0]
            fields = {"page-number": "0", "age": written}
            sent = await site.client.post(f"{path}/page?lang={language}", data=fields)
            assert sent.status_code == 303, sent.text
            *_, participant = site.experiment.people.values()
            first = participant.journey.responses[:1]
            answers = [(response.answer["age"], response.correct) for response in first]
            assert answers == ([] if recorded is None else [recorded]), written
            message = {"age": "Please enter a number within the allowed range."}
            assert participant.problems == ({} if recorded else message)


@pytest.mark.browser
def test_browser_numbers_are_parsed_in_the_language_of_the_page(
    tmp_path: Path,
) -> None:
    async def visit(tab: Tab) -> None:
        async with served_experiment(tmp_path, people_study(BOT, path=PATH)) as site:
            entered = await site.client.post("/enter?lang=de", data={"known_by": "ann"})
            path = entered.headers["location"].partition("?")[0]
            await tab.visit(f"{site.client.base_url}".rstrip("/") + f"{path}?lang=de")
            field = "document.querySelector('input[name=age]')"
            problem = "Bitte geben Sie eine Zahl im zulässigen Bereich ein."
            for written in ("1_0", "1,500", "1500.0"):
                await tab.run(f"document.body.id = 'sent'; {field}.focus(); {field}.select()")
                await tab.write(written)
                await tab.press("Enter")
                await tab.until("document.readyState === 'complete' && document.body.id !== 'sent'")
                text = await tab.run("document.body.innerText")
                assert f"{problem} Schreiben Sie Zahlen in der Form 1.234,5." in text
                assert await tab.run(f"{field}.value") == written
            await tab.run(f"{field}.focus(); {field}.select()")
            await tab.write("1.500")
            await tab.press("Enter")
            await tab.until(f"!{field}")
            (participant,) = site.experiment.people.values()
            assert participant.journey.responses[0].answer["age"] == 1_500
            assert participant.journey.responses[0].correct
            await tab.send("Page.navigate", url="about:blank")

    browse(tmp_path / "profile", visit)


def test_correct_numbers_are_compared_numerically() -> None:
    item = Item.model_validate({"name": "a", "ask": "?", "number": [0, 200], "correct": 100})
    assert item.is_right(item.read({"a": "100"}))
    assert item.is_right(item.read({"a": "100.0"}))
    assert not item.is_right(item.read({"a": "100.5"}))
    assert item.problem({"a": "1_0"}) is not None


MOOD = {"name": "mood", "ask": "How is your mood?", "slider": {"min": 0, "max": 1, "step": 0.005}}


@pytest.mark.browser
@pytest.mark.parametrize("deed", ["press", "click"])
def test_slider_has_no_value_until_it_is_placed_also_at_its_lower_end(
    tmp_path: Path, deed: str
) -> None:
    field, line = "document.querySelector('[name=mood]')", "document.querySelector('[type=range]')"
    prompt = "document.querySelector('[data-prompt]')"

    async def visit(tab: Tab) -> None:
        study = people_study(BOT, path=[{"survey": [MOOD]}, {"games": {"max": 1}}])
        async with served_experiment(tmp_path, study) as site:
            entered = await site.client.post("/enter?lang=en", data={"known_by": "ann"})
            await tab.visit(f"{site.client.base_url}".rstrip("/") + entered.headers["location"])
            assert await tab.run(f"{field}.value") == ""
            assert await tab.run(f"!{prompt}.hidden && {prompt}.offsetHeight > 0")
            spoken = await tab.run(f"{line}.getAttribute('aria-valuetext')")
            assert spoken == await tab.run(f"{prompt}.textContent")
            if deed == "press":
                await tab.run(f"{line}.focus()")
                await tab.press("Home")
            else:
                await tab.run(f"{line}.click()")
            assert await tab.run(f"{field}.value") == "0"
            assert await tab.run(f"{prompt}.hidden && !{line}.hasAttribute('aria-valuetext')")
            await tab.run(f"{line}.value = 0.125; {line}.dispatchEvent(new Event('input'))")
            assert await tab.run(f"{field}.value") == "0.125"
            await tab.send("Page.navigate", url="about:blank")

    browse(tmp_path / "profile", visit)
