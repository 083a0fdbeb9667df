"""The reply cache: exact keys, concurrent access, and damaged entries."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from cheaptalk.models import Failure, ModelCall, Reply, Usage
from cheaptalk.records.cache import Cache, CacheError, Replicate, Request, differences

HERE = Replicate("0/abc/0", 0, "alice", 0)
REPLY = Reply(
    text="Yes.", model="tiny-1", seconds=2.0, usage=Usage(input_tokens=9, output_tokens=1)
)
CHAT = [
    {"role": "system", "content": "You are Alice."},
    {"role": "user", "content": "Do you accept $50?"},
]
PLAIN: dict[str, Any] = {
    "model": "openai/gpt-4o",
    "messages": CHAT,
    "settings": {"temperature": 0.5, "top_p": 0.9, "max_tokens": 100, "seed": 1},
    "form": {"name": "Reply", "json_schema": {"type": "object"}, "route": "auto"},
}


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    with Cache(tmp_path / "folder" / "cache.sqlite") as opened:
        yield opened


def request(replicate: Replicate | None = HERE, **changes: Any) -> Request:
    call = ModelCall.model_validate(PLAIN | changes)
    return Request.of(call.model_dump(mode="json", exclude_none=True), replicate)


def replace_message(place: int, content: str) -> list[dict[str, str]]:
    messages = [dict(message) for message in CHAT]
    messages[place]["content"] = content
    return messages


def test_hit_returns_reply_at_no_cost(cache: Cache) -> None:
    assert cache.get(request()) is None
    cache.put(request(), REPLY)
    hit = cache.get(request())
    assert hit is not None
    assert (hit.text, hit.model, hit.cached) == ("Yes.", "tiny-1", True)
    assert (hit.usage, hit.saved, hit.seconds) == (Usage(), REPLY.usage, 0.0)
    cache.put(request(), REPLY)
    assert cache.get(request(model="openai/gpt-4o@https://api.openai.com/v1/")) is not None
    assert cache.get(request(model="openai/gpt-4o@https://elsewhere.example/v1")) is None


def test_incomplete_replies_are_not_cached(cache: Cache) -> None:
    failures = Failure.REFUSED, Failure.FILTERED, Failure.PROVIDER_ERROR, Failure.TIMED_OUT
    for reply in (
        *(Reply(failure=failure) for failure in failures),
        Reply(text="The answer is", finish="length"),
        Reply(text=""),
        Reply(text=" \n"),
        REPLY.model_copy(update={"cached": True}),
    ):
        cache.put(request(), reply)
        assert cache.find(request()) is None, reply


def test_damaged_entry_misses_until_replaced(cache: Cache) -> None:
    for column in ("request", "reply", "proof"):
        cache.put(request(), REPLY)
        with closing(sqlite3.connect(cache.path)) as file, file:
            file.execute(f"UPDATE replies SET {column} = 'x' || {column}")  # noqa: S608 - a constant
        file.close()
        assert cache.get(request()) is None
        assert cache.damaged
        assert list(cache.entries()) == []
        cache.put(request(), REPLY)
        assert cache.get(request()) is not None


def test_entry_with_wrong_key_misses(cache: Cache) -> None:
    cache.put(Request(request(model="openai/other").data, request().key), REPLY)
    assert cache.get(request()) is None


def write_replies(path: Path, writer: int) -> None:
    with Cache(path) as cache:
        for number in range(20):
            both = request(Replicate("both", number, "alice", 0))
            cache.put(both, REPLY)
            cache.put(request(Replicate(f"of {writer}", number, "alice", 0)), REPLY)
            assert cache.get(both) is not None


def test_processes_share_a_cache(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    spawn = get_context("forkserver")
    writers = [spawn.Process(target=write_replies, args=(path, writer)) for writer in range(2)]
    for process in writers:
        process.start()
    for process in writers:
        process.join()
    assert [process.exitcode for process in writers] == [0] * 2
    with Cache(path, create=False) as cache:
        assert sum(shelf.replies for shelf in cache.shelves()) == 3 * 20


def test_differences_name_the_field_and_nearest_request(cache: Cache) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"model": "openai/gpt-5"}, "model differs from the stored request at character"),
        ({"settings": {"temperature": 1}}, "settings.temperature is 1.0 (stored: 0.5)"),
        ({"form": None}, "form is missing (stored: {"),
        ({"messages": replace_message(1, "Hm?")[:1]}, "messages has 1 entry (stored: 2)"),
        ({"settings": PLAIN["settings"] | {"stop": [""]}}, "settings.stop is "),
        ({"messages": replace_message(0, "You are Alice!")}, "messages[0].content differs"),
        ({"replicate": HERE._replace(seed="0/abc/1")}, "replicate.seed differs"),
        ({"replicate": HERE._replace(request=3)}, "replicate.request is 3 (stored: 0)"),
        ({"replicate": HERE._replace(actor="bob")}, "replicate.actor differs"),
        ({"replicate": HERE._replace(attempt=1)}, "replicate.attempt is 1 (stored: 0)"),
        ({"replicate": None}, "replicate is null (stored: {"),
    ]
    for changes, difference in cases:
        changed = request(**changes)
        assert changed.key != request().key
        lines = list(differences(changed.data, request().data))
        assert [line for line in lines if line.startswith(difference)], lines
    cache.put(request(messages=replace_message(1, "Something else?"), settings={}), REPLY)
    cache.put(request(messages=replace_message(1, "Do you accept $40?")), REPLY, match="before")
    cache.put(request(model="vllm/other", settings={"seed": 2}), REPLY)
    cache.put(request(), REPLY, match="this")
    entry = cache.nearest(request(), but_not_of="this")
    assert entry is not None
    assert entry.match == "before"
    place = "messages[1].content differs"
    here, there = '"…you accept $50?"', '"…you accept $40?"'
    assert list(differences(request().data, entry.request)) == [
        f"{place} from the stored request at character 15: {here} (stored: {there})"
    ]
    exact = cache.nearest(request())
    assert exact is not None
    assert list(differences(request().data, exact.request)) == []


def test_clear_removes_matching_and_damaged_entries(cache: Cache) -> None:
    cache.put(request(), REPLY)
    cache.put(request(model="vllm/other"), REPLY)
    assert cache.clear(before=0.0) == 0
    assert cache.clear("vllm/*") == 1
    assert cache.get(request()) is not None
    with closing(sqlite3.connect(cache.path)) as file, file:
        file.execute("UPDATE replies SET request = 'x'")
    file.close()
    assert cache.clear("openai/*") == 0
    assert cache.clear() == 1


def test_hard_linked_cache_is_rejected(cache: Cache, tmp_path: Path) -> None:
    cache.close()
    other = tmp_path / "other.sqlite"
    other.hardlink_to(cache.path)
    for path in (cache.path, other):
        with pytest.raises(CacheError, match=f"^the cache {path} has a hard link"):
            Cache(path)
    other.unlink()
    Cache(cache.path).close()


def test_invalid_cache_files_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(CacheError, match="no cache at"):
        Cache(tmp_path / "none.sqlite", create=False)
    text = tmp_path / "text.sqlite"
    text.write_text("This is a letter. " * 100)
    with pytest.raises(CacheError, match="cannot be used: file is not a database"):
        Cache(text)
    other = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(other)) as file, file:
        file.execute("CREATE TABLE letters (words TEXT)")
    file.close()
    with pytest.raises(CacheError, match="is a database, but not a cache"):
        Cache(other)
    with (
        Cache(tmp_path / "new.sqlite"),
        closing(sqlite3.connect(tmp_path / "new.sqlite")) as file,
    ):
        file.execute("PRAGMA user_version=99")
    file.close()
    with pytest.raises(CacheError, match="newer cheaptalk"):
        Cache(tmp_path / "new.sqlite")
