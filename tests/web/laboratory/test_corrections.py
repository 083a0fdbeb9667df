"""Corrections of texts in a laboratory while participants take part."""

from pathlib import Path

import pytest
import sqlalchemy as sa

from cheaptalk.records import Store
from cheaptalk.records.people import corrections as recorded
from cheaptalk.records.people.corrections import TextChange, corrections_of, made_corrections
from cheaptalk.records.store import schema
from cheaptalk.rules import CheaptalkError
from cheaptalk.studies.lookup import stored_study
from cheaptalk.web.bots.pages import Page
from cheaptalk.web.laboratory.laboratory import CorrectsTexts
from tests.web.laboratory.lab import STUDY, TEXT, Site, site

CORRECTED = TEXT.replace("Why?", "Why did you do that?")
assert CORRECTED != TEXT


async def test_correction_is_shown_at_once_and_recorded(tmp_path: Path, lab: Site) -> None:
    await lab.open_study()
    ann, bob = await lab.comer("ann"), await lab.comer("bob")
    await ann.until(lambda page: "Why?" in page.words)
    stop = bob.participant.journey.stop
    with pytest.raises(CorrectsTexts):
        await lab.laboratory.launch(STUDY.name, CORRECTED)
    await lab.laboratory.correct(STUDY.name, CORRECTED, "owner", "unclear")
    await ann.step()  # submits the page that was open
    assert bob.participant.journey.stop == stop
    await bob.until(lambda page: "Why did you do that?" in page.words)
    await bob.finish()

    experiment = lab.laboratory.supervisor(STUDY.name).experiment
    store = experiment.room_manager.store
    (made,) = made_corrections(store, experiment.study_id)
    assert (made.version, made.by, made.reason) == (2, "owner", "unclear")
    location = "people.path.2.survey.items.feedback.ask"
    assert made.changes == [TextChange(location, "", "Why?", "Why did you do that?")]
    assert [row.after for row in corrections_of(store, STUDY.name)] == ["Why did you do that?"]
    table = schema.responses
    query = sa.select(table.c.text_version).where(table.c.step == "survey")
    assert [*store.scalars(query.order_by(table.c.participant_id))] == [1, 2]
    consent = sa.select(table.c.text_version).where(table.c.step == "consent")
    assert [*store.scalars(consent.order_by(table.c.participant_id))] == [1, 1]
    assert lab.laboratory.launched(STUDY.name) == CORRECTED


async def test_page_that_was_open_keeps_what_was_typed(lab: Site) -> None:
    item = '      - {name: fair, ask: "Fair?", scale: {}}\n'
    text = TEXT.replace("      items:\n", f"      items:\n{item}")
    await lab.open_study(text)
    ann = await lab.comer("ann")
    page = await ann.until(lambda page: "Why?" in page.words)
    form = page.form("page")
    assert form is not None
    await lab.laboratory.correct(STUDY.name, text.replace("Why?", "Why so?"), "owner", "unclear")
    hidden = {blank.name: blank.value for blank in form.blanks if blank.kind == "hidden"}
    page = await ann.press(form, hidden | {"feedback": "typed"})  # the other answer is missing
    assert "Why so?" in page.words
    form = page.form("page")
    assert form is not None
    assert "typed" in [blank.value for blank in form.blanks] or "typed" in page.words


async def test_rule_cannot_change_and_settings_can(lab: Site) -> None:
    await lab.open_study()
    ann = await lab.comer("ann")
    with pytest.raises(CheaptalkError, match=r"people\.pay\.base: 1 was changed to 2"):
        await lab.laboratory.correct(STUDY.name, CORRECTED.replace("base: 1", "base: 2"), "o", "r")
    assert "Why?" in str(lab.laboratory.supervisor(STUDY.name).experiment.study.written())
    both = CORRECTED.replace("source: prolific", "source: prolific\n    places: 1")
    await lab.laboratory.correct(STUDY.name, both, "owner", "unclear")
    experiment = lab.laboratory.supervisor(STUDY.name).experiment
    assert experiment.protocol.recruitment.places == 1
    assert experiment.text_version == 2
    assert ann.code in experiment.people


async def test_correction_survives_a_stop_before_the_file_is_written(tmp_path: Path) -> None:
    async with site(tmp_path) as lab:
        await lab.open_study()
        ann = await lab.comer("ann")
        matches = {room.code for room in ann.site.experiment.room_manager.rooms.values()}
        await lab.laboratory.correct(STUDY.name, CORRECTED, "owner", "unclear")
        lab.laboratory._write(STUDY.name, TEXT)  # as if the server had stopped in between
    async with site(tmp_path) as lab:
        experiment = lab.laboratory.supervisor(STUDY.name).experiment
        assert "Why did you do that?" in str(experiment.study.written())
        assert ann.code in experiment.people
        assert experiment.text_version == 2
        assert matches == {*experiment.room_manager.rooms}
        await lab.laboratory.correct(STUDY.name, CORRECTED, "owner", "unclear")
        assert lab.laboratory.launched(STUDY.name) == CORRECTED
        assert len(made_corrections(experiment.room_manager.store, experiment.study_id)) == 1


