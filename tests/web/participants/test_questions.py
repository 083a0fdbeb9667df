"""Questions on participants' pages: every kind of answer, conditions, errors and own pages."""

import base64
import html
import json
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from cheaptalk.records import Store
from cheaptalk.studies import stored_study
from cheaptalk.studies.people.answers import KINDS
from cheaptalk.web.bots.pages import Page
from tests.reports.browser import Tab, browse
from tests.studies.people.test_answers import SETTINGS
from tests.web.participants.comers import BOT, Comer, Open, opened, people_study
from tests.web.participants.test_bots import run_bots
from tests.web.served import served_experiment
from tests.web.test_in_browser import AXE, BROKEN_LAWS, TOO_WIDE

PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 20
IMAGE = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
EVERY = [{"name": kind, "ask": f"About {kind}?", kind: SETTINGS[kind]} for kind in KINDS]
ANSWERS = {
    "text": "abc", "choices": "no", "checkboxes.a": "1", "scale": "2", "grid.a": "1",
    "grid.b": "2", "grid.c": "1", "number": "9.5", "slider": "5", "ranking.a": "3",
    "ranking.b": "1", "ranking.c": "2", "allocation.a": "4", "allocation.b": "6",
    "date": "2000-05-17",
}  # fmt: skip
"""A valid answer to every kind of question."""


def site(folder: Path, *path: Any, **changes: Any) -> AbstractAsyncContextManager[Open]:
    return opened(folder, people_study(BOT, path=[*path, {"games": {}}], **changes))


async def send(comer: Comer, fields: Mapping[str, str]) -> httpx2.Response:
    number = str(len(comer.participant.journey.responses))
    sent = await comer.send("page", {"page-number": number, **fields})
    assert sent.status_code == 303, sent.text
    return await comer.site.client.get(comer.path)


async def test_every_kind_of_answer_is_recorded(tmp_path: Path) -> None:
    async with site(tmp_path, {"survey": EVERY}) as study:
        comer = await study.enter("ann")
        await send(comer, ANSWERS)
        assert comer.participant.journey.responses[0].answer == {
            "text": "abc", "choices": "no", "checkboxes.a": 1, "checkboxes.b": 0,
            "checkboxes.c": 0, "scale": 2, "grid.a": 1, "grid.b": 2, "grid.c": 1, "number": 9.5,
            "slider": 5.0, "ranking.a": 3, "ranking.b": 1, "ranking.c": 2, "allocation.a": 4.0,
            "allocation.b": 6.0, "allocation.c": 0.0, "date": "2000-05-17",
        }  # fmt: skip


async def test_rejected_page_keeps_all_input(tmp_path: Path) -> None:
    async with site(tmp_path, {"survey": EVERY}) as study:
        comer = await study.enter("ann")
        page = Page((await send(comer, ANSWERS | {"date": "2001-01-01"})).text)
        assert "Please enter a date within the allowed range." in page.words
        assert comer.participant.journey.responses == []
        text = (await study.client.get(comer.path)).text
        for field in ('value="abc"', 'value="9.5"', 'value="5"', 'value="2001-01-01"'):
            assert field in text
        for name, value in ANSWERS.items():
            if name.startswith(("choices", "checkboxes", "scale", "grid")):
                assert f'name="{name}" value="{value}" checked' in text
            if name.startswith("ranking"):
                select = text.partition(f'name="{name}"')[2].partition("</select>")[0]
                assert f'value="{value}" selected' in select


async def test_typed_amounts_follow_the_language_of_the_page(tmp_path: Path) -> None:
    money = {"rows": ["a", "b"], "total": 1_000.5, "decimals": 1}
    item = {"name": "split", "ask": "Divide.", "allocation": money, "correct": {"a": 1_000}}
    async with site(tmp_path, {"comprehension": {"items": [item], "tries": 3}}) as study:
        comer = await study.enter("ann")
        for split in ({"split.a": "1000.5"}, {"split.a": "999,5", "split.b": "1"}):
            fields = {"page-number": "0", **split}
            await study.client.post(f"{comer.path}/page?lang=de", data=fields)
        (response,) = comer.participant.journey.responses
        assert (response.answer, response.correct) == ({"split.a": 999.5, "split.b": 1.0}, False)


