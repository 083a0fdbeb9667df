"""A reply answers one request: a server that repeats a reply's id for another one has failed."""

from typing import Any

import cheaptalk as ct
from cheaptalk.models import ChatMessage, Failure, ModelCall, Reply, Usage
from cheaptalk.models.reply_ids import ReplyIds
from cheaptalk.records import Status, Store
from tests.fakes import Canned, legal, study, with_model

ID = "chatcmpl-0123456789abcdef"


def call(said: str = "Your price?", model: str = "vllm/tiny", **more: Any) -> ModelCall:
    return ModelCall(model=model, messages=(ChatMessage(role="user", content=said),), **more)


def reply(id_: str | None = ID) -> Reply:
    return Reply(text="7", id=id_, usage=Usage(input_tokens=5, output_tokens=1))


def test_a_reply_to_another_request_is_the_provider_s_failure() -> None:
    ids = ReplyIds()
    assert ids.checked(call(), reply()) == reply()
    again = ids.checked(call("Your last price?"), reply())
    assert (again.text, again.failure, again.retry) == (None, Failure.PROVIDER_ERROR, True)
    assert again.detail is not None
    assert ID in again.detail
    assert again.usage == reply().usage, "it may be billed"


def test_replies_without_an_id_and_of_other_servers_are_not_compared() -> None:
    ids = ReplyIds()
    for said in ("one", "two"):
        assert ids.checked(call(said), reply(None)) == reply(None)
    ids.checked(call("one"), reply())
    assert ids.checked(call("two", "vllm/tiny@http://gpu/v1"), reply()) == reply()


def test_a_cache_may_answer_the_same_request_again() -> None:
    ids = ReplyIds()
    assert [ids.checked(call(), reply()).text for _ in range(2)] == ["7", "7"]


def test_a_call_that_got_another_s_reply_is_sent_again(store: Store, no_waits: None) -> None:
    given: list[str] = []

    def confused(call: ModelCall, number: str) -> Reply:
        """Answer each second call with the reply to the one before."""
        repeated = len(given) % 2 == 1 and given[-1] != number
        given.append(number)
        id_ = f"chatcmpl-{len(given) - repeated:030}"
        return Reply(text=legal(call), id=id_, usage=Usage(input_tokens=9, output_tokens=1))

    models = Canned(confused)
    progress = ct.run(study(**with_model()), store, models=models, concurrency=1)
    assert progress.counts == {Status.FINISHED: 6}
    records = list(store.records("small", bodies=True))
    kept = [
        entry["reply"]["id"] for one in records for answer in one.answers for entry in answer.calls
    ]
    assert len(kept) == len(set(kept)) < len(models.calls)
