"""The Recruit tab of the console."""

from html import unescape

import pytest
import yaml

from cheaptalk.web.bots.pages import Page
from tests.web.console.office import CSRF
from tests.web.laboratory.lab import STUDY, Site
from tests.web.participants.comers import BOT, people_study

RECRUIT = f"/studies/{STUDY.name}/recruit"


async def open_study(lab: Site, **recruitment: object) -> None:
    study = people_study(BOT, instances=5, recruitment=recruitment, codes={"complete": "C1DONE"})
    await lab.open_study(yaml.safe_dump(study.model_dump(mode="json", exclude_defaults=True)))
    await lab.log_in()


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ("open", ["http://test/s/people/"]),
        ("prolific", ["PROLIFIC_PID={{%PROLIFIC_PID%}}", "C1DONE", "complete?cc=C1DONE"]),
        ("mturk", ["<ExternalURL>http://test/s/people/</ExternalURL>", "workerId=${workerId}"]),
        ("sona", ["survey_code=%SURVEY_CODE%", "Completion URL of SONA"]),
    ],
)
async def test_page_has_the_texts_for_the_platform(
    source: str, texts: list[str], lab: Site
) -> None:
    await open_study(lab, source=source)
    page = unescape((await lab.get(RECRUIT)).text)
    for text in texts:
        assert text in page
    tests = [link for link in Page(page).links if "/s/people/" in link]
    assert tests
    for link in tests:
        assert (await lab.client.get(link)).status_code == 200


async def test_panel_is_invited_in_the_console(lab: Site) -> None:
    await open_study(lab, source="code")
    form = CSRF.search((await lab.get(RECRUIT)).text)
    assert form is not None
    fields, url = {"csrf": form[1]}, f"/console{RECRUIT}"
    wrong = await lab.client.post(f"{url}/list", data=fields, files={"file": ("a.csv", b"x\n1\n")})
    assert (wrong.status_code, "no column of addresses" in wrong.text) == (422, True)
    table = b"email,name\nann@example.org,Ann\n"
    sent = await lab.client.post(f"{url}/list", data=fields, files={"file": ("a.csv", table)})
    assert sent.status_code == 303
    page = (await lab.get(RECRUIT)).text
    assert "1 invitation;" in " ".join(Page(page).words.split())
    assert "ann@example.org" not in page
    invitations = await lab.client.post(f"{url}/file", data=fields)
    assert "ann@example.org,Ann,http://test/s/people/?code=" in invitations.text
    code = invitations.text.splitlines()[1].split(",")[3]
    await lab.participant(code)
    reminders = await lab.client.post(f"{url}/file", data=fields | {"reminders": "yes"})
    assert "ann@example.org" not in reminders.text
    assert "ann@example.org" not in (await lab.get(f"/studies/{STUDY.name}/log")).text