async def test_answers_to_correct_questions_are_kept_for_the_next_attempt(tmp_path: Path) -> None:
    items = [
        {"name": "rank", "ask": "?", "ranking": ["a", "b"], "correct": ["b", "a"]},
        {"name": "media", "ask": "?", "checkboxes": ["a", "b"], "correct": ["a"]},
        {"name": "word", "ask": "?", "correct": "maple"},
    ]
    async with site(tmp_path, {"comprehension": items}) as study:
        comer = await study.enter("ann")
        answers = {"rank.a": "2", "rank.b": "1", "media.b": "1", "word": "oak"}
        text = (await send(comer, answers)).text
        assert 'name="word" aria-labelledby="q-word" maxlength="5000"' in text
        assert text.count('value="" required') == 1
        assert text.count('value="2" selected') == 1
        assert 'name="media.b" value="1" checked' not in text


async def test_hostile_fields_are_rejected_or_ignored(tmp_path: Path) -> None:
    async with site(tmp_path, {"survey": EVERY}) as study:
        comer = await study.enter("ann")
        for field, value in (
            ("choices", "perhaps"), ("checkboxes.a", "2"), ("grid.a", "99999999999"),
            ("ranking.a", "1.0"), ("allocation.a", "-4"), ("allocation.a", "1e1"),
            ("allocation.c", "٣"), ("slider", "inf"), ("date", "0000-00-00"),
            ("date", "2000-W01-1"), ("scale", "²"),
        ):  # fmt: skip
            await send(comer, ANSWERS | {field: value})
            assert comer.participant.journey.responses == [], field
        fields = ANSWERS | {"grid": "9", "ranking.d": "4", "student": "yes", "checkboxes": "1"}
        await send(comer, fields)
        response, *_ = comer.participant.journey.responses
        assert response.answer.keys() & {"grid", "ranking.d", "student", "checkboxes"} == set()


async def test_later_texts_show_earlier_answers_as_plain_text(tmp_path: Path) -> None:
    survey = {"survey": [
        {"name": "why", "ask": "Why?"}, {"name": "born", "ask": "Born?", "date": {}},
        {"name": "job", "ask": "Job?", "choices": [{"en": "teacher", "de": "Lehrkraft"}, "other"]},
        {"name": "age", "ask": "Age?", "number": {}, "optional": True},
    ]}  # fmt: skip
    debrief = {"debrief": "You: {why}, {job}, born {born}, {age}. {{why}}"}
    async with site(tmp_path, survey, debrief) as study:
        comer = await study.enter("ann")
        hostile = "*a* <script> [x](javascript:1) {job} {{born}}"
        fields = {"why": hostile, "born": "2001-05-17", "job": "teacher"}
        text = (await send(comer, fields)).text
        shown = "teacher, born May 17, 2001, \u2013. {why}</p>"
        assert f"<p>You: {html.escape(hostile)}, {shown}" in text
        german = (await study.client.get(f"{comer.path}?lang=de", follow_redirects=True)).text
        assert "Lehrkraft, born 17. Mai 2001" in german


async def test_dependent_questions_follow_on_a_second_page(tmp_path: Path) -> None:
    survey = {"survey": {"text": "Hello.", "items": [
        {"name": "student", "ask": "Student?", "choices": ["yes", "no"]},
        {"name": "subject", "ask": "Subject?", "when": {"student": "yes"}},
    ]}}  # fmt: skip
    async with site(tmp_path, survey) as study:
        for answer in ("yes", "no"):
            comer = await study.enter(answer)
            first = (await study.client.get(comer.path)).text
            assert ("Hello." in first, "Subject?" in first) == (True, False)
            second = (await send(comer, {"student": answer})).text
            assert ("Hello." in second, "Subject?" in second) == (False, answer == "yes")


GAMES = {"games": {"lobby": {"minutes": 0.0001, "substitutes": True}}}
OWN_PAGE = "<p>Before {{ values.base }}</p>{{ fields.fair }}{{ image('a.png', 'A') }}"


