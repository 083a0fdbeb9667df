"""A laboratory end to end: a researcher in the console, participants on their pages."""

import time
from pathlib import Path

import httpx2
import pytest
import yaml

from cheaptalk.records.people.payouts import balance_of, pay_out
from cheaptalk.rules import CheaptalkError
from cheaptalk.web.bots.pages import Page
from tests.web.console.office import CSRF, PASSWORD, QUICK
from tests.web.laboratory.lab import STUDY, TEXT, Site, site
from tests.web.participants.comers import BOT, people_study


async def test_study_is_launched_completed_paid_once_and_erased(tmp_path: Path, lab: Site) -> None:
    await lab.log_in()
    await lab.post("/new-study", "/new-study", name=STUDY.name, text=TEXT)
    launched = await lab.post(f"/studies/{STUDY.name}/launch", version="1")
    assert launched.headers["location"].startswith("/console/studies/people/participants")
    ann, bob = await lab.participant("id-of-ann"), await lab.participant("id-of-bob")
    listing = (await lab.get("/studies/people/participants")).text
    assert {ann.code, bob.code} <= set(listing.replace("<", ">").split(">"))
    assert "id-of-ann" not in listing
    details = (await lab.get(f"/studies/people/participants/{ann.code}")).text
    assert "words of id-of-ann" in details

    overview = " ".join(Page((await lab.get("/studies/people/overview")).text).words.split())
    assert "2 completed, 0 active, 2 in total" in overview
    assert "USD, not yet paid out" in overview
    assert "2 completed" in (await lab.get("/")).text
    await lab.post("/studies/people/pay", form="prolific")
    first = (await lab.get("/studies/people/pay/1/file")).text
    assert {line.partition(",")[0] for line in first.splitlines()} <= {"id-of-ann", "id-of-bob"}
    again = await lab.post("/studies/people/pay", form="prolific")
    assert "There are no open payments" in (await lab.client.get(again.headers["location"])).text
    assert (await lab.get("/studies/people/pay/1/file")).text == first
    assert (await lab.get("/studies/people/pay/2/file")).status_code == 404

    await lab.post(f"/studies/people/participants/{ann.code}/erase")
    gone = (await lab.get(f"/studies/people/participants/{ann.code}")).status_code
    assert gone == 404
    contents = b"".join(item.read_bytes() for item in tmp_path.iterdir() if item.is_file())
    assert b"id-of-bob" in contents
    for trace in (b"id-of-ann", ann.code.encode(), b"words of id-of-ann"):
        assert trace not in contents


async def test_console_shows_a_participant_at_every_stop(lab: Site) -> None:
    before, after = [{"instructions": ["Read."]}], [{"survey": [{"name": "so", "ask": "So?"}]}]
    games = {"games": {"max": 2, "can_stop": True, "before": before, "after": after}}
    study = people_study(BOT, instances=5, path=[{"consent": "We play."}, games])
    text = yaml.safe_dump(study.model_dump(mode="json", exclude_defaults=True))
    await lab.open_study(text)
    await lab.log_in()
    ann, stops = await lab.comer("ann"), set[str]()
    while not ann.page.ending:
        stop = ann.participant.journey.stop.name
        for page in ("participants", f"participants/{ann.code}", "overview", "matches"):
            if stop not in stops:
                response = await lab.get(f"/studies/people/{page}")
                assert response.status_code == 200, (stop, page)
        stops.add(stop)
        await ann.step()
    assert stops >= {"consent", "instructions", "games", "survey", "go_on"}


async def test_participant_link_opens_no_console_page(lab: Site) -> None:
    await lab.open_study()
    lab.laboratory.database.staff.create_owner("owner", QUICK.hash(PASSWORD))
    ann = await lab.participant("ann")
    token = ann.token
    for path in ("participants", "pay", "matches", "data", "log", f"participants/{ann.code}"):
        for parameters in ({}, {"me": token}, {"token": token}):
            response = await ann.site.client.get(
                f"/console/studies/people/{path}", params=parameters
            )
            assert response.status_code == 303
            assert "/console/login" in response.headers["location"]
    deed = await ann.site.client.post("/console/studies/people/participants/recruit")
    assert deed.status_code == 403
    assert lab.laboratory.supervisor("people").experiment.state == "open"


async def test_closed_paused_and_unknown_studies_return_an_error_page(lab: Site) -> None:
    await lab.laboratory.launch(STUDY.name, TEXT)
    supervisor = lab.laboratory.supervisor("people")
    for state, status in (("closed", 410), ("paused", 503)):
        await supervisor.recruit(state)
        refused = await lab.client.post("/s/people/enter", data={"known_by": "late"})
        assert refused.status_code == status
        assert "study" in Page(refused.text).words
    assert (await lab.client.get("/s/nothing/")).status_code == 404
    location = (await lab.client.get("/s/people?PROLIFIC_PID=x")).headers["location"]
    assert location == "/s/people/?PROLIFIC_PID=x"


