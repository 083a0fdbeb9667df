"""A reply id that repeats for a different request is a failure of the server."""

from typing import Any

import cheaptalk as ct
from cheaptalk.models import ChatMessage, Failure, ModelCall, Reply, Usage
from cheaptalk.models.http.reply_ids import ReplyIds
from cheaptalk.records import Status, Store
from tests.fakes import Canned, legal, study, with_model

ID = "chatcmpl-0123456789abcdef"


def call(prompt: str = "Your price?", model: str = "vllm/tiny", **more: Any) -> ModelCall:
    return ModelCall(model=model, messages=(ChatMessage(role="user", content=prompt),), **more)


def reply(id_: str | None = ID) -> Reply:
    return Reply(text="7", id=id_, usage=Usage(input_tokens=5, output_tokens=1))


def test_repeated_id_for_other_request_is_provider_error() -> None:
    ids = ReplyIds()
    assert ids.checked(call(), reply()) == reply()
    repeated = ids.checked(call("Your last price?"), reply())
    assert (repeated.text, repeated.failure, repeated.retry) == (None, Failure.PROVIDER_ERROR, True)
    assert repeated.detail is not None
    assert ID in repeated.detail
    assert repeated.usage == reply().usage, "it may be billed"


def test_equal_requests_missing_ids_and_other_servers_are_accepted() -> None:
    ids = ReplyIds()
    for prompt in ("one", "two"):
        assert ids.checked(call(prompt), reply(None)) == reply(None)
    for _ in range(2):
        assert ids.checked(call("one"), reply()) == reply()
    assert ids.checked(call("two", "vllm/tiny@http://gpu/v1"), reply()) == reply()


def test_call_with_reply_to_other_request_is_retried(store: Store, no_waits: None) -> None:
    numbers: list[str] = []

    def repeat_replies(call: ModelCall, number: str) -> Reply:
        """Answer every second call with the previous reply id."""
        repeated = len(numbers) % 2 == 1 and numbers[-1] != number
        numbers.append(number)
        id_ = f"chatcmpl-{len(numbers) - repeated:030}"
        return reply(id_).model_copy(update={"text": legal(call)})

    models = Canned(repeat_replies)
    progress = ct.run(study(**with_model()), store, models=models, concurrency=1)
    assert progress.counts == {Status.FINISHED: 6}
    answers = [
        answer for record in store.records("small", bodies=True) for answer in record.answers
    ]
    ids = [call["reply"]["id"] for answer in answers for call in answer.calls]
    assert len(ids) == len(set(ids)) < len(models.calls)