@pytest.mark.parametrize("template", ["own.jinja", OWN_PAGE])
async def test_own_page_asks_its_items_and_shows_errors(tmp_path: Path, template: str) -> None:
    step = {"page": {"template": template, "items": [{"name": "fair", "ask": "?", "scale": {}}]}}
    files = {"own.jinja": OWN_PAGE, "a.png": IMAGE}
    async with site(tmp_path, step, files=files) as study:
        comer = await study.enter("ann")
        text = (await send(comer, {"fair": "9"})).text
        assert "<p>Before $1.00</p>" in text
        assert "Please choose one of the options." in text
        await send(comer, {"fair": "7"})
        assert comer.participant.journey.responses[0].answer == {"fair": 7}


async def test_images_and_logo_come_from_the_study(tmp_path: Path) -> None:
    path = [{"consent": "See ![The scheme](a.png)."}, {"games": {}}]
    written = people_study(BOT, path=path, files={"a.png": IMAGE}, logo="a.png")
    async with opened(tmp_path, written):
        pass
    with Store.open(tmp_path / "s.sqlite") as store:
        stored = stored_study(store, written.name)
    for source in (written, stored):  # a restarted server shows the same images
        async with opened(tmp_path, source) as study:
            comer = await study.enter("ann")
            response = await study.client.get(comer.path)
            address = response.text.partition('<img class="logo" src="')[2].partition('"')[0]
            assert f'<img src="{address}" alt="The scheme">' in response.text
            assert "img-src 'self'" in response.headers["Content-Security-Policy"]
            image = await study.client.get(address)
            assert (image.content, image.headers["Content-Type"]) == (PNG, "image/png")
            assert "default-src 'none'" in image.headers["Content-Security-Policy"]
            assert "immutable" in image.headers["Cache-Control"]
            assert (await study.client.get("/images/b.png")).status_code == 404


async def test_bots_answer_every_kind_of_question(tmp_path: Path) -> None:
    items = [item for item in EVERY if item["name"] != "text"]  # its pattern is only on the server
    tally = await run_bots(tmp_path, {}, people=6, path=[{"survey": items}, GAMES])
    assert (tally.endings, tally.errors) == ({"complete": 6}, {})
    with Store.open(tmp_path / "s.sqlite") as store, store.reading() as connection:
        query = "select answer from responses where step = 'survey'"
        answers = [json.loads(row[0]) for row in connection.exec_driver_sql(query)]
    assert len({tuple(answer.values()) for answer in answers}) > 1


async def test_bot_gives_up_on_a_pattern_that_it_cannot_guess(tmp_path: Path) -> None:
    item = {"name": "code", "ask": "Code?", "text": {"pattern": "[0-9]{4}"}}
    path = [{"survey": [item]}, GAMES]
    lost = await run_bots(tmp_path, {}, people=1, path=path)
    assert [error[:42] for error in lost.errors] == ["cannot answer a page after 50 attempts: So"]
    told = await run_bots(tmp_path, {"code": "1234"}, people=1, seed=1, path=path)
    assert (told.endings, told.errors) == ({"complete": 1}, {})


@pytest.mark.browser
@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: npm install axe-core")
def test_every_kind_of_question_is_accessible_and_fits_phones(tmp_path: Path) -> None:
    problems: list[Any] = []

    async def visit(tab: Tab) -> None:
        study = people_study(BOT, path=[{"survey": EVERY}, {"games": {}}])
        async with served_experiment(tmp_path, study) as site:
            entered = await site.client.post("/enter", data={"known_by": "ann"})
            path = entered.headers["location"]
            for answers in ({}, ANSWERS | {"date": "2001-01-01", "ranking.a": "1"}):
                if answers:
                    await site.client.post(f"{path}/page", data={"page-number": "0", **answers})
                for width in (390, 1280):
                    await tab.visit(f"{site.client.base_url}".rstrip("/") + path, width)
                    await tab.run(AXE.read_text(encoding="utf-8") + ";0")
                    problems.extend(await tab.run(BROKEN_LAWS))
                    problems.extend(filter(None, [await tab.run(TOO_WIDE)]))
            await tab.send("Page.navigate", url="about:blank")

    browse(tmp_path / "profile", visit)
    assert problems == []
