"""Runs with a cache: cached calls aren't paid for again, and samples don't share a reply."""

from pathlib import Path
from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.calls.batches import Batching
from cheaptalk.models import ModelCall, Reply, Usage
from cheaptalk.players import Kind
from cheaptalk.records import Cache, CacheError, Status, Store
from tests.batch_server import BatchServer
from tests.fakes import Canned, broken, legal, study, with_model


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "cache.sqlite"


def empty_store(tmp_path: Path) -> Store:
    """Open another, empty store."""
    return Store.open(tmp_path / "elsewhere.sqlite", create=True)


def calls_in(store: Store) -> list[dict[str, Any]]:
    """Return the calls of all matches, in order of the matches."""
    records = sorted(store.records("small", bodies=True), key=lambda record: record.id)
    return [call for record in records for answer in record.answers for call in answer.calls]


def reply_texts(store: Store) -> list[str]:
    return [call["reply"]["text"] for call in calls_in(store)]


def with_two_opponents(**changes: Any) -> ct.Study:
    """Return a study whose model meets two opponents, with the same first prompts."""
    spec = with_model()
    spec["players"]["firm"] = {"strategy": "fixed_demand"}
    return study(**spec | {"pairing": [["tiny", "fair"], ["tiny", "firm"]]} | changes)


class Numbered(Canned):
    """Models whose replies are all different."""

    def __init__(self) -> None:
        super().__init__(lambda call, number: f"{number}: {legal(call)}")


def test_another_store_is_served_from_the_cache(tmp_path: Path, file: Path, store: Store) -> None:
    first = ct.run(study(**with_model()), store, models=Numbered(), cache=file)
    hits = len(reply_texts(store))
    assert first.cached is not None
    assert first.cached.hits + first.cached.misses == hits
    with empty_store(tmp_path) as other:
        models = Numbered()
        plan = study(**with_model(), budget={"calls": 1, "tokens": 1})
        again = ct.run(plan, other, models=models, cache=file)
        assert (models.calls, again.left, again.cached) == ([], 0, (hits, 0, 10 * hits, 0))
        assert reply_texts(other) == reply_texts(store)
        for record in other.records("small", bodies=True):
            assert (record.calls, record.input_tokens, record.output_tokens) == (0, 0, 0)
            assert {answer.kind for answer in record.answers} <= {Kind.OK, Kind.REPAIRED}
        for call in calls_in(other):
            assert call["reply"]["cached"] is True
            assert call["reply"]["saved"]["input_tokens"] == 9
        uncached = ct.run(study(**with_model(temperature=1)), other, models=Canned())
        assert uncached.cached is None


def test_instances_and_repeats_do_not_share_replies(file: Path, store: Store) -> None:
    plan = study(**with_model() | {"repeats": 2})
    progress = ct.run(plan, store, models=Numbered(), cache=file)
    assert progress.cached is not None
    assert progress.cached.hits == 0
    replies = reply_texts(store)
    assert len(set(replies)) == len(replies)


def test_identical_concurrent_calls_are_paid_for_once(file: Path, store: Store) -> None:
    models = Numbered()
    models.pause = 0.01
    progress = ct.run(with_two_opponents(), store, models=models, cache=file)
    assert progress.cached is not None
    assert progress.cached.hits >= 3, "the first offers, which depend on no opponent"
    assert len(models.calls) == progress.cached.misses
    assert len(set(reply_texts(store))) == len(models.calls)


def test_identical_call_is_sent_after_the_first_fails(file: Path, store: Store) -> None:
    failed: list[str] = []

    def fails_once(call: ModelCall, number: str) -> str | Reply:
        if not failed:
            failed.append(number)
            return broken(retry=False)
        return legal(call)

    models = Canned(fails_once, pause=0.01)
    progress = ct.run(with_two_opponents(instances=1), store, models=models, cache=file)
    assert progress.counts == {Status.FAILED: 1, Status.FINISHED: 1}
    assert models.calls[0] == models.calls[1]


def test_incomplete_answers_are_not_cached(tmp_path: Path, file: Path, store: Store) -> None:
    def cut_off(call: ModelCall, number: str) -> Reply:
        return Reply(text='{"alice_gain": 5', finish="length", usage=Usage(output_tokens=1))

    ct.run(study(**with_model()), store, models=Canned(cut_off), cache=file)
    with empty_store(tmp_path) as other:
        models = Canned()
        ct.run(study(**with_model()), other, models=models, cache=file)
        assert len(models.calls) == len(reply_texts(other))
    file.write_text("Dear reader, " * 100)
    with pytest.raises(CacheError, match="cannot be used"):
        ct.run(study(name="new"), store, cache=file)
    assert [summary.name for summary in store.studies()] == ["small"]


def test_resumed_run_reads_earlier_hits_from_the_store(
    tmp_path: Path, file: Path, store: Store
) -> None:
    ct.run(study(**with_model()), store, models=Canned(), cache=file)
    with Cache(file) as cache:
        made = sorted(entry.made for entry in cache.entries())
        cache.clear(before=made[len(made) // 2])
    with empty_store(tmp_path) as other:
        capped = study(**with_model(), budget={"calls": 1})
        stopped = ct.run(capped, other, models=Canned(), cache=file)
        assert stopped.halted
        assert stopped.cached is not None
        ct.run(study(**with_model()), other, models=Canned())
        hits = [call for call in calls_in(other) if call["reply"]["cached"]]
        assert len(hits) == stopped.cached.hits > 0
        assert reply_texts(other) == reply_texts(store)


def test_batches_use_the_cache(tmp_path: Path, file: Path, store: Store) -> None:
    with BatchServer() as server, empty_store(tmp_path) as other:
        scripts = {"fair": {"strategy": "equal_split"}, "firm": {"strategy": "fixed_demand"}}
        players = {"tiny": {"model": f"openai/gpt-4o@{server.url}"}} | scripts
        plan, quick = with_two_opponents(players=players), Batching(poll=0.01)
        first, again = (ct.run(plan, to, cache=file, batching=quick) for to in (store, other))
        assert first.cached is not None
        assert first.cached.hits >= 3
        assert sum(server.sizes) == first.cached.misses == server.billed.total()
        assert again.cached is not None
        assert again.cached.misses == 0
        assert reply_texts(other) == reply_texts(store)
