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
from tests.cli import write_study
from tests.conftest import Command, Done
from tests.fakes import Canned, Server, with_model

FILE = ("--cache-file", "replies.sqlite")


@pytest.fixture
def ids(cheaptalk: Command) -> list[str]:
    """Return the ids of matches in ``one.sqlite`` that were played with a cache."""
    with Server() as server:
        write_study(**with_model(server.url) | {"instances": 1})
        assert cheaptalk("run small.yaml --store one.sqlite", *FILE).status == 0
    with ct.Store.open("one.sqlite") as store:
        return [record.id for record in store.records("small")]


@pytest.fixture
def explain(cheaptalk: Command) -> Command:
    """Return a function that explains the calls of a match in a store."""

    def explain(store: str, match: str, *options: str) -> Done:
        return cheaptalk("model cache explain --store", store, match, *FILE, *options)

    return explain


def run_again(store: str, **changes: Any) -> list[str]:
    """Run a variant of the study without a cache, and return the ids of its matches."""
    study = yaml.safe_load(Path("small.yaml").read_text())
    study["players"]["tiny"] |= changes.pop("model", {})
    with ct.Store.open(store, create=True) as opened:
        ct.run(
            ct.studies.parse_study(study | changes, "again"),
            opened,
            models=Canned(),
            concurrency=1,
        )
        return [record.id for record in opened.records("small") if "tiny" in str(record.seats)]


def test_cache_is_opt_in(
    cheaptalk: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "mine"))
    with Server() as server:
        write_study(**with_model(server.url))
        assert "cache:" not in cheaptalk("run small.yaml --store 1").out
        assert not (tmp_path / "mine").exists()
        assert "cache: 0 of" in cheaptalk("run small.yaml --store 2 --cache").out
        assert (tmp_path / "mine" / "cheaptalk" / "replies.sqlite").is_file()
        paid_calls = len(server.calls)
        stats = cheaptalk("run small.yaml --store 3 --cache --json").json["cache"]
        assert stats["hits"] > 0
        assert (stats["misses"], stats["damaged"]) == (0, 0)
        assert len(server.calls) == paid_calls
        monkeypatch.setenv("CHEAPTALK_CACHE", "elsewhere.sqlite")
        cheaptalk("run small.yaml --store 4 --no-cache")
        assert not (tmp_path / "elsewhere.sqlite").exists()
        cheaptalk("run small.yaml --store 5")
        assert (tmp_path / "elsewhere.sqlite").is_file()


def test_stats_count_replies_per_model_and_damaged_entries(
    cheaptalk: Command, ids: list[str]
) -> None:
    stats = cheaptalk("model cache stats", *FILE, "--json").json
    (model,) = stats["models"]
    assert model["model"].startswith("vllm/tiny@http://127.0.0.1:")
    assert model["replies"] >= len(ids)
    assert stats["bytes"] > 0
    with closing(sqlite3.connect("replies.sqlite")) as file, file:
        file.execute("UPDATE replies SET proof = 'x' WHERE key = (SELECT min(key) FROM replies)")
    shown = cheaptalk("model cache stats", *FILE).out
    assert "1 damaged entry" in shown
    assert f"replies.sqlite: {model['replies'] - 1} responses" in shown
    missing = cheaptalk("model cache stats --cache-file nowhere.sqlite").rejection
    assert missing == "error: no cache at nowhere.sqlite; name an existing file"


def test_export_writes_all_entries_and_clear_deletes_matching_ones(
    cheaptalk: Command, ids: list[str]
) -> None:
    done = cheaptalk("model cache export --out out.jsonl", *FILE)
    lines = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert done.out.startswith(f"{len(lines)} responses written")
    with Cache(Path("replies.sqlite")) as cache:
        assert lines == [entry._asdict() for entry in cache.entries()]
    assert cheaptalk("model cache export --out out.jsonl", *FILE).status == 1, "it exists"
    assert cheaptalk("model cache clear", *FILE).status == 1, "it asks for confirmation"
    misspelt = cheaptalk("model cache clear --yes --model-pattern vllm/tiyn*", *FILE)
    assert 'matches "vllm/tiyn*" (models: vllm/tiny@http://127.0.0.1:' in misspelt.rejection
    assert cheaptalk("model cache clear -y --before 2020-01-01", *FILE).out.startswith("0 ")
    assert not cheaptalk("model cache clear --yes", *FILE).out.startswith("0 ")
    assert cheaptalk("model cache stats --json", *FILE).json["models"] == []


def test_explain_distinguishes_purchases_hits_and_unknown_calls(
    explain: Command, ids: list[str]
) -> None:
    output = explain("one.sqlite", ids[0]).out
    assert "request 0 alice: a hit for later requests; this match stored the entry" in output
    unknown = explain("one.sqlite", ids[0], "--request", "99").rejection
    assert "no such call to a model; available: request 0 alice" in unknown
    assert "no such call to a model" in explain("one.sqlite", ids[0], "--actor", "zoe").rejection
    with ct.Store.open("two.sqlite", create=True) as other:
        ct.run("small.yaml", other, models=Canned(), cache="replies.sqlite")
    hit = f"request 0 alice: hit: stored by match {ids[0]}"
    assert hit in explain("two.sqlite", ids[0]).out


def test_explain_names_the_setting_that_caused_a_miss(explain: Command, ids: list[str]) -> None:
    warm = run_again("two.sqlite", model={"temperature": 1.5})
    options = ("--request", "0", "--actor", "alice", "--json")
    (explanation,) = explain("two.sqlite", warm[0], *options).json
    assert explanation["hit"] is False
    assert explanation["result"].startswith("miss; the nearest other request, of match ")
    assert explanation["differences"] == ["settings.temperature is 1.5 (stored: missing)"]


def test_explain_works_for_unfinished_matches(explain: Command, ids: list[str]) -> None:
    run_again("two.sqlite", budget={"calls": 1}, pairing=[["tiny", "tiny"]])
    with ct.Store.open("two.sqlite") as store:
        (unfinished,) = store.with_open_calls()
    output = explain("two.sqlite", unfinished).out
    assert "request 0 alice: hit: stored by match" in output


def test_explain_reads_calls_from_files(explain: Command, tmp_path: Path, ids: list[str]) -> None:
    with Cache(tmp_path / "replies.sqlite") as cache:
        request = next(cache.entries()).request
    call = tmp_path / "call.json"
    call.write_text(json.dumps(request))
    assert "call.json: hit: stored by match" in explain("one.sqlite", str(call)).out
    call.write_text(json.dumps(request | {"model": "vllm/other"}))
    output = explain("one.sqlite", str(call)).out
    assert "miss" in output
    assert "model differs from the stored request at character 5" in output
    call.write_text("[]")
    assert "contains no valid call to a model" in explain("one.sqlite", str(call)).rejection
