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


def reply_texts(store: Store) -> dict[str, list[str]]:
    """Return the texts of the replies in each match."""
    return {
        record.id: [call["reply"]["text"] for call in calls_of(record)]
        for record in store.records("small", bodies=True)
    }


def calls_of(record: ct.MatchRecord) -> list[dict[str, Any]]:
    return [call for answer in record.answers for call in answer.calls]


class Numbered(Canned):
    """Models whose replies are all different."""

    def __init__(self) -> None:
        super().__init__(lambda call, number: f"{number}: {legal(call)}")


def test_another_store_is_served_from_the_cache(tmp_path: Path, file: Path, store: Store) -> None:
    first = ct.run(study(**with_model()), store, models=Numbered(), cache=file)
    assert first.cached is not None
    assert first.cached.hits + first.cached.misses == sum(map(len, reply_texts(store).values()))
    with empty_store(tmp_path) as other:
        models = Numbered()
        again = ct.run(study(**with_model()), other, models=models, cache=file)
        assert models.calls == []
        hits = sum(map(len, reply_texts(store).values()))
        assert again.cached == (hits, 0, 10 * hits, 0)
        assert reply_texts(other) == reply_texts(store)
        for record in other.records("small", bodies=True):
            assert (record.calls, record.input_tokens, record.output_tokens) == (0, 0, 0)
            for call in calls_of(record):
                assert call["reply"]["cached"] is True
                assert call["reply"]["saved"]["input_tokens"] == 9
            assert {answer.kind for answer in record.answers} <= {Kind.OK, Kind.REPAIRED}


def test_identical_prompts_hit_with_another_opponent(tmp_path: Path, file: Path) -> None:
    changes = with_model()
    with empty_store(tmp_path) as other:
        ct.run(study(**changes), other, models=Canned(), cache=file)
        changes["players"]["fair"] = {"strategy": "fixed_demand"}
        models = Canned()
        progress = ct.run(study(**changes), other, models=models, cache=file)
    assert progress.cached is not None
    assert progress.cached.hits >= 3, "the first offers, which depend on no opponent"
    assert models.calls, "answers to other offers"


def test_instances_and_repeats_do_not_share_replies(file: Path, store: Store) -> None:
    plan = study(**with_model() | {"repeats": 2})
    progress = ct.run(plan, store, models=Numbered(), cache=file)
    assert progress.cached is not None
    assert progress.cached.hits == 0
    replies = [text for texts in reply_texts(store).values() for text in texts]
    assert len(set(replies)) == len(replies)


def test_identical_concurrent_calls_are_paid_for_once(file: Path, store: Store) -> None:
    changes = with_model()
    changes["players"]["firm"] = {"strategy": "fixed_demand"}
    changes["pairing"] = [["tiny", "fair"], ["tiny", "firm"]]
    models = Numbered()
    models.pause = 0.01
    progress = ct.run(study(**changes), store, models=models, cache=file)
    assert progress.cached is not None
    assert progress.cached.hits >= 3
    assert len(models.calls) == progress.cached.misses
    first = [texts[0] for texts in reply_texts(store).values()]
    assert len(set(first)) == 3, "one for each instance"


def test_identical_call_is_sent_after_the_first_fails(file: Path, store: Store) -> None:
    changes = with_model()
    changes["players"]["firm"] = {"strategy": "fixed_demand"}
    changes |= {"pairing": [["tiny", "fair"], ["tiny", "firm"]], "instances": 1}
    failed: list[str] = []

    def fails_once(call: ModelCall, number: str) -> str | Reply:
        if not failed:
            failed.append(number)
            return broken(retry=False)
        return legal(call)

    models = Canned(fails_once, pause=0.01)
    progress = ct.run(study(**changes), store, models=models, cache=file)
    assert progress.counts == {Status.FAILED: 1, Status.FINISHED: 1}
    assert models.calls[0] == models.calls[1]


def test_cache_hits_use_no_budget(tmp_path: Path, file: Path, store: Store) -> None:
    ct.run(study(**with_model()), store, models=Canned(), cache=file)
    with empty_store(tmp_path) as other:
        plan = study(**with_model(), budget={"calls": 1, "tokens": 1})
        assert ct.run(plan, other, models=Canned(), cache=file).left == 0


def test_incomplete_answers_are_not_cached(tmp_path: Path, file: Path, store: Store) -> None:
    def cut_off(call: ModelCall, number: str) -> Reply:
        return Reply(text='{"alice_gain": 5', finish="length", usage=Usage(output_tokens=1))

    ct.run(study(**with_model()), store, models=Canned(cut_off), cache=file)
    with empty_store(tmp_path) as other:
        models = Canned()
        ct.run(study(**with_model()), other, models=models, cache=file)
        assert len(models.calls) == sum(map(len, reply_texts(other).values()))


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
        hits = [
            call
            for record in other.records("small", bodies=True)
            for call in calls_of(record)
            if call["reply"]["cached"]
        ]
        assert len(hits) == stopped.cached.hits > 0
        assert reply_texts(other) == reply_texts(store)


def test_batches_use_the_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, file: Path, store: Store
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-open-secret")
    quick = Batching(poll=0.01)
    with BatchServer() as server, empty_store(tmp_path) as other:
        changes = with_model()
        changes["players"] |= {
            "tiny": {"model": f"openai/gpt-4o@{server.url}"},
            "firm": {"strategy": "fixed_demand"},
        }
        changes["pairing"] = [["tiny", "fair"], ["tiny", "firm"]]
        first = ct.run(study(**changes), store, cache=file, batching=quick)
        assert first.cached is not None
        assert first.cached.hits >= 3
        bought = sum(server.sizes)
        assert bought == first.cached.misses == server.billed.total()
        ct.run(study(**changes), other, cache=file, batching=quick)
        assert sum(server.sizes) == bought
        assert reply_texts(other) == reply_texts(store)


def test_run_without_a_cache_writes_none(file: Path, store: Store) -> None:
    progress = ct.run(study(**with_model()), store, models=Canned())
    assert progress.cached is None
    assert not file.exists()


def test_invalid_cache_file_stops_the_run_before_any_write(file: Path, store: Store) -> None:
    file.write_text("Dear reader, " * 100)
    with pytest.raises(CacheError, match="cannot be used"):
        ct.run(study(**with_model()), store, models=Canned(), cache=file)
    assert store.studies() == []
