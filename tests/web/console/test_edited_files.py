"""Study files that the study form changes."""

from pathlib import Path

from cheaptalk.studies.presets import preset_names, preset_text
from cheaptalk.studies.study import Study
from cheaptalk.web.console.designs.edited_files import edited_file
from cheaptalk.web.console.designs.posted_form import StudyForm
from cheaptalk.web.console.designs.study_form import check_form, filled_form
from cheaptalk.yaml_files import parse_yaml
from tests.web.console.office import opened
from tests.web.console.test_study_form import PostedForm

SHORT = """\
name: pilot   # of May
games: [bargaining]
players:
  fair: equal_split  # a script
  human: {person: browser}
people:
  # Anyone may take part.
  path:
    - consent: Hello
    - games
"""


def saved(text: str, **texts: str) -> str:
    form = filled_form(parse_yaml(text))
    form.texts |= {name.replace("__", "."): [value] for name, value in texts.items()}
    checked = check_form(StudyForm.read(form.pairs()))
    assert checked.problems == {}
    return edited_file(text, checked.data)


def test_saving_without_changes_keeps_every_byte() -> None:
    for name in preset_names():
        text = preset_text(name)
        assert saved(text) == text, name


def test_game_without_settings_and_comments_survive_a_change() -> None:
    assert saved(SHORT) == SHORT
    edited = saved(SHORT, people__pay__base="2.5")
    assert edited == SHORT + "  pay: {base: 2.5}\n"
    assert saved(edited, people__pay__base="3") == edited.replace("2.5", "3")


def test_changed_step_leaves_the_others_as_written() -> None:
    form = filled_form(parse_yaml(SHORT))
    form.rows["people.path"][0]["text"] = ["Good day"]
    form.apply("add-people.path", "debrief")
    checked = check_form(form)
    edited = edited_file(SHORT, checked.data)
    assert edited.startswith(SHORT.partition("    - consent")[0]), "comments are kept"
    assert "    - games\n" in edited
    assert Study.model_validate(parse_yaml(edited)) == checked.study


async def test_edited_study_file_and_form_show_the_same_study(tmp_path: Path) -> None:
    async with opened(tmp_path) as office:
        browser = await office.log_in_as()
        office.database.drafts.create("pilot", SHORT, "ada")
        fields = dict(PostedForm((await browser.get("/form?change=pilot")).text).pairs)
        assert fields["file"] == SHORT
        text = SHORT.replace("Hello", "Good day  # friendlier")
        edited = fields | {"file": text, "people.title": "ignored"}
        page = (await browser.post("/form", "/account", **edited, do="check")).text
        shown = dict(PostedForm(page).pairs)
        assert (shown["people.path.0.text"], shown["people.title"]) == ("Good day", "")
        both = shown | {"people.path.0.statements": "I agree."}
        answer = await browser.post("/form/file", "/account", **both)
        assert answer.status_code == 200
        assert "statements: [I agree.]" in answer.text
        await browser.post("/form", "/account", **edited, do="save")
        assert office.database.drafts.read("pilot").text == text
        bad = fields | {"file": "name: ["}
        refused = await browser.post("/form", "/account", **bad, do="save")
        assert refused.status_code == 422
        assert office.database.drafts.read("pilot").text == text
