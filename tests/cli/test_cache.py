"""The cache on the command line: off unless asked for, and able to explain itself."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
import yaml

import cheaptalk as ct
from cheaptalk.records import Cache
from tests.conftest import Command
from tests.fakes import Canned, Server, spec, with_model

FILE = ("--cache-file", "replies.sqlite")


def written(folder: Path, url: str, **changes: Any) -> None:
    (folder / "small.yaml").write_text(yaml.safe_dump(spec(**with_model(url) | changes)))


@pytest.fixture
def played(cheaptalk: Command, tmp_path: Path) -> list[str]:
    """The ids of matches that were played with a cache."""
    with Server() as server:
        written(tmp_path, server.url, instances=1)
        assert cheaptalk("run", "small.yaml", "--store", "one.sqlite", *FILE).status == 0
    with ct.Store.open(tmp_path / "one.sqlite") as store:
        return [record.id for record in store.records("small")]


def test_the_cache_is_used_where_it_is_asked_for(
    cheaptalk: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "mine"))
    with Server() as server:
        written(tmp_path, server.url)
        assert "cache:" not in cheaptalk("run", "small.yaml", "--store", "1").out
        assert not (tmp_path / "mine").exists()
        assert "cache: 0 of" in cheaptalk("run", "small.yaml", "--store", "2", "--cache").out
        assert (tmp_path / "mine" / "cheaptalk" / "replies.sqlite").is_file()
        bought = len(server.calls)
        done = cheaptalk("run", "small.yaml", "--store", "3", "--cache", "--json")
        found = json.loads(done.out)["cache"]
        assert found["hits"] > 0
        assert (found["misses"], found["damaged"]) == (0, 0)
        assert len(server.calls) == bought
        monkeypatch.setenv("CHEAPTALK_CACHE", "elsewhere.sqlite")
        cheaptalk("run", "small.yaml", "--store", "4", "--no-cache")
        assert not (tmp_path / "elsewhere.sqlite").exists()
        cheaptalk("run", "small.yaml", "--store", "5")
        assert (tmp_path / "elsewhere.sqlite").is_file()


def test_stats_count_by_model_and_tell_damage(
    cheaptalk: Command, tmp_path: Path, played: list[str]
) -> None:
    found = json.loads(cheaptalk("model", "cache", "stats", *FILE, "--json").out)
    (model,) = found["models"]
    assert model["model"].startswith("vllm/tiny@http://127.0.0.1:")
    assert model["replies"] >= len(played)
    assert found["bytes"] > 0
    with sqlite3.connect(tmp_path / "replies.sqlite") as file:
        file.execute("UPDATE replies SET proof = 'x' WHERE key = (SELECT min(key) FROM replies)")
    file.close()
    shown = cheaptalk("model", "cache", "stats", *FILE).out
    assert "1 damaged entry" in shown
    assert f"replies.sqlite: {model['replies'] - 1} responses" in shown


def test_clear_asks_first_and_drops_what_is_meant(cheaptalk: Command, played: list[str]) -> None:
    assert cheaptalk("model", "cache", "clear", *FILE).status == 1
    misspelt = cheaptalk("model", "cache", "clear", *FILE, "--yes", "--model-pattern", "vllm/tiyn*")
    assert misspelt.status == 2
    assert 'matches "vllm/tiyn*" (models: vllm/tiny@http://127.0.0.1:' in misspelt.err
    assert cheaptalk(
        "model", "cache", "clear", *FILE, "-y", "--before", "2020-01-01"
    ).out.startswith("0 ")
    assert not cheaptalk("model", "cache", "clear", *FILE, "--yes").out.startswith("0 ")
    assert json.loads(cheaptalk("model", "cache", "stats", *FILE, "--json").out)["models"] == []


def test_export_writes_every_entry_and_overwrites_nothing(
    cheaptalk: Command, tmp_path: Path, played: list[str]
) -> None:
    done = cheaptalk("model", "cache", "export", "--out", "out.jsonl", *FILE)
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert done.out.startswith(f"{len(lines)} responses written")
    with Cache(tmp_path / "replies.sqlite") as cache:
        assert lines == [entry._asdict() for entry in cache.entries()]
    assert cheaptalk("model", "cache", "export", "--out", "out.jsonl", *FILE).status == 1


def test_explain_tells_a_purchase_from_a_hit_and_names_what_differs(
    cheaptalk: Command, tmp_path: Path, played: list[str]
) -> None:
    told = cheaptalk("model", "cache", "explain", played[0], "--store", "one.sqlite", *FILE).out
    assert "request 0 alice: a hit for later requests; this match stored the entry" in told
    none = cheaptalk(
        "model", "cache", "explain", played[0], "--store", "one.sqlite", *FILE, "--request", "99"
    )
    assert none.status == 2
    assert "no such call to a model; available: request 0 alice" in none.err
    with ct.Store.open(tmp_path / "one.sqlite") as store:
        url = store.find(played[0]).seats["alice"]["spec"]["model"].partition("@")[2]
        with ct.Store.open(tmp_path / "two.sqlite", create=True) as other:
            plan = ct.load_study(tmp_path / "small.yaml")
            ct.run(plan, other, models=Canned(), cache=tmp_path / "replies.sqlite")
        written(tmp_path, url, instances=1)
    told = cheaptalk("model", "cache", "explain", played[0], "--store", "two.sqlite", *FILE).out
    assert f"request 0 alice: hit: stored by match {played[0]}" in told


def test_explain_names_the_setting_that_misses(
    cheaptalk: Command, tmp_path: Path, played: list[str]
) -> None:
    study = yaml.safe_load((tmp_path / "small.yaml").read_text())
    study["players"]["tiny"]["temperature"] = 1.5
    with ct.Store.open(tmp_path / "two.sqlite", create=True) as other:
        ct.run(ct.studies.parse_study(study, "warm"), other, models=Canned())
        warm = [record.id for record in other.records("small") if "tiny" in str(record.seats)]
    done = cheaptalk(
        "model", "cache", "explain", warm[0], "--store", "two.sqlite", *FILE, "--request", "0",
        "--actor", "alice", "--json",
    )  # fmt: skip
    (told,) = json.loads(done.out)
    assert told["hit"] is False
    assert told["result"].startswith("miss; the nearest other request, of match ")
    assert told["differences"] == ["settings.temperature is 1.5 (stored: missing)"]


def test_explain_knows_the_seed_of_a_match_that_did_not_end(
    cheaptalk: Command, tmp_path: Path, played: list[str]
) -> None:
    study = yaml.safe_load((tmp_path / "small.yaml").read_text())
    study |= {"budget": {"calls": 1}, "pairing": [["tiny", "tiny"]]}
    with ct.Store.open(tmp_path / "two.sqlite", create=True) as other:
        ct.run(ct.studies.parse_study(study, "halted"), other, models=Canned(), concurrency=1)
        (begun,) = other.with_open_calls()
    told = cheaptalk("model", "cache", "explain", begun, "--store", "two.sqlite", *FILE).out
    assert "request 0 alice: hit: stored by match" in told


def test_a_call_in_a_file_is_explained_and_what_is_none_is_refused(
    cheaptalk: Command, tmp_path: Path, played: list[str]
) -> None:
    with Cache(tmp_path / "replies.sqlite") as cache:
        entry = next(cache.entries())
    call = tmp_path / "call.json"
    call.write_text(json.dumps(entry.request))
    assert (
        "call.json: hit: stored by match"
        in cheaptalk("model", "cache", "explain", str(call), *FILE).out
    )
    call.write_text(json.dumps(entry.request | {"model": "vllm/other"}))
    told = cheaptalk("model", "cache", "explain", str(call), *FILE).out
    assert "miss" in told
    assert "model differs from the stored request at character 5" in told
    call.write_text("[]")
    done = cheaptalk("model", "cache", "explain", str(call), *FILE)
    assert done.status == 2
    assert "contains no valid call to a model" in done.said


def test_what_is_not_there_is_said(cheaptalk: Command, played: list[str]) -> None:
    done = cheaptalk("model", "cache", "stats", "--cache-file", "nowhere.sqlite")
    assert (done.status, done.said) == (
        2, "error: no cache at nowhere.sqlite; name an existing one with --cache-file",
    )  # fmt: skip
    done = cheaptalk(
        "model", "cache", "explain", played[0], "--store", "one.sqlite", *FILE, "--actor", "zoe"
    )  # fmt: skip
    assert done.status == 2
    assert "no such call to a model" in done.said
