"""Corrections of texts by a study file, when a study is served or run again."""

from pathlib import Path

import pytest
import yaml

from cheaptalk.cli.shared.correcting import apply_corrections
from cheaptalk.frames.people import read_corrections
from cheaptalk.records import Store
from cheaptalk.records.people.corrections import corrections_of
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import NoData
from cheaptalk.reports.recipes.people import corrected
from cheaptalk.studies import StudyError, plan
from cheaptalk.studies.study import Study, parse_study
from tests.participants import People
from tests.web.participants.comers import BOT, people_study

STUDY = people_study(BOT, instances=5)


def changed(old: str, new: str) -> Study:
    text = yaml.safe_dump(STUDY.written())
    assert old in text
    return parse_study(yaml.safe_load(text.replace(old, new)), "here")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    path = tmp_path / "s.sqlite"
    with Store.open(path, create=True) as opened:
        opened.register_study(STUDY.name, STUDY.written())
        People(opened, STUDY.name).come("consent")
    return Store.open(path)


def test_corrected_texts_require_a_reason(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    with store:
        apply_corrections(STUDY, store.name, None)
        corrected = changed("ask: Why?", "ask: Why so?")
        with pytest.raises(StudyError, match="add --reason"):
            apply_corrections(corrected, store.name, None)
        assert [*corrections_of(store, STUDY.name)] == []
        apply_corrections(corrected, store.name, "unclear")
        (row,) = corrections_of(store, STUDY.name)
        assert (row.version, row.reason, row.before, row.after) == (2, "unclear", "Why?", "Why so?")
        apply_corrections(corrected, store.name, None)
        assert store.study(STUDY.name, counted=False).spec == corrected.written()
    assert "  - Why?\n  + Why so?" in capsys.readouterr().out
    assert [match.id for match in plan(corrected).matches] == [
        match.id for match in plan(STUDY).matches
    ]


def test_changed_rules_are_refused(store: Store) -> None:
    with store, pytest.raises(StudyError, match=r"people\.pay\.base: 1 was changed to 3"):
        apply_corrections(changed("base: 1.0", "base: 3.0"), store.name, "more")


def test_report_and_frame_list_corrections(store: Store) -> None:
    with store:
        evidence = Evidence(store, STUDY.name)
        with pytest.raises(NoData):
            next(corrected(evidence))
        apply_corrections(changed("ask: Why?", "ask: Why so?"), store.name, "unclear")
        answer, table = corrected(Evidence(store, STUDY.name))
        assert "1 correction changed 1 text" in str(answer)
        assert "Why so?" in str(table)
        assert read_corrections(store, STUDY.name)["after"].to_list() == ["Why so?"]
