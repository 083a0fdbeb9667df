"""The console's page that summarises a launch and asks for confirmation."""

from typing import Any

import pytest
import yaml

from cheaptalk.web.bots.pages import Page
from tests.web.laboratory.lab import STUDY, TEXT, Site
from tests.web.participants.comers import BOT, people_study

LAUNCH = f"/studies/{STUDY.name}/launch"


async def summary(lab: Site, text: str = TEXT) -> str:
    """Create a study, and return the words of its launch page."""
    await lab.log_in()
    lab.laboratory.database.drafts.create(STUDY.name, text, "owner")
    return " ".join(Page((await lab.get(LAUNCH)).text).words.split())


def written(**changes: Any) -> str:
    study = people_study(BOT, instances=5, **changes)
    return yaml.safe_dump(study.model_dump(mode="json", exclude_defaults=True), sort_keys=False)


async def test_page_summarises_participants_and_pay(lab: Site) -> None:
    page = await summary(
        lab, written(recruitment={"source": "open", "places": 4}, pay={"base": 1.5})
    )
    assert "Up to 4" in page
    assert "1.50 USD for each completed visit" in page
    assert "6.00 USD for all places" in page
    assert "Missing recruitment settings" not in page
    assert "Missing translations" not in page
    assert STUDY.name not in lab.laboratory.open


async def test_page_lists_missing_settings_translations_and_keys(
    lab: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    text = written(
        recruitment={"source": "prolific"},
        codes={"complete": "C1"},
        title={"en": "Talk", "de": "Reden"},
    )
    model = text.replace("strategy: random", "model: openai/gpt-4o")
    assert model != text
    page = await summary(lab, model)
    assert "$0." in page.partition("Models")[2]
    assert ", estimated" in page
    assert "set the environment variable OPENAI_API_KEY" in page
    listed = page.partition("Missing recruitment settings")[2]
    assert "Completion code: screened out" in listed
    assert "Completion code: complete" not in listed
    assert "de: " in page.partition("Missing translations")[2]


async def test_only_the_version_on_the_page_is_launched(lab: Site) -> None:
    await summary(lab)
    shown = await lab.post(LAUNCH, LAUNCH)
    assert shown.headers["location"] == f"/console{LAUNCH}"
    base = f"/studies/{STUDY.name}"
    await lab.post(f"{base}/design", f"{base}/design", text=f"{TEXT}\n", version="1")
    stale = await lab.post(LAUNCH, LAUNCH, version="1")
    assert stale.status_code == 409
    assert "The design has changed meanwhile. Review the launch again." in stale.text
    assert STUDY.name not in lab.laboratory.open
    assert (await lab.post(LAUNCH, LAUNCH, version="2")).status_code == 303
    assert STUDY.name in lab.laboratory.open


async def test_invalid_design_has_no_launch_button(lab: Site) -> None:
    page = await summary(lab, TEXT.replace("games:", "gamez:", 1))
    assert "The design is invalid." in page
    assert "Launch study" not in page