async def test_study_with_participants_cannot_be_changed(tmp_path: Path) -> None:
    async with site(tmp_path) as lab:
        await lab.laboratory.launch(STUDY.name, TEXT)
        await lab.laboratory.launch(STUDY.name, TEXT.replace("instances: 5", "instances: 6"))
        ann = await lab.participant("ann")
        with pytest.raises(CheaptalkError, match="instances: 6 was changed to 5"):
            await lab.laboratory.launch(STUDY.name, TEXT)
        raised = TEXT.replace("instances: 5", "instances: 6").replace(
            "source: prolific", "source: prolific\n    places: 1"
        )
        assert raised.count("places: 1") == 1
        await lab.laboratory.launch(STUDY.name, raised)
        assert lab.laboratory.supervisor("people").experiment.quotas.full
        assert (await ann.look()).code
        unkeyed = TEXT.replace("name: people\n", "name: other\n").replace(
            "bot:\n    strategy: random", "bot:\n    model: openai/gpt-4o"
        )
        with pytest.raises(CheaptalkError, match="OPENAI_API_KEY"):
            await lab.laboratory.launch("other", unkeyed)
        assert lab.laboratory.launched("other") is None

    async with site(tmp_path) as lab:
        assert len(lab.laboratory.supervisor("people").experiment.people) == 1


STRANGE = ("", "x", "0", "-1", "9" * 30, "..", "\x00", "ä", "<script>", "nan", "prolific", "open")


async def test_arbitrary_input_causes_no_server_error(lab: Site) -> None:
    await lab.open_study()
    await lab.log_in()
    ann = await lab.participant("ann")
    base, url = "/studies/people", f"/studies/people/participants/{ann.code}"
    pages = ["/participants", "/pay", "/matches", "/data", "/pay/1/file", "/data/x.html"]
    for page in [*(f"{base}{page}" for page in pages), url, f"{url}/erase", "/start", "/form"]:
        for query in STRANGE:
            names = ("at", "after", "preset", "copy", "said")
            response = await lab.client.get(f"/console{page}", params=dict.fromkeys(names, query))
            assert response.status_code < 500, (page, query, response.text)
    fields = ("state", "text", "cohort", "form", "do", "dollars", "make", "other", "number")
    deeds = ["/participants/recruit", "/participants/tell", "/pay", "/run", "/budget"]
    actions = [f"{url}/{deed}" for deed in ("move", "tell", "prompt")]
    unknown = ["/studies/nothing/launch", "/studies/nothing/run"]
    form = CSRF.search((await lab.get("/account")).text)
    assert form is not None
    for deed in [*(base + deed for deed in deeds), *actions, *unknown]:
        for value in STRANGE:
            sent = await lab.client.post(
                f"/console{deed}", data=dict.fromkeys(fields, value) | {"csrf": form[1]}
            )
            assert sent.status_code < 500 or sent.status_code == 503, (deed, value, sent.text)


async def test_budget_must_be_a_number_of_dollars(
    lab: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_to: list[float] = []

    async def note(name: str, dollars: float) -> None:
        set_to.append(dollars)

    lab.laboratory.database.drafts.create(STUDY.name, TEXT, "owner")
    await lab.log_in()
    monkeypatch.setattr(lab.laboratory.runs, "set_budget", note)
    path = f"/studies/{STUDY.name}/budget"
    for written in ("1_0", "nan", "inf", "1e3", "7,5", "1.500", "-1", "many", "", "1" * 10):
        sent = await lab.post(path, "/account", dollars=written)
        assert sent.status_code == 400, written
        assert "a number of dollars, such as 1,250 or 12.50" in sent.text
    assert set_to == []
    for written in ("12.50", "$1,250", "0"):
        assert (await lab.post(path, "/account", dollars=written)).status_code == 303
    assert set_to == [12.5, 1250.0, 0.0]


async def test_console_shows_transcripts_and_exports_ids_on_request(
    lab: Site,
) -> None:
    await lab.open_study()
    await lab.log_in()
    ann = await lab.participant("id-of-ann")
    match = next(iter(ann.participant.plays.values()))["match_id"]
    response = await lab.get(f"/studies/people/transcripts/matches/{match}")
    assert response.status_code == 200
    assert "words of id-of-ann" in response.text
    inside = [link for link in Page(response.text).links if link.startswith("/")]
    assert any(item.startswith("/console/studies/people/transcripts/") for item in inside)
    assert all(item.startswith("/console/studies/people/") for item in inside)
    stranger = httpx2.AsyncClient(transport=lab.client._transport, base_url="http://test")
    redirect = await stranger.get(f"/console/studies/people/transcripts/matches/{match}")
    assert redirect.status_code == 303
    ids = (await lab.post("/studies/people/identities")).text
    code = ann.page.code
    assert ids.splitlines() == [
        "participant,source,id,completion_code",
        f"{ann.code},prolific,id-of-ann,{code}",
    ]
    assert len(code) == 8


async def test_expired_data_are_deleted_once_all_payments_are_made(lab: Site) -> None:
    text = TEXT.replace("people:\n  recruitment", "people:\n  keep_days: 30\n  recruitment")
    await lab.laboratory.launch(STUDY.name, text)
    supervisor = lab.laboratory.supervisor("people")
    await lab.participant("ann")
    later = time.time() + 31 * 86_400
    await supervisor.check(later)
    await supervisor.recruit("closed")
    await supervisor.check(later)
    assert len(supervisor.experiment.people) == 1, "a participant with an open payment stays"
    await supervisor.experiment.write(pay_out(1, "csv", "owner"))
    await supervisor.check(time.time())
    assert len(supervisor.experiment.people) == 1
    await supervisor.check(later)
    assert supervisor.experiment.people == {}
    assert balance_of(supervisor.experiment.room_manager.store, 1).paid > 0
