"""Dropped matches, and matches replayed on new instances."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import cheaptalk as ct
from cheaptalk.records import Excluded, count_excluded
from cheaptalk.records.exclusions import Standing, predecessors
from cheaptalk.studies.exports.exporter import export
from tests.fakes import Canned, Refusing, study, with_model
from tests.records.stored import read_csv


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ct.Store]:
    """A study of six matches: two were refused and replayed, the first of them twice."""
    made = study(**with_model(), unanswered={"refused": "replace", "max_replacements": 2})
    path = tmp_path_factory.mktemp("redeals") / "s.sqlite"
    with ct.Store.open(path, create=True) as opened:
        progress = ct.run(made, opened, models=Refusing(3), concurrency=1)
        assert progress.excluded == Excluded(dropped=3, replaced=3)
        yield opened


def test_dropped_and_replaced_matches_are_counted(store: ct.Store) -> None:
    assert count_excluded(store, "small") == Excluded(dropped=3, replaced=3)
    spec = store.study("small").spec
    store.register_study("small", spec | {"unanswered": {}})
    assert count_excluded(store, "small") == Excluded(dropped=0, replaced=3)
    store.register_study("small", spec)
    with pytest.raises(ct.CheaptalkError, match="no study"):
        count_excluded(store, "smal")


def test_replacement_names_its_predecessor(store: ct.Store) -> None:
    records = {record.id: record for record in store.records("small")}
    before = predecessors(store, "small")
    assert len(before) == 3
    for id_, first in before.items():
        replacement, original = records[id_], records[first]
        assert replacement.instance_key == f"{original.instance_key}+1"
        assert (replacement.seats, replacement.repeat) == (original.seats, original.repeat)
        seat = "alice" if original.label("alice") == "tiny" else "bob"
        assert original.kinds[seat]["refused"] == 1


def test_standing_and_exports_contain_drops_and_replacements(
    store: ct.Store, tmp_path: Path
) -> None:
    exported = export(store, "small", tmp_path / "out").path / "matches.csv"
    rows = {row["match_id"]: row for row in read_csv(exported)}
    standing, before = Standing(store, "small"), predecessors(store, "small")
    for record in store.records("small"):
        row, stand = rows[record.id], standing.of(record)
        refused = [at for at, kinds in record.kinds.items() if kinds.get("refused")]
        assert stand.dropped == bool(refused)
        assert stand.dropped_because == (f"{refused[0]} refused" if refused else None)
        assert stand.replaces == before.get(record.id)
        assert row["dropped"] == str(stand.dropped).lower()
        assert row["dropped_because"] == (stand.dropped_because or "")
        assert row["replaces"] == (stand.replaces or "")
    lines = export(store, "small", tmp_path / "lines", "jsonl").path / "matches.jsonl"
    data = [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()]
    assert sum(row["dropped"] for row in data) == 3


def test_reused_instances_are_not_counted_as_replacements(store: ct.Store) -> None:
    again = study(name="again", **with_model(), games=[], instances_from="small")
    ct.run(again, store, models=Canned())
    assert any("+1:" in record.instance_key for record in store.records("again"))
    assert count_excluded(store, "again") == Excluded()
    assert predecessors(store, "again") == {}
