"""The cache on the command line: off by default, and able to explain hits and misses."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

import cheaptalk as ct
from cheaptalk.records import Cache
from tests.conftest import Command
from tests.fakes import Canned, Server, spec, with_model

FILE = ("--cache-file", "replies.sqlite")


def write_study(folder: Path, url: str, **changes: Any) -> None:
    (folder / "small.yaml").write_text(yaml.safe_dump(spec(**with_model(url) | changes)))


@pytest.fixture
def ids(cheaptalk: Command, tmp_path: Path) -> list[str]:
    """Return the ids of matches that were played with a cache."""
    with Server() as server:
        write_study(tmp_path, server.url, instances=1)
        assert cheaptalk("run small.yaml --store one.sqlite", *FILE).status == 0
    with ct.Store.open(tmp_path / "one.sqlite") as store:
        return [record.id for record in store.records("small")]


def test_cache_is_opt_in(
    cheaptalk: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "mine"))
    with Server() as server:
        write_study(tmp_path, server.url)
        assert "cache:" not in cheaptalk("run small.yaml --store 1").out
        assert not (tmp_path / "mine").exists()
        assert "cache: 0 of" in cheaptalk("run small.yaml --store 2 --cache").out
        assert (tmp_path / "mine" / "cheaptalk" / "replies.sqlite").is_file()
        paid_calls = len(server.calls)
        done = cheaptalk("run small.yaml --store 3 --cache --json")
        stats = done.json["cache"]
        assert stats["hits"] > 0
        assert (stats["misses"], stats["damaged"]) == (0, 0)
        assert len(server.calls) == paid_calls
        monkeypatch.setenv("CHEAPTALK_CACHE", "elsewhere.sqlite")
        cheaptalk("run small.yaml --store 4 --no-cache")
        assert not (tmp_path / "elsewhere.sqlite").exists()
        cheaptalk("run small.yaml --store 5")
        assert (tmp_path / "elsewhere.sqlite").is_file()


def test_stats_count_replies_per_model_and_damaged_entries(
    cheaptalk: Command, tmp_path: Path, ids: list[str]
) -> None:
    stats = cheaptalk("model cache stats", *FILE, "--json").json
    (model,) = stats["models"]
    assert model["model"].startswith("vllm/tiny@http://127.0.0.1:")
    assert model["replies"] >= len(ids)
    assert stats["bytes"] > 0
    with closing(sqlite3.connect(tmp_path / "replies.sqlite")) as file, file:
        file.execute("UPDATE replies SET proof = 'x' WHERE key = (SELECT min(key) FROM replies)")
    file.close()
    shown = cheaptalk("model cache stats", *FILE).out
    assert "1 damaged entry" in shown
    assert f"replies.sqlite: {model['replies'] - 1} responses" in shown


def test_clear_requires_confirmation_and_honours_filters(
    cheaptalk: Command, ids: list[str]
) -> None:
    assert cheaptalk("model cache clear", *FILE).status == 1
    misspelt = cheaptalk("model cache clear", *FILE, "--yes", "--model-pattern", "vllm/tiyn*")
    assert misspelt.status == 2
    assert 'matches "vllm/tiyn*" (models: vllm/tiny@http://127.0.0.1:' in misspelt.err
    assert cheaptalk("model cache clear", *FILE, "-y", "--before", "2020-01-01").out.startswith(
        "0 "
    )
    assert not cheaptalk("model cache clear", *FILE, "--yes").out.startswith("0 ")
    assert cheaptalk("model cache stats", *FILE, "--json").json["models"] == []


def test_export_writes_all_entries_and_never_overwrites(
    cheaptalk: Command, tmp_path: Path, ids: list[str]
) -> None:
    done = cheaptalk("model cache export --out out.jsonl", *FILE)
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert done.out.startswith(f"{len(lines)} responses written")
    with Cache(tmp_path / "replies.sqlite") as cache:
        assert lines == [entry._asdict() for entry in cache.entries()]
    assert cheaptalk("model cache export --out out.jsonl", *FILE).status == 1


def test_explain_distinguishes_purchases_from_hits(
    cheaptalk: Command, tmp_path: Path, ids: list[str]
) -> None:
    output = cheaptalk("model cache explain", ids[0], "--store", "one.sqlite", *FILE).out
    assert "request 0 alice: a hit for later requests; this match stored the entry" in output
    unknown = cheaptalk(
        "model cache explain", ids[0], "--store", "one.sqlite", *FILE, "--request", "99"
    )
    assert unknown.status == 2
    assert "no such call to a model; available: request 0 alice" in unknown.err
    with ct.Store.open(tmp_path / "one.sqlite") as store:
        url = store.find(ids[0]).seats["alice"]["spec"]["model"].partition("@")[2]
        with ct.Store.open(tmp_path / "two.sqlite", create=True) as other:
            plan = ct.load_study(tmp_path / "small.yaml")
            ct.run(plan, other, models=Canned(), cache=tmp_path / "replies.sqlite")
        write_study(tmp_path, url, instances=1)
    output = cheaptalk("model cache explain", ids[0], "--store", "two.sqlite", *FILE).out
    assert f"request 0 alice: hit: stored by match {ids[0]}" in output


def test_explain_names_the_setting_that_caused_a_miss(
    cheaptalk: Command, tmp_path: Path, ids: list[str]
) -> None:
    study = yaml.safe_load((tmp_path / "small.yaml").read_text())
    study["players"]["tiny"]["temperature"] = 1.5
    with ct.Store.open(tmp_path / "two.sqlite", create=True) as other:
        ct.run(ct.studies.parse_study(study, "warm"), other, models=Canned())
        warm = [record.id for record in other.records("small") if "tiny" in str(record.seats)]
    done = cheaptalk(
        "model cache explain",
        warm[0],
        "--store",
        "two.sqlite",
        *FILE,
        "--request",
        "0",
        "--actor",
        "alice",
        "--json",
    )
    (explanation,) = done.json
    assert explanation["hit"] is False
    assert explanation["result"].startswith("miss; the nearest other request, of match ")
    assert explanation["differences"] == ["settings.temperature is 1.5 (stored: missing)"]


def test_explain_works_for_unfinished_matches(
    cheaptalk: Command, tmp_path: Path, ids: list[str]
) -> None:
    study = yaml.safe_load((tmp_path / "small.yaml").read_text())
    study |= {"budget": {"calls": 1}, "pairing": [["tiny", "tiny"]]}
    with ct.Store.open(tmp_path / "two.sqlite", create=True) as other:
        ct.run(ct.studies.parse_study(study, "halted"), other, models=Canned(), concurrency=1)
        (unfinished,) = other.with_open_calls()
    output = cheaptalk("model cache explain", unfinished, "--store", "two.sqlite", *FILE).out
    assert "request 0 alice: hit: stored by match" in output


def test_explain_reads_calls_from_files(cheaptalk: Command, tmp_path: Path, ids: list[str]) -> None:
    with Cache(tmp_path / "replies.sqlite") as cache:
        entry = next(cache.entries())
    call = tmp_path / "call.json"
    call.write_text(json.dumps(entry.request))
    assert (
        "call.json: hit: stored by match" in cheaptalk("model cache explain", str(call), *FILE).out
    )
    call.write_text(json.dumps(entry.request | {"model": "vllm/other"}))
    output = cheaptalk("model cache explain", str(call), *FILE).out
    assert "miss" in output
    assert "model differs from the stored request at character 5" in output
    call.write_text("[]")
    done = cheaptalk("model cache explain", str(call), *FILE)
    assert "contains no valid call to a model" in done.rejection


def test_missing_cache_and_unknown_call_print_errors(cheaptalk: Command, ids: list[str]) -> None:
    done = cheaptalk("model cache stats --cache-file nowhere.sqlite")
    assert (done.status, done.said) == (
        2,
        "error: no cache at nowhere.sqlite; name an existing one with --cache-file",
    )
    done = cheaptalk(
        "model cache explain", ids[0], "--store", "one.sqlite", *FILE, "--actor", "zoe"
    )
    assert "no such call to a model" in done.rejection
