"""Matches dropped from metrics, those replayed on a new instance, and where that is said of
them."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import cheaptalk as ct
from cheaptalk.records import Excluded, excluded
from cheaptalk.records.exclusions import Standing, predecessors
from cheaptalk.records.exports.exporter import export
from tests.fakes import Canned, Refusing, study, with_model


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ct.Store]:
    """A study of six matches, two of them refused and replayed on a new instance, the first of
    these twice."""
    made = study(**with_model(), unanswered={"refused": "replace", "max_replacements": 2})
    with ct.Store.open(tmp_path / "s.sqlite", create=True) as opened:
        progress = ct.run(made, opened, models=Refusing(3), concurrency=1)
        assert progress.excluded == Excluded(dropped=3, replaced=3)
        yield opened


def test_dropped_and_replaced_matches_are_counted(store: ct.Store) -> None:
    assert excluded(store, "small") == Excluded(dropped=3, replaced=3)
    spec = store.study("small").spec
    store.register_study("small", spec | {"unanswered": {}})
    assert excluded(store, "small") == Excluded(dropped=0, replaced=3)
    with pytest.raises(ct.CheaptalkError, match="no study"):
        excluded(store, "smal")


def test_a_fresh_match_names_the_one_in_whose_place_it_is(store: ct.Store) -> None:
    records = {record.id: record for record in store.records("small")}
    before = predecessors(store, "small")
    assert len(before) == 3
    for id_, first in before.items():
        again, one = records[id_], records[first]
        assert again.instance_key == f"{one.instance_key}+1"
        assert (again.seats, again.repeat) == (one.seats, one.repeat)
        assert one.kinds["alice" if one.label("alice") == "tiny" else "bob"]["refused"] == 1


def test_every_match_says_how_it_stands(store: ct.Store) -> None:
    standing, before = Standing(store, "small"), predecessors(store, "small")
    for record in store.records("small"):
        stand = standing.of(record)
        refused = [at for at, kinds in record.kinds.items() if kinds.get("refused")]
        assert stand.dropped == bool(refused)
        assert stand.dropped_because == (f"{refused[0]} refused" if refused else None)
        assert stand.replaces == before.get(record.id)


def test_an_export_says_so_too(store: ct.Store, tmp_path: Path) -> None:
    done = export(store, "small", tmp_path / "out")
    with (done.path / "matches.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["match_id"]: row for row in csv.DictReader(file)}
    standing = Standing(store, "small")
    for record in store.records("small"):
        row, stand = rows[record.id], standing.of(record)
        assert row["dropped"] == str(stand.dropped).lower()
        assert row["dropped_because"] == (stand.dropped_because or "")
        assert row["replaces"] == (stand.replaces or "")
    lines = export(store, "small", tmp_path / "lines", "jsonl").path / "matches.jsonl"
    data = [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()]
    assert sum(one["dropped"] for one in data) == 3


def test_who_takes_instances_over_from_fresh_ones_is_not_dealt_afresh(store: ct.Store) -> None:
    again = study(name="again", **with_model(), games=[], instances_from="small")
    ct.run(again, store, models=Canned())
    assert any("+1:" in record.instance_key for record in store.records("again"))
    assert excluded(store, "again") == Excluded()
    assert predecessors(store, "again") == {}
