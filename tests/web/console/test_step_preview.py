"""Previews of steps in the study form."""

from pathlib import Path

from cheaptalk.studies.presets import preset_text, study_of
from cheaptalk.web.console.designs.step_preview import render_step, step_of_row
from cheaptalk.web.console.designs.study_form import form_of
from cheaptalk.yaml_files import parse_yaml
from tests.web.console.office import CSRF, ROOT, opened


def test_every_step_outside_games_has_a_preview() -> None:
    name = "public-goods-punishment"
    study, form = study_of(name), form_of(parse_yaml(preset_text(name)))
    pages = {}
    for number, row in enumerate(form.rows["people.path"]):
        location = step_of_row(form, str(number))
        assert location is not None
        pages[row["kind"][0], row["around"][0]] = render_step(study, location, "en")
    assert pages["games", ""] is None
    assert "This study examines how people decide in groups." in str(pages["consent", ""])
    assert str(pages["instructions", ""]).count("<article") == 3
    assert str(pages["comprehension", ""]).count("<fieldset") == 4
    assert "contribute" in str(pages["instructions", "before"]), "the game's own description"


async def test_preview_button_shows_the_unsaved_step(tmp_path: Path) -> None:
    async with opened(tmp_path) as office:
        browser = await office.log_in_as()
        token = CSRF.search((await browser.get("/form?preset=trust")).text)
        assert token is not None
        fields = dict(form_of(parse_yaml(preset_text("trust"))).pairs())
        fields |= {"csrf": token[1], "preview-language": "de", "step": "0"}
        fields |= {"people.path.0.text.en": "Hello", "people.path.0.text.de": "Guten Tag"}
        page = await browser.client.post(f"{ROOT}/form/preview", data=fields)
        assert page.status_code == 200
        assert "Guten Tag" in page.text
        assert "Ich stimme zu" in page.text
        fields["people.path.0.text.en"] = "{placeholder}"
        page = await browser.client.post(f"{ROOT}/form/preview", data=fields)
        assert page.status_code == 422
