"""Runs with a cache: what was bought is not bought again, and no two samples are one reply."""

from pathlib import Path
from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.calls.batches import Batching
from cheaptalk.models import ModelCall, Reply, Usage
from cheaptalk.players import Kind
from cheaptalk.records import Cache, CacheError, Status, Store
from tests.batch_server import BatchServer
from tests.fakes import Canned, broken, essence, legal, study, with_model


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "cache.sqlite"


def elsewhere(tmp_path: Path) -> Store:
    """Another store that knows nothing yet."""
    return Store.open(tmp_path / "elsewhere.sqlite", create=True)


def said(store: Store) -> dict[str, list[str]]:
    """What was replied in each match."""
    return {
        record.id: [call["reply"]["text"] for call in calls_of(record)]
        for record in store.records("small", bodies=True)
    }


def calls_of(record: ct.MatchRecord) -> list[dict[str, Any]]:
    return [call for answer in record.answers for call in answer.calls]


class Numbered(Canned):
    """Models of which no two replies are alike."""

    def __init__(self) -> None:
        super().__init__(lambda call, number: f"{number}: {legal(call)}")


def test_a_study_played_elsewhere_buys_nothing(tmp_path: Path, file: Path, store: Store) -> None:
    first = ct.run(study(**with_model()), store, models=Numbered(), cache=file)
    assert first.cached is not None
    assert first.cached.hits + first.cached.misses == sum(map(len, said(store).values()))
    with elsewhere(tmp_path) as other:
        models = Numbered()
        again = ct.run(study(**with_model()), other, models=models, cache=file)
        assert models.calls == []
        hits = sum(map(len, said(store).values()))
        assert again.cached == (hits, 0, 10 * hits, 0)
        assert said(other) == said(store)
        for record in other.records("small", bodies=True):
            assert (record.calls, record.input_tokens, record.output_tokens) == (0, 0, 0)
            for call in calls_of(record):
                assert call["reply"]["cached"] is True
                assert call["reply"]["saved"]["input_tokens"] == 9
            assert {answer.kind for answer in record.answers} <= {Kind.OK, Kind.REPAIRED}


def test_another_opponent_hits_where_the_words_are_the_same(tmp_path: Path, file: Path) -> None:
    changes = with_model()
    with elsewhere(tmp_path) as other:
        ct.run(study(**changes), other, models=Canned(), cache=file)
        changes["players"]["fair"] = {"strategy": "fixed_demand"}
        models = Canned()
        progress = ct.run(study(**changes), other, models=models, cache=file)
    assert progress.cached is not None
    assert progress.cached.hits >= 3, "the first offers, which depend on no opponent"
    assert models.calls, "answers to other offers"


def test_instances_and_repeats_never_share_a_reply(file: Path, store: Store) -> None:
    plan = study(**with_model() | {"repeats": 2})
    progress = ct.run(plan, store, models=Numbered(), cache=file)
    assert progress.cached is not None
    assert progress.cached.hits == 0
    replies = [text for texts in said(store).values() for text in texts]
    assert len(set(replies)) == len(replies)


def test_the_same_question_at_the_same_time_is_bought_once(file: Path, store: Store) -> None:
    changes = with_model()
    changes["players"]["firm"] = {"strategy": "fixed_demand"}
    changes["pairing"] = [["tiny", "fair"], ["tiny", "firm"]]
    models = Numbered()
    models.pause = 0.01
    progress = ct.run(study(**changes), store, models=models, cache=file)
    assert progress.cached is not None
    assert progress.cached.hits >= 3
    assert len(models.calls) == progress.cached.misses
    first = [texts[0] for texts in said(store).values()]
    assert len(set(first)) == 3, "one for each instance"


def test_a_failed_purchase_leaves_its_twin_to_buy(file: Path, store: Store) -> None:
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


def test_hits_count_against_no_budget(tmp_path: Path, file: Path, store: Store) -> None:
    ct.run(study(**with_model()), store, models=Canned(), cache=file)
    with elsewhere(tmp_path) as other:
        plan = study(**with_model(), budget={"calls": 1, "tokens": 1})
        assert ct.run(plan, other, models=Canned(), cache=file).left == 0


def test_what_is_no_answer_is_bought_again(tmp_path: Path, file: Path, store: Store) -> None:
    def cut_off(call: ModelCall, number: str) -> Reply:
        return Reply(text='{"alice_gain": 5', finish="length", usage=Usage(output_tokens=1))

    ct.run(study(**with_model()), store, models=Canned(cut_off), cache=file)
    with elsewhere(tmp_path) as other:
        models = Canned()
        ct.run(study(**with_model()), other, models=models, cache=file)
        assert len(models.calls) == sum(map(len, said(other).values()))


def test_a_run_that_was_stopped_takes_its_hits_from_the_store(
    tmp_path: Path, file: Path, store: Store
) -> None:
    ct.run(study(**with_model()), store, models=Canned(), cache=file)
    with Cache(file) as cache:
        made = sorted(entry.made for entry in cache.entries())
        cache.clear(before=made[len(made) // 2])
    with elsewhere(tmp_path) as other:
        capped = study(**with_model(), budget={"calls": 1})
        stopped = ct.run(capped, other, models=Canned(), cache=file)
        assert stopped.halted
        assert stopped.cached is not None
        ct.run(study(**with_model()), other, models=Canned())
        hits = [call for one in other.records("small", bodies=True) for call in calls_of(one)
                if call["reply"]["cached"]]  # fmt: skip
        assert len(hits) == stopped.cached.hits > 0
        assert said(other) == said(store)


def test_batches_and_the_cache_go_together(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, file: Path, store: Store
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-open-secret")
    quick = Batching(poll=0.01)
    with BatchServer() as server, elsewhere(tmp_path) as other:
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
        assert said(other) == said(store)


def test_without_a_cache_nothing_is_kept(file: Path, store: Store) -> None:
    progress = ct.run(study(**with_model()), store, models=Canned())
    assert progress.cached is None
    assert not file.exists()


def test_a_cache_that_is_none_stops_the_run_before_anything_is_written(
    file: Path, store: Store
) -> None:
    file.write_text("Dear reader, " * 100)
    with pytest.raises(CacheError, match="cannot be used"):
        ct.run(study(**with_model()), store, models=Canned(), cache=file)
    assert store.studies() == []


def test_a_hit_s_record_is_otherwise_the_same(tmp_path: Path, file: Path, store: Store) -> None:
    ct.run(study(**with_model()), store, models=Canned(), cache=file)
    with elsewhere(tmp_path) as other:
        ct.run(study(**with_model()), other, models=Canned(), cache=file)
        for one, two in zip(
            store.records("small", bodies=True), other.records("small", bodies=True), strict=True
        ):
            assert [a["action"] for a in essence(one)["answers"]] == [
                a["action"] for a in essence(two)["answers"]
            ]
