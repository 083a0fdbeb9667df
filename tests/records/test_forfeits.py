"""Forfeits are attributed to the players and seats that gave no valid answer."""

import json
from pathlib import Path

import pytest

import cheaptalk as ct
from cheaptalk.models import ModelCall, Reply
from cheaptalk.players import Kind
from cheaptalk.records import Forfeit, Status, Store
from cheaptalk.studies.exports.exporter import export
from tests.conftest import Command
from tests.fakes import REFUSAL, Canned, late
from tests.records.stored import read_csv

SEATINGS = [["good", "bad", "good"], ["good", "good", "slow"], ["bad", "good", "slow"]]
FORFEITS = {
    Forfeit("bad", "player_1", Kind.REFUSED, "vllm/bad"): 1,
    Forfeit("bad", "player_2", Kind.REFUSED, "vllm/bad"): 1,
    Forfeit("slow", "player_3", Kind.TIMED_OUT, "vllm/slow"): 2,
}
"""The number of matches by forfeit."""


def answers(call: ModelCall, number: str) -> Reply | str:
    assert call.form is not None
    replies = {"vllm/bad": REFUSAL, "vllm/slow": late()}
    return replies.get(call.model, json.dumps({"tokens_contributed": 3}))


@pytest.fixture
def table(tmp_path: Path, no_waits: None) -> Path:
    """A store of three public goods matches, each forfeited by one or two players."""
    game = {"game": "public_goods", "fixed": {"players": 3, "rounds": 1}}
    players = {label: {"model": f"vllm/{label}"} for label in ("good", "bad", "slow")}
    made = {"name": "table", "games": [game], "players": players, "pairing": SEATINGS}
    path = tmp_path / "cheaptalk.sqlite"
    progress = ct.run(ct.studies.parse_study(made, "table"), path, models=Canned(answers))
    assert progress.counts == {Status.FORFEITED: 3}
    assert "3 of 3 matches ended, 3 of them forfeited" in repr(progress)
    assert progress.problems == {f"public_goods, {key}": count for key, count in FORFEITS.items()}
    return path


def test_forfeits_of_earlier_runs_are_counted(table: Path, cheaptalk: Command) -> None:
    """A second run plays no matches, but still reports the forfeits."""
    summary = "3 of 3 matches ended, 3 of them forfeited"
    with Store.open(table) as store:
        study = ct.studies.stored_study(store, "table")
        progress = ct.run(study, store, models=Canned(answers))
        assert (progress.before, progress.forfeited, progress.forfeited_before) == (3, 3, 3)
        assert progress.summary == f"{summary} (3 before this run)"
        with pytest.raises(ct.studies.ControlError, match=rf'"table" has ended \({summary}\)'):
            ct.studies.run_state(store, "table")
        assert ct.studies.study_status(store, "table").how_far == summary
    assert f"table: {summary} (3 before, 0 now" in cheaptalk("resume", "table").out
    assert json.loads(cheaptalk("resume", "table", "--json").out)["forfeited"] == 3


def test_partial_run_counts_only_its_forfeits(table: Path) -> None:
    with Store.open(table) as store:
        planned = ct.plan(ct.studies.stored_study(store, "table"))
        part = ct.studies.Plan.of(planned.study, [*planned.matches][:1])
        progress = ct.run(part, store, models=Canned(answers))
        assert progress.summary == "1 of 1 match ended, 1 of them forfeited (1 before this run)"


def test_store_status_and_exports_list_forfeits_by_player(
    table: Path, cheaptalk: Command, tmp_path: Path
) -> None:
    with Store.open(table) as store:
        assert store.forfeits("table") == {("public_goods", key): n for key, n in FORFEITS.items()}
        assert store.problems("table") == {f"public_goods, {key}": n for key, n in FORFEITS.items()}
        both = [record.forfeits for record in store.records("table")][-1]
    assert [forfeit.player for forfeit in both] == ["bad", "slow"]
    assert "table: 2 x public_goods, forfeited by slow as player_3: timed out" in (
        cheaptalk("status").out.splitlines()
    )
    (study,) = json.loads(cheaptalk("status", "--json").out)["studies"]
    assert {Forfeit(*(row[key] for key in Forfeit._fields)): row["matches"]
            for row in study["forfeits"]} == FORFEITS  # fmt: skip
    export(table, "table", tmp_path / "csv")
    rows = [
        [row["forfeited_by"], row["forfeited_seat"], row["forfeit_kind"]]
        for row in read_csv(tmp_path / "csv" / "matches.csv")
    ]
    assert sorted(rows) == [
        ["bad", "player_2", "refused"],
        ["bad, slow", "player_1, player_3", "refused, timed_out"],
        ["slow", "player_3", "timed_out"],
    ]
    export(table, "table", tmp_path / "lines", "jsonl")
    lines = (tmp_path / "lines" / "matches.jsonl").read_text().splitlines()
    assert [json.loads(line)["forfeits"][-1]["player"] for line in lines] == ["bad", "slow", "slow"]
