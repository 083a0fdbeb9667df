"""Researchers' control of participants in the console, also of several at once."""

import httpx2

from cheaptalk.web.bots.pages import Page
from tests.web.console.office import CSRF
from tests.web.laboratory.lab import Site
from tests.web.participants.comers import Comer

BASE = "/studies/people/participants"


async def words(lab: Site, response: httpx2.Response) -> str:
    page = await lab.client.get(response.headers["location"])
    return " ".join(Page(page.text).words.split())


async def act(lab: Site, action: str, *comers: Comer, **fields: str) -> httpx2.Response:
    form = CSRF.search((await lab.get(BASE)).text)
    assert form is not None
    codes = [comer.participant.code for comer in comers]
    sent = {"csrf": form[1], "code": codes, "action": action} | fields
    return await lab.client.post(f"/console{BASE}/act", data=sent)


async def test_researcher_pauses_extends_and_resumes_a_participant(lab: Site) -> None:
    await lab.open_study()
    await lab.log_in()
    ann = await lab.comer("ann")
    assert "Done for 1 participant." in await words(lab, await act(lab, "pause", ann))
    assert ann.participant.pause is not None
    assert (await act(lab, "advance", ann)).status_code == 400
    assert "The participant is already paused." in (await act(lab, "pause", ann)).text
    await act(lab, "resume", ann)
    assert ann.participant.pause is None
    assert (await act(lab, "extend", ann, minutes="soon")).status_code == 400
    assert "Paused: " in (await lab.get(f"{BASE}/{ann.participant.code}")).text
    log = (await lab.get("/studies/people/log")).text
    assert log.count("paused a participant") == log.count("resumed a participant") == 1


async def test_paused_study_pauses_all_and_admits_nobody(lab: Site) -> None:
    await lab.open_study()
    await lab.log_in()
    ann = await lab.comer("ann")
    page = await words(lab, await lab.post(f"{BASE}/pause", BASE))
    assert "All participants are paused." in page
    assert "Resume all participants" in page
    assert ann.participant.pause is not None
    await lab.post(f"{BASE}/resume", BASE)
    assert ann.participant.pause is None
    assert lab.laboratory.supervisor("people").experiment.suspended is None


async def test_action_on_selected_participants_reports_those_it_skipped(lab: Site) -> None:
    await lab.open_study()
    await lab.log_in()
    ann, bob, cleo = [await lab.comer(name) for name in ("ann", "bob", "cleo")]
    await act(lab, "pause", ann)
    assert (await lab.get(BASE)).text.count('form="selected"') == 3
    page = await words(lab, await act(lab, "pause", ann, bob))
    assert "Done for 1 of 2 participants." in page
    assert f"{ann.participant.code}: the participant is already paused" in page
    assert bob.participant.pause is not None
    assert cleo.participant.pause is None
    page = await words(lab, await act(lab, "tell", bob, cleo, text="We go on soon."))
    assert "Done for 2 participants." in page
    assert [comer.participant.notices[-1].text for comer in (bob, cleo)] == ["We go on soon."] * 2
    assert "1 of " in page, "the number of the step"
    assert "paused for 0:0" in page
