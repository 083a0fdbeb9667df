"""Changed studies that are run again: matches that are no longer planned are excluded."""

import csv
from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.frames import read_matches
from cheaptalk.records import Status, Store
from cheaptalk.records.store.store import adopt, set_aside
from cheaptalk.studies.exports.exporter import export
from tests.fakes import Canned, study
from tests.records.stored import Shelf

REFUSING: dict[str, Any] = {
    "players": {"model": {"model": "script/refuse"}, "fair": {"strategy": "equal_split"}},
    "pairing": [["model", "fair"]],
    "instances": 3,
}


def demanding(share: float, **changes: Any) -> ct.Study:
    players = {"me": {"strategy": "fixed_demand", "share": share}, "fair": {"strategy": "random"}}
    return study(players=players, pairing=[["me", "fair"]], **changes)


def scored(store: Store) -> list[str]:
    """Return the ids of the matches that reports include."""
    return [id_ for frame in read_matches(store, "small").values() for id_ in frame["match_id"]]


def test_matches_under_old_settings_are_superseded(store: Store) -> None:
    old = ct.plan(demanding(0.95, instances=4))
    new = ct.plan(demanding(0.5, instances=4))
    assert ct.run(old, store).set_aside == 0
    assert ct.run(new, store).set_aside == 4
    assert scored(store) == [match.id for match in new.matches]
    assert set_aside(store, "small") == {match.id for match in old.matches}
    assert store.study("small").counts == {"finished": 4}
    assert len(list(store.records())) == 8

    back = ct.run(old, store)
    assert (back.before, back.set_aside) == (4, 4)
    assert scored(store) == [match.id for match in old.matches]


def test_partial_plan_supersedes_nothing(store: Store) -> None:
    planned = ct.plan(demanding(0.5, instances=6))
    for matches in (planned.matches[:2], planned.matches[2:]):
        assert ct.run(ct.studies.Plan.of(planned.study, list(matches)), store).set_aside == 0
    assert len(scored(store)) == 6


def test_replacements_count_only_under_replace_policy(store: Store) -> None:
    replacing = REFUSING | {"unanswered": {"refused": "replace", "max_replacements": 1}}
    keeping = REFUSING | {"unanswered": {"refused": "keep"}}
    assert ct.run(study(**replacing), store).excluded == (6, 3)
    kept = ct.run(study(**keeping), store)
    assert (kept.set_aside, kept.planned, kept.excluded) == (3, 3, (0, 0))
    again = ct.run(study(**replacing), store)
    assert (again.set_aside, again.planned, again.before) == (0, 6, 6)
    assert again.excluded == (6, 3)


@pytest.mark.parametrize("calls", [1, 2])
def test_halted_run_keeps_earlier_replacements(store: Store, calls: int) -> None:
    replacing = REFUSING | {"unanswered": {"refused": "replace", "max_replacements": 1}}
    ct.run(study(**replacing), store)
    more = replacing | {"instances": 5, "budget": {"calls": 6 + calls}}
    assert ct.run(study(**more), store).halted
    assert ct.records.count_excluded(store, "small").replaced >= 3


def test_export_marks_superseded_matches(store: Store, tmp_path: Any) -> None:
    ct.run(demanding(0.95), store)
    ct.run(demanding(0.5), store)
    export(store, "small", tmp_path / "out")
    with (tmp_path / "out" / "matches.csv").open(newline="") as file:
        assert [row["planned"] for row in csv.DictReader(file)] == ["false", "true"]


def test_cost_includes_superseded_matches(store: Store) -> None:
    with_model = {"players": {"a": {"model": "vllm/x@http://127.0.0.1:9/v1"}}, "pairing": "self"}
    first, second = Canned(), Canned()
    ct.run(study(**with_model), store, models=first)
    players = {"a": with_model["players"]["a"] | {"temperature": 0.5}}  # type: ignore[index]
    done = ct.run(study(**with_model | {"players": players}), store, models=second)
    assert done.set_aside == 1
    assert done.cost is not None
    assert done.cost.calls == len(first.calls) + len(second.calls)


def ids(store: Store, study: str, *, past: bool = False) -> list[str]:
    return [record.id for record in store.records(study, past=past)]


def test_study_adopts_existing_matches_and_restores_superseded_ones(store: Store) -> None:
    shelf, other = Shelf(store), Shelf(store, "other")
    shelf.add("a", "c")
    shelf.add("b", status=Status.FORFEITED)
    for _ in range(2):
        assert adopt(store, other.study, ["c", "a", "unknown"]) == ([2], 0, 0)
    assert adopt(store, other.study, ["a", "b", "unknown"]) == ([2], 0, 1)
    assert store.study("shelf").counts == {"finished": 2, "forfeited": 1}
    assert adopt(store, shelf.study, ["c"], only=True) == ([], 2, 0)
    assert adopt(store, shelf.study, ["c"], only=True) == ([], 0, 0)
    assert (ids(store, "shelf"), ids(store, "shelf", past=True)) == (["c"], ["a", "c", "b"])
    assert ids(store, "other") == ["a", "c", "b"]
    assert set_aside(store, "shelf") == {"a", "b"}
    summary = store.study("shelf")
    assert (summary.counts, summary.set_aside) == ({"finished": 1}, 2)
    assert adopt(store, shelf.study, ["a"]) == ([], 0, 0)
    assert ids(store, "shelf") == ["a", "c"]
    assert len(list(store.records())) == 3
