"""Previews of human studies in the console: access, pages, and what they leave behind."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import unescape
from pathlib import Path
from typing import NamedTuple

import httpx2
import yaml

from cheaptalk.rules.errors import Problem
from cheaptalk.studies.study import Study, StudyError
from cheaptalk.web.console.preview_pages import problems_of
from cheaptalk.web.laboratory.database import LaboratoryDatabase
from cheaptalk.web.laboratory.laboratory import Laboratory
from cheaptalk.web.laboratory.staff import Role
from cheaptalk.web.previews.preview import Preview
from cheaptalk.web.previews.previews import FOLDER, IDLE_SECONDS
from tests.web.console.office import ROOT, Browser, Clock, Office
from tests.web.console.test_study_form import PostedForm
from tests.web.participants.comers import people_study
from tests.web.walker import LINKS

FRAME = re.compile(r'<iframe src="([^"]+)"')
KEY = re.compile(r"/preview/([\w-]+)")
STUDY = people_study()


class Place(NamedTuple):
    laboratory: Laboratory
    office: Office

    @property
    def previews(self) -> list[Preview]:
        return [opened.preview for opened in self.laboratory.previews._open.values()]

    def save(self, study: Study, name: str = "") -> str:
        """Save a study as a draft, and return its text."""
        data = study.model_dump(mode="json", exclude_defaults=True)
        text = yaml.safe_dump(data | {"name": name or study.name}, sort_keys=False)
        self.office.database.drafts.create(name or study.name, text, "owner")
        return text


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Place]:
    clock = Clock()
    with LaboratoryDatabase(folder, clock) as database:
        async with Laboratory(folder, database, LINKS) as laboratory:
            yield Place(laboratory, Office(laboratory, clock))


async def preview(browser: Browser, text: str, name: str = "people", **fields: str) -> str:
    """Open a preview, and return its page."""
    fields = {"name": name, "text": text, "do": "open", **fields}
    sent = await browser.post("/preview", "/account", **fields)
    return await browser.follow(sent)


async def move(browser: Browser, page: str, **fields: str) -> str:
    """Press a button of a preview's page, and return the next page."""
    key = KEY.search(page)
    assert key is not None
    return await browser.follow(await browser.post(f"/preview/{key[1]}", "/account", **fields))


async def frames(browser: Browser, page: str) -> list[httpx2.Response]:
    return [await browser.client.get(unescape(path)) for path in FRAME.findall(page)]


async def test_researcher_plays_both_seats_and_nothing_remains(tmp_path: Path) -> None:
    async with opened(tmp_path) as place:
        browser, text = await place.office.log_in_as(Role.OWNER), place.save(STUDY)
        before = sorted(path.name for path in tmp_path.iterdir())
        page = await preview(browser, text, own="2")
        consents = await frames(browser, page)
        assert [consent.status_code for consent in consents] == [200, 200]
        for consent in consents:
            assert "We play." in consent.text
            assert "Preview: nothing is stored" in consent.text
            assert consent.headers["x-frame-options"] == "SAMEORIGIN"
            assert "frame-ancestors 'self'" in consent.headers["content-security-policy"]
        for seat in ("1", "2"):
            page = await move(browser, page, seat=seat, do="go", step="games")
        (room,) = place.previews[0].experiment.room_manager.rooms.values()
        while not any(session.open for session in room.seat_sessions.values()):
            await asyncio.sleep(0)
        turns = [">Your turn<" in frame.text for frame in await frames(browser, page)]
        assert sorted(turns) == [False, True]
        assert len(place.previews[0].experiment.people) == 2
        key = KEY.search(page)
        assert key is not None
        closed = await browser.post(f"/preview/{key[1]}", "/account", do="close")
        assert "The preview was closed" in await browser.follow(closed)
        assert [*(tmp_path / FOLDER).iterdir()] == []
        after = sorted(path.name for path in tmp_path.iterdir() if path.name != FOLDER)
        assert after == before
        deeds = [entry.deed for entry in place.office.database.audit.page("people")]
        assert deeds == ["previewed", "study created"]
        assert (await browser.get(f"/preview/{key[1]}")).status_code == 410
        assert [frame.status_code for frame in await frames(browser, page)] == [410, 410]


async def test_bots_play_the_other_seats_until_the_end(tmp_path: Path) -> None:
    async with opened(tmp_path) as place:
        browser, text = await place.office.log_in_as(Role.OWNER), place.save(STUDY)
        page = await preview(browser, text, start="games", seat="bob")
        (person,) = [place.previews[0].person(code) for code in place.previews[0].own]
        assert person is not None
        assert person.plays[1]["seat"] == "bob"
        for _ in range(4):
            page = await move(browser, page, seat="1", do="next")
        assert person.ending == "complete"
        assert "Thank you for taking part" in (await frames(browser, page))[0].text


async def test_step_back_keeps_the_earlier_answers(tmp_path: Path) -> None:
    survey = {"survey": {"name": "first", "items": [{"name": "age", "ask": "Age", "number": {}}]}}
    debrief = {"debrief": {"text": "Bye.", "when": {"age": {"max": 20}}}}
    path = [survey, {"games": 1}, debrief]
    async with opened(tmp_path) as place:
        browser = await place.office.log_in_as(Role.OWNER)
        text = place.save(people_study([["people", "bot"]], path=path))
        page = await preview(browser, text)
        (form,) = await frames(browser, page)
        link = unescape(FRAME.findall(page)[0])
        await browser.client.post(f"{link}/page", data={"page-number": "0", "age": "19"})
        page = await move(browser, page, seat="1", do="go", step="debrief")
        page = await move(browser, page, seat="1", do="back")
        (person,) = [place.previews[0].person(code) for code in place.previews[0].own]
        assert person is not None
        assert person.journey.stop.name == "games"
        assert person.journey.values["age"] == 19
        assert "Age" in form.text