async def test_failed_write_changes_nothing(lab: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    await lab.open_study()
    await lab.comer("ann")
    experiment = lab.laboratory.supervisor(STUDY.name).experiment

    def fail(_name: str, _spec: object) -> str:
        raise OSError("disk full")

    monkeypatch.setattr(recorded, "study_digest", fail)
    with pytest.raises(OSError, match="disk full"):
        await lab.laboratory.correct(STUDY.name, CORRECTED, "owner", "unclear")
    assert made_corrections(experiment.room_manager.store, experiment.study_id) == []
    assert "Why?" in str(stored_study(experiment.room_manager.store, STUDY.name).written())
    assert experiment.text_version == 1


async def test_texts_can_change_freely_before_the_first_participant(
    tmp_path: Path, lab: Site
) -> None:
    await lab.open_study()
    await lab.laboratory.launch(STUDY.name, CORRECTED)
    with Store.open(tmp_path / f"{STUDY.name}.sqlite") as store:
        assert [*corrections_of(store, STUDY.name)] == []


async def test_researcher_reviews_and_applies_a_correction(lab: Site) -> None:
    await lab.open_study()
    await lab.log_in()
    base = f"/studies/{STUDY.name}"
    assert "has no participants yet" in (await lab.get(f"{base}/corrections")).text
    await lab.comer("ann")
    await lab.post(f"{base}/design", f"{base}/design", text=CORRECTED, version="1")
    review = await lab.get(f"{base}/launch")
    assert review.headers["location"].endswith("/corrections")
    page = (await lab.get(f"{base}/corrections")).text
    assert "<ins> did you do that</ins>" in page
    stale = await lab.post(f"{base}/corrections", reason="unclear", version="1")
    assert "The design has changed meanwhile" in stale.text
    assert (await lab.post(f"{base}/corrections", reason=" ", version="2")).status_code == 400
    applied = await lab.post(f"{base}/corrections", reason="unclear", version="2")
    assert "The correction was applied" in (await lab.client.get(applied.headers["location"])).text
    page = (await lab.get(f"{base}/corrections")).text
    assert "The design changes no texts" in page
    assert "unclear" in page
    assert "corrected texts" in (await lab.get(f"{base}/log")).text

    changed = CORRECTED.replace("base: 1", "base: 2")
    await lab.post(f"{base}/design", f"{base}/design", text=changed, version="2")
    assert "people.pay.base: 1 was changed to 2" in await words(lab, f"{base}/corrections")
    assert "people.pay.base: 1 was changed to 2" in (
        await lab.post(f"{base}/launch", f"{base}/design", version="3")
    ).text.replace("People.", "people.")
    assert (await lab.post(f"{base}/corrections", reason="pay", version="3")).status_code == 400


async def test_design_lists_all_changes_and_restores_the_launched_version(lab: Site) -> None:
    await lab.open_study()
    await lab.log_in()
    await lab.comer("ann")
    base = f"/studies/{STUDY.name}"
    assert "Restore the launched version" not in await words(lab, f"{base}/design")
    changed = CORRECTED.replace("base: 1", "base: 2").replace("I am 18", "I am 21")
    changed = changed.replace("text: 4", "text: 5").replace("rate: 0.01", "rate: 0.02")
    await lab.post(f"{base}/design", f"{base}/design", text=changed, version="1")
    for page in ("design", "corrections"):
        shown = await words(lab, f"{base}/{page}")
        rules = shown.partition("changes rules of the launched study.")[2]
        assert "people.pay.base: 1 was changed to 2" in rules
        assert "people.pay.bonus.0.rate: 0.01 was changed to 0.02" in rules
        assert "Step 3 (survey): items.feedback.text" in rules
        assert "Step 1 (consent): statements" in rules, rules
    await lab.post(f"{base}/restore", f"{base}/design", version="2")
    draft = lab.laboratory.database.drafts.read(STUDY.name)
    assert (draft.text, draft.version) == (TEXT, 3)
    stale = await lab.post(f"{base}/restore", f"{base}/design", version="3")
    assert stale.status_code == 303
    await lab.post(f"{base}/design", f"{base}/design", text=changed, version="3")
    assert (await lab.post(f"{base}/restore", f"{base}/design", version="3")).status_code == 409
    assert lab.laboratory.database.drafts.read(STUDY.name).text == changed


async def words(lab: Site, path: str) -> str:
    return " ".join(Page((await lab.get(path)).text).words.split())
