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
    assert "3 of 3 matches ended: 0 finished, 3 forfeited" in repr(progress)
    assert progress.problems == {f"public_goods, {one}": count for one, count in BY.items()}
    return path


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
            [row["forfeited_by"], row["forfeited_place"], row["forfeit_kind"]]
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
