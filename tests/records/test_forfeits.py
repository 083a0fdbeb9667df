"""A forfeit is charged to who gave no valid answer, where they sat, and to nobody else."""

import csv
import json
from pathlib import Path

import pytest

import cheaptalk as ct
from cheaptalk.models import ModelCall, Reply
from cheaptalk.players import Kind
from cheaptalk.records import Forfeit, Status, Store
from cheaptalk.records.exports.exporter import export
from cheaptalk.web.laboratory.overview import overview
from tests.conftest import Command
from tests.fakes import REFUSAL, Canned, late

SEATINGS = [["good", "bad", "good"], ["good", "good", "slow"], ["bad", "good", "slow"]]
BY = {
    Forfeit("bad", "player_1", Kind.REFUSED, "vllm/bad"): 1,
    Forfeit("bad", "player_2", Kind.REFUSED, "vllm/bad"): 1,
    Forfeit("slow", "player_3", Kind.TIMED_OUT, "vllm/slow"): 2,
}
"""Who forfeits at these tables, and how many matches."""


def answers(call: ModelCall, number: str) -> Reply | str:
    assert call.form is not None
    said = {"vllm/bad": REFUSAL, "vllm/slow": late()}
    return said.get(call.model, json.dumps({"tokens_contributed": 3}))


@pytest.fixture
def table(tmp_path: Path, no_waits: None) -> Path:
    """A store of three matches of public goods, each forfeited by one or two of its players."""
    game = {"game": "public_goods", "fixed": {"players": 3, "rounds": 1}}
    players = {label: {"model": f"vllm/{label}"} for label in ("good", "bad", "slow")}
    made = {"name": "table", "games": [game], "players": players, "pairing": SEATINGS}
    path = tmp_path / "cheaptalk.sqlite"
    progress = ct.run(ct.studies.parse_study(made, "table"), path, models=Canned(answers))
    assert progress.counts == {Status.FORFEITED: 3}
    assert "3 of 3 matches ended, 3 of them forfeited" in repr(progress)
    assert progress.problems == {f"public_goods, {one}": count for one, count in BY.items()}
    return path


def test_forfeits_of_earlier_runs_are_counted_wherever_matches_are(
    table: Path, cheaptalk: Command
) -> None:
    """A second run plays nothing, and still does not pass forfeits off as finished."""
    how_far = "3 of 3 matches ended, 3 of them forfeited"
    with Store.open(table) as store:
        study = ct.studies.stored_study(store, "table")
        progress = ct.run(study, store, models=Canned(answers))
        assert (progress.before, progress.forfeited, progress.forfeited_before) == (3, 3, 3)
        assert progress.summary == f"{how_far} (3 before this run)"
        with pytest.raises(ct.studies.ControlError, match=rf'"table" has ended \({how_far}\)'):
            ct.studies.watch(store, "table")
        seen = overview(store, "table")
        assert seen is not None
        assert seen.how_far(seen.planned) == how_far
    assert f"table: {how_far} (3 before, 0 now" in cheaptalk("resume", "table").out
    assert json.loads(cheaptalk("resume", "table", "--json").out)["forfeited"] == 3


def test_a_part_counts_only_its_own_forfeits(table: Path) -> None:
    with Store.open(table) as store:
        planned = ct.plan(ct.studies.stored_study(store, "table"))
        some = ct.studies.Plan.of(planned.study, [*planned.matches][:1])
        progress = ct.run(some, store, models=Canned(answers))
        assert progress.summary == "1 of 1 match ended, 1 of them forfeited (1 before this run)"


def test_the_store_says_who_forfeited(table: Path) -> None:
    with Store.open(table) as store:
        assert store.forfeits("table") == {("public_goods", one): n for one, n in BY.items()}
        assert store.problems("table") == {f"public_goods, {one}": n for one, n in BY.items()}
        both = [record.forfeits for record in store.records("table")][-1]
    assert [one.player for one in both] == ["bad", "slow"]


def test_status_says_who_forfeited(table: Path, cheaptalk: Command) -> None:
    assert "table: 2 x public_goods, forfeited by slow as player_3: timed out" in (
        cheaptalk("status").out.splitlines()
    )
    (study,) = json.loads(cheaptalk("status", "--json").out)["studies"]
    assert {Forfeit(*(one[key] for key in Forfeit._fields)): one["matches"]
            for one in study["forfeits"]} == BY  # fmt: skip


def test_exports_have_a_column_for_each(table: Path, tmp_path: Path) -> None:
    export(table, "table", tmp_path / "csv")
    with (tmp_path / "csv" / "matches.csv").open(encoding="utf-8", newline="") as file:
        rows = [
            [row["forfeited_by"], row["forfeited_seat"], row["forfeit_kind"]]
            for row in csv.DictReader(file)
        ]
    assert sorted(rows) == [
        ["bad", "player_2", "refused"],
        ["bad, slow", "player_1, player_3", "refused, timed_out"],
        ["slow", "player_3", "timed_out"],
    ]
    export(table, "table", tmp_path / "lines", "jsonl")
    lines = (tmp_path / "lines" / "matches.jsonl").read_text().splitlines()
    assert [json.loads(line)["forfeits"][-1]["player"] for line in lines] == ["bad", "slow", "slow"]