async def test_only_researchers_see_previews_until_they_expire(tmp_path: Path) -> None:
    async with opened(tmp_path) as place:
        office, text = place.office, place.save(STUDY)
        owner = await office.log_in_as(Role.OWNER)
        colleague = await office.log_in_as(Role.RESEARCHER)
        page = await preview(owner, text)
        (path,) = map(unescape, FRAME.findall(page))
        for browser, status in (
            (owner, 200), (colleague, 200), (office.browser(), 403),
            (await office.log_in_as(Role.VIEWER), 403),
        ):  # fmt: skip
            assert (await browser.client.get(path)).status_code == status
        previews = place.laboratory.previews
        start = previews.now()
        previews.now = lambda: start + 2 * IDLE_SECONDS
        assert (await owner.client.get(path)).status_code == 410


async def test_launched_study_is_not_affected(tmp_path: Path) -> None:
    async with opened(tmp_path) as place:
        browser, text = await place.office.log_in_as(Role.OWNER), place.save(STUDY)
        await place.laboratory.launch("people", text)
        experiment = place.laboratory.supervisor("people").experiment
        files = [path for path in tmp_path.glob("people*") if path.is_file()]
        before = [path.read_bytes() for path in files]
        await preview(browser, text, own="2", start="survey")
        assert experiment.people == {}
        assert experiment.quotas.filled.total() == 0
        assert [path.read_bytes() for path in files] == before


async def test_invalid_designs_are_refused_in_sentences(tmp_path: Path) -> None:
    async with opened(tmp_path) as place:
        browser, text = await place.office.log_in_as(Role.OWNER), place.save(STUDY)
        wrong = text.replace("seed: 1", "seed: x").replace("instances: 10", "instances: 0")
        refused = await browser.post("/preview", "/account", name="people", text=wrong, do="open")
        assert refused.status_code == 400
        assert "This design cannot be previewed." in refused.text
        assert "Instances: " in refused.text
        seats = await browser.post(
            "/preview", "/account", name="people", text=text, do="open", own="9"
        )
        assert "You can&#39;t play 9 seats of this study" in seats.text
        assert place.previews == []


async def test_unsaved_study_form_is_previewed(tmp_path: Path) -> None:
    async with opened(tmp_path) as place:
        browser = await place.office.log_in_as(Role.OWNER)
        place.save(STUDY)
        form = dict(PostedForm((await browser.get("/form?change=people")).text).pairs)
        fields = form | {"name": "unsaved", "do": "preview"}
        settings = (await browser.client.post(f"{ROOT}/form", data=fields)).text
        assert "Preview of unsaved" in settings
        posted = PostedForm(settings)
        page = await browser.client.post(
            f"{ROOT}/preview", data=dict(posted.pairs) | {"do": "open"}
        )
        assert "We play." in (await frames(browser, await browser.follow(page)))[0].text
        assert [draft.name for draft in place.office.database.drafts.page()] == ["people"]


async def test_an_account_has_a_limited_number_of_previews(tmp_path: Path) -> None:
    async with opened(tmp_path) as place:
        browser = await place.office.log_in_as(Role.OWNER)
        for name in ("a", "b", "c"):
            await preview(browser, place.save(STUDY, name), name)
        await preview(browser, place.office.database.drafts.read("a").text, "a")
        assert len(place.previews) == 3
        text = place.save(STUDY, "d")
        refused = await browser.post("/preview", "/account", name="d", text=text, do="open")
        assert refused.status_code == 409
        assert "You have open previews of a, b, c; close one of them first." in refused.text


def test_each_problem_of_a_design_is_one_sentence() -> None:
    (problem,) = problems_of(ValueError("secret"), "x")
    assert problem.startswith("The design cannot be read (ValueError); ")
    assert problem.endswith("server's log for details.")
    several = StudyError.of([Problem(("seed",), "x", "is odd"), Problem((), "x", "is empty")])
    assert problems_of(several, "x") == ["Seed: is odd.", "Is empty."]


async def test_chats_and_waiting_rooms_have_no_time_limit_unless_chosen(tmp_path: Path) -> None:
    chat = {"when": "before", "seconds": 2}
    games = [{"game": "bargaining", "fixed": {"horizon": 2, "money": 100, "chat": chat}}]
    async with opened(tmp_path) as place:
        browser = await place.office.log_in_as(Role.OWNER)
        text = place.save(people_study([["people", "bot"]], games=games))
        for fields, is_held in (({}, True), ({"timed": "on"}, False)):
            page = await preview(browser, text, start="games", **fields)
            assert ("Nothing has a time limit" in page) is is_held
            shown = place.previews[-1]
            (room,) = shown.experiment.room_manager.rooms.values()
            async with asyncio.timeout(60):
                while room.chat is None or room.chat.phase is None:
                    await asyncio.sleep(0)
                phase, first = room.chat.phase, room.chat.phase.until
                while room.chat.phase is phase and phase.until < first + 0.5:
                    await asyncio.sleep(0.01)
            assert (room.chat.phase is phase) is is_held
