"""Recruitment platforms: completion codes and links by ending, previews and submissions."""

from pathlib import Path

import pytest

from cheaptalk.records import ended_codes, invitations_of, invite, mail_merge, read_addresses
from cheaptalk.rules import CheaptalkError
from cheaptalk.studies.study import StudyError
from cheaptalk.web.bots.pages import Page as _page  # noqa: N813 - as a function
from tests.web.participants.comers import BOT, opened, people_study

ID = "5f0c0000aaaa1111bbbb2222"
FULL = "https://app.prolific.com/submissions/complete?cc=C6FULL"


async def test_person_refused_by_a_full_study_gets_its_code(tmp_path: Path) -> None:
    recruitment = {"source": "prolific", "places": 1}
    study = people_study(BOT, recruitment=recruitment, codes={"quota_full": "C6FULL"})
    async with opened(tmp_path, study) as site:
        await (await site.enter("a" * 24)).finish()
        site.client.cookies.clear()
        for response in (
            await site.client.get("/", params={"PROLIFIC_PID": ID}),
            await site.client.post("/enter", data={"known_by": ID}),
        ):
            assert response.status_code == 409
            assert FULL in response.text
        without = await site.client.get("/", params={"PROLIFIC_PID": "{{%PROLIFIC_PID%}}"})
        assert "C6FULL" not in without.text
        await site.supervisor.recruit("paused")
        assert "C6FULL" not in (await site.client.get("/", params={"PROLIFIC_PID": ID})).text
        await site.supervisor.recruit("closed")
        closed = await site.client.get("/", params={"PROLIFIC_PID": ID})
        assert (closed.status_code, FULL in closed.text) == (410, True)


async def test_completion_link_depends_on_the_ending(tmp_path: Path) -> None:
    urls = {
        "complete": "https://panel.org/done?id={id}",
        "declined": "https://panel.org/no?id={id}",
    }
    recruitment = {"source": "code", "invited": ["a&b", "c"], "return_url": urls}
    study = people_study(BOT, recruitment=recruitment)
    async with opened(tmp_path, study) as site:
        ann, bob = await site.enter("a&b"), await site.enter("c")
        assert "https://panel.org/done?id=a%26b" in (await ann.finish()).links
        form = bob.page.form("page")
        assert form is not None
        hidden = {blank.name: blank.value for blank in form.blanks if blank.kind == "hidden"}
        assert (
            "https://panel.org/no?id=c" in (await bob.press(form, hidden | {"agreed": "no"})).links
        )


@pytest.mark.parametrize(
    ("to", "action"),
    [
        ("https://workersandbox.mturk.com", "https://workersandbox.mturk.com/mturk/externalSubmit"),
        ("https://mturk.com.evil.org", ""),
        ("http://www.mturk.com", ""),
        ("https://www.mturk.com@evil.org", ""),
    ],
)
async def test_task_is_submitted_only_to_mturk(to: str, action: str, tmp_path: Path) -> None:
    study = people_study(BOT, recruitment={"source": "mturk"})
    link = {"workerId": "A1WORKER", "assignmentId": "3ASSIGN", "hitId": "3HIT", "turkSubmitTo": to}
    async with opened(tmp_path, study) as site:
        entry = await site.client.get("/", params=link)
        policy = entry.headers["Content-Security-Policy"]
        assert "frame-ancestors https://mturk.com https://*.mturk.com" in policy
        assert "X-Frame-Options" not in entry.headers
        ann = site.comer("A1WORKER")
        form = next(form for form in _page(entry.text).forms if form.deed == "enter")
        fields = {blank.name: blank.value for blank in form.blanks}
        ann.path = (await site.client.post("/enter", data=fields)).headers["location"]
        await ann.look()
        page = await ann.finish()
        actions = [form.action for form in page.forms if "externalSubmit" in form.action]
        assert actions == ([action] if action else [])


async def test_preview_of_mturk_admits_no_one(tmp_path: Path) -> None:
    study = people_study(BOT, recruitment={"source": "mturk"})
    async with opened(tmp_path, study) as site:
        preview = {"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE", "hitId": "3HIT"}
        shown = await site.client.get("/", params=preview)
        assert (shown.status_code, "accept the task first" in shown.text) == (200, True)
        more = "assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE"
        await site.client.post("/enter", data={"known_by": "A1WORKER", "more": more})
        assert not site.experiment.people


def test_completion_url_of_sona_must_grant_credit() -> None:
    link = "https://uni.sona-systems.com/webstudy_credit.aspx?experiment_id=1&credit_token=2"
    good = {"source": "sona", "return_url": f"{link}&survey_code={{id}}"}
    people_study(BOT, recruitment=good)
    for url in (link, f"{link}&survey_code=XXXX"):
        with pytest.raises(StudyError, match="survey_code"):
            people_study(BOT, recruitment={"source": "sona", "return_url": url})


LIST = "name;E-Mail\nAnn;ann@example.org\nBob;bob@example.org\n"


async def test_panel_is_invited_and_reminded(tmp_path: Path) -> None:
    study = people_study(BOT, recruitment={"source": "code"})
    async with opened(tmp_path, study) as site:
        identities, store = site.experiment.identities, site.experiment.room_manager.store
        refused = await site.client.post("/enter", data={"known_by": "GUESSED"})
        assert refused.status_code == 403
        assert invite(identities, study.name, read_addresses(LIST)) == 2
        people = invitations_of(identities, study.name)
        assert invite(identities, study.name, read_addresses(LIST)) == 0
        assert invitations_of(identities, study.name) == people
        table = mail_merge(people, study.name, "https://lab.example.org/s/people")
        header, first, _ = table.splitlines()
        assert header == "name,E-Mail,link,code,study"
        code = people[0].code
        link = f"https://lab.example.org/s/people/?code={code}"
        assert first == f"Ann,ann@example.org,{link},{code},people"

        entry = await site.client.get("/", params={"code": code})
        assert code in entry.text
        ann, bob = await site.enter(code), await site.enter(people[1].code)
        await ann.finish()
        assert ended_codes(store, study.name, identities) == {code}
        reminders = mail_merge(people, study.name, "https://x.org", {code})
        assert "bob@example.org" in reminders
        assert "ann@example.org" not in reminders
        await site.supervisor.erase(bob.participant)
        assert [person.address for person in invitations_of(identities, study.name)] == [
            "ann@example.org"
        ]
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("s.sqlite*"))
    assert b"example.org" not in stored
    assert b"bob@example.org" not in (tmp_path / "s.identities").read_bytes()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("name\nAnn\n", "no column of addresses"),
        ("email\n", "the list has 0 addresses"),
        ("email,code\na@b.org,1\n", "the column code is added"),
        ("email,name\na@b.org\n", "line 2 of the list"),
        ("email\nann\n", "line 2 of the list"),
    ],
)
def test_invalid_list_is_refused(text: str, problem: str) -> None:
    with pytest.raises(CheaptalkError, match=problem):
        read_addresses(text)
