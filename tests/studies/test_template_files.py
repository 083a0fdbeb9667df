"""Template files in studies: sources, digests, and changes between two runs."""

from pathlib import Path
from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.records.transcripts import transcript
from cheaptalk.studies.plans.plan import changes
from tests.conftest import Command

TEMPLATE = '{% extends "plain.jinja" %}{% block turn %}Your turn, NAME.{% endblock %}'
STUDY = """
name: printed
games: [{game: bargaining, fixed: {horizon: 2}}]
players: {own: {model: script/legal, style: mine/own.jinja}, fair: equal_split}
pairing: [[own, fair]]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A study file with a template file."""
    (tmp_path / "study" / "mine").mkdir(parents=True)
    (tmp_path / "study" / "mine" / "own.jinja").write_text(TEMPLATE)
    (tmp_path / "study" / "study.yaml").write_text(STUDY)
    return tmp_path / "study" / "study.yaml"


def own(study: ct.Study) -> dict[str, Any]:
    return study.players["own"].written()


def records(path: Path) -> list[ct.MatchRecord]:
    with ct.Store.open(path) as store:
        return list(store.records("printed", bodies=True))


def test_record_contains_source_digest_and_text(file: Path, tmp_path: Path) -> None:
    ct.run(file, tmp_path / "store.sqlite")
    (record,) = records(tmp_path / "store.sqlite")
    spec = record.seats["alice"]["spec"]
    assert spec["style"] == "mine/own.jinja"
    assert spec["templates"] == {"mine/own.jinja": TEMPLATE}
    style = ct.styles.style("bargaining", spec["style"], templates=spec["templates"])
    assert spec["words"] == style.digest
    request = next(line for line in transcript(record) if line.actor == "alice" and line.answer)
    assert request.text.startswith("Your turn, NAME.")
    assert any("Your turn, NAME." in str(call) for call in record.answers[0].calls)


def test_changed_template_supersedes_recorded_matches(file: Path, tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite"
    ct.run(file, store)
    assert changes(file, store).differences == []
    (file.parent / "mine" / "own.jinja").write_text(TEMPLATE.replace("NAME", "please"))
    change = changes(file, store)
    assert (change.recorded, change.set_aside) == (1, 1)
    assert change.differences[0].startswith("players.own.templates.mine/own.jinja differs from")


def test_stored_study_resumes_without_its_files(file: Path, tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite"
    ct.run(file, store, cap=ct.studies.Cap(calls=1))
    (file.parent / "mine" / "own.jinja").unlink()
    ct.run(ct.studies.stored_study(store, "printed"), store)
    (record,) = records(store)
    assert record.seats["alice"]["spec"]["templates"] == {"mine/own.jinja": TEMPLATE}


def test_rosters_shared_settings_and_python_accept_template_files(file: Path) -> None:
    folder = file.parent
    (folder / "models.yaml").write_text("players: {own: {model: openai/a, style: mine/own.jinja}}")
    roster = ct.players.roster(str(folder / "models.yaml"))
    assert roster.entries()["own"]["templates"] == {"mine/own.jinja": TEMPLATE}
    shared = STUDY.replace(", style: mine/own.jinja", "")
    file.write_text(shared + "models: {style: mine/own.jinja}\n")
    assert own(ct.load_study(file))["templates"] == {"mine/own.jinja": TEMPLATE}
    players: dict[str, Any] = {"own": {"model": "script/legal", "style": folder / "mine/own.jinja"}}
    study = ct.Study(name="python", games=["bargaining"], players=players)
    assert own(study)["templates"] == {"own.jinja": TEMPLATE}
    settings: dict[str, Any] = {"style": folder / "mine/own.jinja"}
    study = ct.Study(
        name="b", games=["bargaining"], players={"own": "script/legal"}, models=settings
    )
    assert study.written()["models"] == {"style": "own.jinja", "templates": {"own.jinja": TEMPLATE}}
    assert own(study)["templates"] == {"own.jinja": TEMPLATE}


def test_player_option_accepts_template_files(file: Path, cheaptalk: Command) -> None:
    """Paths in options are relative to the current folder."""
    (Path.cwd() / "option.jinja").write_text(TEMPLATE.replace("NAME", "option"))
    entry = "own={model: script/legal, style: option.jinja}"
    store = str(Path.cwd() / "store.sqlite")
    assert cheaptalk("run --store", store, str(file), "--player", entry).status == 0
    (record,) = records(Path(store))
    assert [*record.seats["alice"]["spec"]["templates"]] == ["option.jinja"]


def test_each_level_of_a_crossed_style_is_named_after_its_file(file: Path) -> None:
    crossed = "cross: {style: [plain, mine/own.jinja]}"
    file.write_text(
        STUDY.replace("style: mine/own.jinja", crossed).replace("pairing: [[own, fair]]", "")
    )
    study = ct.load_study(file)
    assert list(study.factors) == ["own/plain", "own/own.jinja"]
    planned = ct.plan(study)
    specs = {p.label: p.spec for match in planned.matches for p in match.seating}
    texts = {label: getattr(spec, "templates", None) for label, spec in specs.items()}
    assert texts["own/plain"] == {}
    assert texts["own/own.jinja"] == {"mine/own.jinja": TEMPLATE}


def test_invalid_template_is_reported_before_the_run(file: Path) -> None:
    (file.parent / "mine" / "own.jinja").write_text(TEMPLATE.replace("NAME", "{{ rund }}"))
    with pytest.raises(ct.studies.StudyError, match=r"players\.own.*line 1.*unknown slot \"rund\""):
        ct.plan(file)
    (file.parent / "mine" / "own.jinja").unlink()
    with pytest.raises(ct.studies.StudyError, match=r"study\.yaml: template file .* not found"):
        ct.load_study(file)
    with pytest.raises(ct.studies.StudyError, match=r"the text of the template file .* is missing"):
        ct.studies.parse_study({"name": "a", **_data()}, "data")


def _data() -> dict[str, Any]:
    player = {"model": "script/legal", "style": "mine/own.jinja"}
    return {"games": ["bargaining"], "players": {"own": player}}


def test_pages_show_a_digest_instead_of_the_text(
    file: Path, tmp_path: Path, cheaptalk: Command
) -> None:
    store = str(tmp_path / "store.sqlite")
    ct.run(file, store)
    ct.reports.report(store, "printed", str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text()
    match = cheaptalk("match show --store", store).out
    digest = "sha256 4064c25b5dd34dc8"
    for shown in (page, match, repr(ct.load_study(file).printout())):
        assert digest in shown
        assert "endblock" not in shown
