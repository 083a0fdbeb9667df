"""Stores and studies, however they are named, and a sentence where something else comes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import cheaptalk as ct
from tests.fakes import spec, study


@pytest.mark.parametrize("store_as", ["object", "path", "text", "url"])
@pytest.mark.parametrize("study_as", ["object", "path", "file", "name"])
def test_a_stored_study_is_read_however_it_is_named(
    tmp_path: Path, store_as: str, study_as: str
) -> None:
    path, file = tmp_path / "store.sqlite", tmp_path / "small.yaml"
    file.write_text(yaml.safe_dump(spec()))
    ct.run(file, path)
    with ct.Store.open(path) as store:
        stores: dict[str, Any] = {
            "object": store,
            "path": path,
            "text": str(path),
            "url": f"sqlite:///{path}",
        }
        studies: dict[str, Any] = {
            "object": study(),
            "path": file,
            "file": str(file),
            "name": "small",
        }
        frames = ct.frames.match_frames(stores[store_as], studies[study_as])
        assert len(frames["bargaining"]) == 2
        assert len(store.study("small").spec["players"]) == 2  # an open store stays open


def test_pages_tables_and_exports_take_texts_and_studies(tmp_path: Path) -> None:
    where, small = str(tmp_path / "store.sqlite"), study(deals=2)
    ct.run(small, where)
    ct.reports.report(where, small, str(tmp_path / "page.html"))
    found = ct.reports.findings(where, small, "metagame")
    ct.reports.write_findings(found, str(tmp_path / "found.html"))
    ct.reports.write_tables(found.tables, str(tmp_path / "tables"))
    assert ct.export(where, small, str(tmp_path / "sheets")).rows["matches"] == 4
    assert ct.reports.Played.of(where, small).study == "small"
    assert ct.judges.verdict_frame(where, small).is_empty()
    compared = ct.reports.compare(where, small, "small", other_store=Path(where))
    assert "compar" in repr(compared)
    made = {path.name for path in tmp_path.iterdir()}
    assert {"page.html", "found.html", "tables", "sheets"} <= made


GAME = ct.game_box("bargaining").rules()
DEAL = GAME.deal(ct.Chance("here"))
FIVE: Any = 5
NOTHING: Any = None
TEXT: Any = "bargaining"
KIND: Any = type(GAME)
LINEAR = ct.game_box("bargaining").strategies["linear"]


@pytest.mark.parametrize(
    ("wrong", "saying"),
    [
        (
            lambda: ct.run(FIVE, "x.sqlite"),
            "a study, a preset's name or a study file is wanted, not 5",
        ),
        (lambda: ct.plan(NOTHING), "a study, a preset's name or a study file is wanted, not null"),
        (lambda: ct.run("quickstart", FIVE), "a store, its file or its URL is wanted, not 5"),
        (
            lambda: ct.open_host(FIVE, "x.sqlite").__aenter__().send(None),
            "a study, a preset's name",
        ),
        (
            lambda: ct.frames.match_frames(FIVE, "small"),
            "a store, its file or its URL is wanted, no",
        ),
        (
            lambda: ct.reports.report("no.sqlite", "small", "x.html"),
            "there is no store at no.sqlit",
        ),
        (lambda: ct.register(5), "5 has no name of its own; give it one: name=..."),
        (lambda: ct.play(TEXT, DEAL, "a", {}), "a game, such as ct.game_box(NAME).rules()"),
        (lambda: ct.play(KIND, DEAL, "a", {}), "a game, such as ct.game_box(NAME).rules()"),
        (
            lambda: ct.Table(GAME, TEXT, "a"),
            "a deal, such as game.deal(ct.Chance(SEED)), is want",
        ),
        (
            lambda: ct.play(GAME, DEAL, "a", {"alice": LINEAR}),
            'nobody plays "bob": give a function f',
        ),
        (lambda: ct.play(GAME, DEAL, "a", {"alice": TEXT}), 'strategies, not by "bargaining"'),
    ],
)
def test_a_wrong_type_gets_one_sentence(
    wrong: Callable[[], Any], saying: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ct.CheaptalkError) as caught:
        wrong()
    assert saying in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())
