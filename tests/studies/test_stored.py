"""Stores and studies are accepted in several forms; other types raise a clear error."""

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

import cheaptalk as ct
from tests.fakes import spec, study


def test_stored_study_is_read_by_object_path_or_name(tmp_path: Path) -> None:
    path, file = tmp_path / "store.sqlite", tmp_path / "small.yaml"
    file.write_text(yaml.safe_dump(spec()))
    ct.run(file, path)
    with ct.Store.open(path) as store:
        stores: list[Any] = [store, path, str(path), f"sqlite:///{path}"]
        studies: list[Any] = [study(), file, str(file), "small"]
        for store_as, study_as in product(stores, studies):
            assert len(ct.frames.read_matches(store_as, study_as)["bargaining"]) == 2
        assert len(store.study("small").spec["players"]) == 2  # an open store stays open


def test_reports_and_exports_accept_paths_and_studies(tmp_path: Path) -> None:
    where, small = str(tmp_path / "store.sqlite"), study(instances=2)
    ct.run(small, where)
    ct.reports.report(where, small, str(tmp_path / "page.html"))
    findings = ct.reports.findings(where, small, "metagame")
    ct.reports.write_findings(findings, str(tmp_path / "found.html"))
    ct.reports.write_tables(findings.tables, str(tmp_path / "tables"))
    assert ct.export(where, small, str(tmp_path / "sheets")).rows["matches"] == 4
    assert ct.reports.Played.of(where, small).study == "small"
    assert ct.judges.verdict_frame(where, small).is_empty()
    compared = ct.reports.compare(where, small, "small", other_store=Path(where))
    assert "compar" in repr(compared)
    made = {path.name for path in tmp_path.iterdir()}
    assert {"page.html", "found.html", "tables", "sheets"} <= made


GAME = ct.get_game("bargaining").rules()
INSTANCE = GAME.draw_instance(ct.Chance("here"))
FIVE: Any = 5
NOTHING: Any = None
TEXT: Any = "bargaining"
KIND: Any = type(GAME)
LINEAR = ct.get_game("bargaining").strategies["linear"]


WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: ct.run(FIVE, "x.sqlite"), "a study, its file, a preset's name or a plan, not an int"),
    (lambda: ct.plan(NOTHING), "study of plan must be a study, its file or a preset's name, not N"),
    (lambda: ct.run("quickstart", FIVE), "store of run must be a store, its file or its URL, not"),
    (lambda: ct.open_host(FIVE, "x.sqlite").__aenter__().send(None), "study of open_host must be"),
    (lambda: ct.frames.read_matches(FIVE, "small"), "store of read_matches must be a store, its"),
    (lambda: ct.reports.report("no.sqlite", "small", "x.html"), "no store at no.sqlit"),
    (lambda: ct.register(5), "5 has no name; pass name=..."),
    (lambda: ct.play(KIND, INSTANCE, "a", {}), "game of play must be a game or a game's name, not"),
    (lambda: ct.Table(KIND, INSTANCE, "a"), "a game, such as ct.get_game(NAME).rules()"),
    (
        lambda: ct.Table(GAME, TEXT, "a"),
        "an instance, such as game.draw_instance(ct.Chance(SEED)), not",
    ),
    (
        lambda: ct.play(GAME, INSTANCE, "a", {"alice": LINEAR}),
        '"bob" has no player; pass a strategy\'s name or a f',
    ),
    (
        lambda: ct.play(GAME, INSTANCE, "a", {"alice": TEXT}),
        'unknown strategy for bargaining "bargaining"',
    ),
]


def test_wrong_type_raises_one_line_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for call, message in WRONG:
        with pytest.raises(ct.CheaptalkError) as caught:
            call()
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())
