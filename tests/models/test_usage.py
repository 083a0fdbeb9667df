"""What servers say of tokens is believed where it can be true, else counted by us."""

from typing import Any

import pytest
from aiohttp import web

from cheaptalk.models import ChatMessage, ModelCall, ModelSettings, Reply, Usage
from cheaptalk.models.http import anthropic, openai
from cheaptalk.models.usage import metered
from tests.models.serving import always, exchange

ASKED = "Your price, please? " * 30
SAID = "I ask for seven hundred dollars and not a cent less, as you will understand. " * 4
CALL = ModelCall(model="openai/gpt-4o", messages=(ChatMessage(role="user", content=ASKED),))
OWN = Usage(input_tokens=200, output_tokens=-(-len(SAID) // 3))


def chat(usage: Any, **message: Any) -> dict[str, Any]:
    """A completion in the chat format with this usage."""
    said = {"message": {"content": SAID} | message, "finish_reason": "stop"}
    return {"choices": [said], "usage": usage}


def counted(asked: Any, answered: Any, **more: Any) -> dict[str, Any]:
    return {"prompt_tokens": asked, "completion_tokens": answered} | more


def read(usage: Any, call: ModelCall = CALL, /, **message: Any) -> Reply:
    return metered(openai.read(chat(usage, **message)), call)


@pytest.mark.parametrize(
    "usage",
    [
        counted(1, 0),
        counted(0, 0),
        counted(150, 0),
        counted(1, 70),
        counted(150, -70),
        counted(150, 7.5),
        counted(150, 10**15),
        counted(10**15, 70),
        counted(150, 70, total_tokens=100),
        counted(150, 70, prompt_tokens_details={"cached_tokens": 151}),
        counted(150, 70, completion_tokens_details={"reasoning_tokens": 71}),
        [150, 70],
        "150 and 70",
    ],
    ids=str,
)
def test_usage_that_cannot_be_true_is_counted_by_us_and_kept_as_reported(usage: Any) -> None:
    reply = read(usage)
    assert (reply.text, reply.failure) == (SAID, None)
    assert reply.usage == OWN
    assert reply.reported


@pytest.mark.parametrize(
    ("usage", "found"),
    [
        (counted(90, 40), Usage(input_tokens=90, output_tokens=40)),
        (counted(9_000, 70), Usage(input_tokens=9_000, output_tokens=70)),
        (
            counted(150, 70, total_tokens=50_220),
            Usage(input_tokens=150, output_tokens=50_070, reasoning_tokens=50_000),
        ),
        (None, Usage()),
        (counted(None, None), Usage()),
    ],
    ids=str,
)
def test_usage_that_can_be_true_is_the_server_s(usage: Any, found: Usage) -> None:
    reply = read(usage)
    assert (reply.usage, reply.reported) == (found, None)


def test_an_answer_has_no_more_tokens_than_were_asked_for() -> None:
    settings = ModelSettings(max_tokens=100)
    call = CALL.model_copy(update={"settings": settings})
    short: dict[str, Any] = {"content": "Seven."}
    assert read(counted(150, 100), call, **short).reported is None
    assert read(counted(150, 101), call, **short).usage.output_tokens == 2
    assert read(counted(150, 101), **short).reported is None, "it may have reasoned"


def test_our_own_count_takes_reasoning_as_it_came_or_at_the_most() -> None:
    update = {"model": "openai/o3", "settings": ModelSettings(reasoning="low")}
    call = CALL.model_copy(update=update)
    unseen, seen = read(counted(1, 0), call), read(counted(1, 0), call, reasoning="Well. " * 10)
    assert unseen.usage.reasoning_tokens == 2_000
    assert unseen.usage.output_tokens == OWN.output_tokens + 2_000
    assert seen.usage.reasoning_tokens == 20


def test_what_is_refused_unread_and_billed_nothing_is_believed() -> None:
    filtered = {"choices": [{"message": {}, "finish_reason": "content_filter"}]}
    reply = metered(openai.read(filtered | {"usage": counted(0, 0)}), CALL)
    assert (reply.usage, reply.reported) == (Usage(), None)
    turned_away = {"error": {"message": "busy", "code": 503}, "usage": counted(-1, 0)}
    reply = metered(openai.read(turned_away), CALL)
    assert (reply.usage, reply.reported is None) == (Usage(), False)


def test_kinds_of_input_that_are_counted_apart_are_each_a_count() -> None:
    usage = {"input_tokens": 100, "cache_read_input_tokens": -50, "output_tokens": 70}
    said = {"content": [{"type": "text", "text": SAID}], "usage": usage}
    assert metered(anthropic.read(said), CALL).usage == OWN


def test_an_agent_may_use_any_number_of_tokens_that_is_one() -> None:
    def call(url: str) -> ModelCall:
        return CALL.model_copy(update={"model": f"agent/mine@{url}"})

    used = {"input_tokens": 0, "output_tokens": 10**6}
    (reply,), _ = exchange(always({"text": SAID, "usage": used}), call)
    assert (reply.usage, reply.reported) == (Usage(**used), None)
    (reply,), _ = exchange(always({"text": SAID, "usage": {"output_tokens": -1}}), call)
    assert reply.usage == OWN


def test_a_stream_s_count_is_judged_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")

    async def stream(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        choice = f'{{"delta": {{"content": "{SAID}"}}, "finish_reason": "stop"}}'
        lines = [f'data: {{"choices": [{choice}]}}', 'data: {"choices": [], "usage": [1e999]}']
        return web.Response(text="\n\n".join(lines), content_type="text/event-stream")

    def call(url: str) -> ModelCall:
        settings = ModelSettings(stream=True)
        return CALL.model_copy(update={"model": f"openai/gpt-4o@{url}/v1", "settings": settings})

    (reply,), _ = exchange(stream, call)
    assert (reply.text, reply.usage) == (SAID, OWN)
