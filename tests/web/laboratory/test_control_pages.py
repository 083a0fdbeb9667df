"""Researchers' control of participants in the console, also of several at once."""

import httpx2

from cheaptalk.web.bots.pages import Page
from tests.web.console.office import CSRF
from tests.web.laboratory.lab import Site

BASE = "/studies/people/participants"


async def words(lab: Site, response: httpx2.Response) -> str:
    page = await lab.client.get(response.headers["location"])
    return " ".join(Page(page.text).words.split())


async def test_researcher_pauses_extends_and_resumes_a_participant(lab: Site) -> None:
    await lab.open_study()
    await lab.log_in()
    ann = await lab.comer("ann")
    base = f"{BASE}/{ann.participant.code}"
    assert "is paused" in await words(lab, await lab.post(f"{base}/pause", base))
    assert ann.participant.pause is not None
    refused = await lab.post(f"{base}/advance", base)
    assert refused.status_code == 400
    assert "The participant is already paused." in (await lab.post(f"{base}/pause", base)).text
    await lab.post(f"{base}/resume", base)
    assert ann.participant.pause is None
    assert (await lab.post(f"{base}/extend", base, minutes="soon")).status_code == 400
    assert "Paused: " in (await lab.get(base)).text
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
    await lab.post(f"{BASE}/{ann.participant.code}/pause", BASE)
    listing = (await lab.get(BASE)).text
    assert listing.count('form="selected"') == 3
    form = CSRF.search(listing)
    assert form is not None
    codes = [ann.participant.code, bob.participant.code]
    sent = {"csrf": form[1], "code": codes, "action": "pause"}
    response = await lab.client.post(f"/console{BASE}/selected", data=sent)
    page = await words(lab, response)
    assert "Done for 1 of 2 participants." in page
    assert f"{ann.participant.code}: the participant is already paused" in page
    assert bob.participant.pause is not None
    assert cleo.participant.pause is None
