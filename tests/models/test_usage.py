"""Token usage reported by servers is accepted if plausible, and estimated otherwise."""

from typing import Any

from cheaptalk.models import ChatMessage, ModelCall, ModelSettings, Reply, Usage
from cheaptalk.models.http import anthropic, openai
from cheaptalk.models.usage import metered
from tests.models.serving import always, exchange

PROMPT = "Your price, please? " * 30
ANSWER = "I ask for seven hundred dollars and not a cent less, as you will understand. " * 4
CALL = ModelCall(model="openai/gpt-4o", messages=(ChatMessage(role="user", content=PROMPT),))
ESTIMATE = Usage(input_tokens=200, output_tokens=-(-len(ANSWER) // 3))


def chat_response(usage: Any, **message: Any) -> dict[str, Any]:
    """Return a completion in the chat format with this usage."""
    choice = {"message": {"content": ANSWER} | message, "finish_reason": "stop"}
    return {"choices": [choice], "usage": usage}


def counts(prompt: Any, completion: Any, **more: Any) -> dict[str, Any]:
    return {"prompt_tokens": prompt, "completion_tokens": completion} | more


def meter(usage: Any, call: ModelCall = CALL, /, **message: Any) -> Reply:
    return metered(openai.read(chat_response(usage, **message)), call)


def test_implausible_usage_is_estimated_and_kept_as_reported() -> None:
    for usage in [
        counts(1, 0),
        counts(150, 0),
        counts(1, 70),
        counts(150, -70),
        counts(150, 7.5),
        counts(150, 10**15),
        counts(10**15, 70),
        counts("many", 70),
        counts("1e400", 70),
        counts(True, 70),
        counts(150, 70, total_tokens=100),
        counts(150, 70, prompt_tokens_details={"cached_tokens": 151}),
        counts(150, 70, completion_tokens_details={"reasoning_tokens": 71}),
        [150, 70],
    ]:
        reply = meter(usage)
        assert (reply.text, reply.failure, reply.usage) == (ANSWER, None, ESTIMATE)
        assert reply.reported
    usage = {"input_tokens": 100, "cache_read_input_tokens": -50, "output_tokens": 70}
    response = {"content": [{"type": "text", "text": ANSWER}], "usage": usage}
    assert metered(anthropic.read(response), CALL).usage == ESTIMATE


def test_plausible_usage_is_accepted() -> None:
    for usage, expected in [
        (counts(90, 40), Usage(input_tokens=90, output_tokens=40)),
        (counts(9_000, 70), Usage(input_tokens=9_000, output_tokens=70)),
        (
            counts(150, 70, total_tokens=50_220),
            Usage(input_tokens=150, output_tokens=50_070, reasoning_tokens=50_000),
        ),
        (None, Usage()),
        (counts(None, None), Usage()),
    ]:
        reply = meter(usage)
        assert (reply.usage, reply.reported) == (expected, None)


def test_output_tokens_above_max_tokens_are_estimated() -> None:
    settings = ModelSettings(max_tokens=100)
    call = CALL.model_copy(update={"settings": settings})
    short: dict[str, Any] = {"content": "Seven."}
    assert meter(counts(150, 100), call, **short).reported is None
    assert meter(counts(150, 101), call, **short).usage.output_tokens == 2
    assert meter(counts(150, 101), **short).reported is None, "it may have reasoned"


def test_estimate_includes_visible_or_maximum_reasoning() -> None:
    update = {"model": "openai/o3", "settings": ModelSettings(reasoning="low")}
    call = CALL.model_copy(update=update)
    hidden, visible = meter(counts(1, 0), call), meter(counts(1, 0), call, reasoning="Well. " * 10)
    assert hidden.usage.reasoning_tokens == 2_000
    assert hidden.usage.output_tokens == ESTIMATE.output_tokens + 2_000
    assert visible.usage.reasoning_tokens == 20


def test_zero_usage_of_rejected_requests_is_accepted() -> None:
    filtered = {"choices": [{"message": {}, "finish_reason": "content_filter"}]}
    reply = metered(openai.read(filtered | {"usage": counts(0, 0)}), CALL)
    assert (reply.usage, reply.reported) == (Usage(), None)
    overloaded = {"error": {"message": "busy", "code": 503}, "usage": counts(-1, 0)}
    reply = metered(openai.read(overloaded), CALL)
    assert (reply.usage, reply.reported is None) == (Usage(), False)


def test_agents_may_report_any_nonnegative_count() -> None:
    model, messages = "agent/mine@{url}", CALL.messages
    usage = {"input_tokens": 0, "output_tokens": 10**6}
    (reply,), _ = exchange(always({"text": ANSWER, "usage": usage}), model, messages=messages)
    assert (reply.usage, reply.reported) == (Usage(**usage), None)
    negative = always({"text": ANSWER, "usage": {"output_tokens": -1}})
    (reply,), _ = exchange(negative, model, messages=messages)
    assert reply.usage == ESTIMATE
