"""Anthropic's messages format, over real HTTP."""

from typing import Any

import pytest
from aiohttp import web

from cheaptalk.models import AnswerForm, ChatMessage, Failure, ModelCall, ModelSettings, Usage
from cheaptalk.models.http.transport import CALL_HEADER
from tests.models.serving import always, exchange

KEY = "sk-ant-very-secret"
ASKED = (
    ChatMessage(role="system", content="Be brief."),
    ChatMessage(role="user", content="Your price?"),
    ChatMessage(role="assistant", content=""),
    ChatMessage(role="user", content="Again: your price?"),
)
SCHEMA = {"type": "object", "properties": {"price": {"type": "integer"}}, "required": ["price"]}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


def call(form: AnswerForm | None = None, **settings: Any) -> Any:
    asked = ModelSettings.model_validate(settings)
    return lambda url: ModelCall(
        model=f"anthropic/claude-opus-4-1@{url}/v1", messages=ASKED, settings=asked, form=form
    )


def said(*content: dict[str, Any], **changes: Any) -> dict[str, Any]:
    usage = {
        "input_tokens": 10, "output_tokens": 5,
        "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20,
    }  # fmt: skip
    whole = {"model": "claude-opus-4-1-2", "stop_reason": "end_turn", "usage": usage}
    return whole | {"content": list(content)} | changes


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def test_what_is_sent() -> None:
    _, heard = exchange(always(said(text("7"))), call(stop=["END"]), home=True)
    assert heard.paths == ["/v1/messages"]
    assert heard.bodies == [
        {
            "model": "claude-opus-4-1",
            "system": "Be brief.",
            "messages": [
                {"role": "user", "content": "Your price?"},
                {"role": "user", "content": "Again: your price?"},
            ],
            "stop_sequences": ["END"],
            "max_tokens": 4096,
        }
    ]
    assert heard.headers[0]["x-api-key"] == KEY
    assert heard.headers[0]["anthropic-version"] == "2023-06-01"
    assert heard.headers[0][CALL_HEADER] == "m/0/alice/0/0"


def test_an_answer_with_its_reasoning_and_its_usage() -> None:
    thought = {"type": "thinking", "thinking": "Seven is fair."}
    (reply,), _ = exchange(always(said(thought, text("I ask "), text("7."))), call())
    assert (reply.text, reply.reasoning) == ("I ask 7.", "Seven is fair.")
    assert (reply.model, reply.finish) == ("claude-opus-4-1-2", "end_turn")
    assert reply.usage == Usage(input_tokens=130, output_tokens=5, cached_tokens=100)
    assert reply.sent == {"max_tokens": 4096}


def test_a_form_is_asked_for_as_a_tool() -> None:
    form = AnswerForm(name="Price", json_schema=SCHEMA)
    used = {"type": "tool_use", "name": "Price", "input": {"price": 7, "note": "\N{PILE OF POO}"}}
    (reply,), heard = exchange(always(said(text("Well."), used)), call(form))
    answer = '{"price": 7, "note": "\N{PILE OF POO}"}'
    assert (reply.text, reply.route, reply.tools) == (f"Well.\n{answer}", "tool", ("Price",))
    assert heard.bodies[0]["tool_choice"] == {"type": "tool", "name": "Price"}
    assert heard.bodies[0]["tools"][0]["input_schema"]["required"] == ["price"]


@pytest.mark.parametrize(
    ("settings", "asked"), [({"reasoning": "low"}, "auto"), ({}, "text")], ids=["reasons", "text"]
)
def test_a_form_is_asked_for_in_words_where_it_must_be(
    settings: dict[str, Any], asked: Any
) -> None:
    form = AnswerForm(name="Price", json_schema=SCHEMA, route=asked)
    (reply,), heard = exchange(always(said(text("7"))), call(form, **settings))
    assert reply.route == "text"
    assert "tools" not in heard.bodies[0]


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
def test_a_text_that_breaks_off_is_told_apart(reason: str) -> None:
    (reply,), _ = exchange(always(said(text("I ask"), stop_reason=reason)), call())
    assert (reply.text, reply.truncated) == ("I ask", True)


def test_a_refusal_is_one() -> None:
    (reply,), _ = exchange(always(said(stop_reason="refusal")), call())
    assert (reply.text, reply.failure, reply.retry) == (None, Failure.REFUSED, False)
    assert reply.usage.output_tokens == 5


@pytest.mark.parametrize(
    ("status", "again"), [(400, False), (401, False), (429, True), (500, True), (529, True)]
)
def test_an_error_is_the_provider_s(status: int, again: bool) -> None:
    error = {"type": "error", "error": {"type": "some_error", "message": f"no, {KEY}"}}
    (reply,), _ = exchange(always(error, status), call(), home=True)
    assert (reply.failure, reply.retry) == (Failure.PROVIDER_ERROR, again)
    assert reply.detail == f"status {status}: no, [key]"


@pytest.mark.parametrize("data", [{}, [], {"content": [{"text": "no type"}]}, {"error": "down"}])
def test_a_reply_that_is_none_is_worth_another_try(data: Any) -> None:
    (reply,), _ = exchange(always(data), call())
    assert (reply.failure, reply.retry) == (Failure.PROVIDER_ERROR, True)


def test_a_message_without_words_is_not_sent() -> None:
    asked = (*ASKED[:2], ChatMessage(role="assistant", content=" \n"), ASKED[3])

    def make(url: str) -> ModelCall:
        return ModelCall(model=f"anthropic/claude-opus-4-1@{url}/v1", messages=asked)

    _, heard = exchange(always(said(text("7"))), make)
    assert [one["role"] for one in heard.bodies[0]["messages"]] == ["user", "user"]


def test_thoughts_that_are_hidden_and_blocks_of_other_kinds_are_no_part_of_the_answer() -> None:
    hidden = {"type": "redacted_thinking", "data": "c2VjcmV0"}
    later = {"type": "something_new", "text": "an advertisement", "content": [1]}
    (reply,), _ = exchange(always(said(hidden, text("7"), later)), call())
    assert (reply.text, reply.reasoning) == ("7", None)


def test_an_answer_that_ends_at_a_stop_sequence_is_whole() -> None:
    data = said(text("7"), stop_reason="stop_sequence", stop_sequence="END")
    (reply,), heard = exchange(always(data), call(stop=["END"]))
    assert (reply.text, reply.finish, reply.truncated) == ("7", "stop_sequence", False)
    assert heard.bodies[0]["stop_sequences"] == ["END"]


def test_a_tool_s_input_that_breaks_off_is_told_apart() -> None:
    form = AnswerForm(name="Price", json_schema=SCHEMA)
    begun = {"type": "tool_use", "name": "Price", "input": {}}
    (reply,), _ = exchange(always(said(begun, stop_reason="max_tokens")), call(form))
    assert (reply.text, reply.truncated) == ("{}", True)


def test_two_calls_of_the_tool_are_two_answers() -> None:
    form = AnswerForm(name="Price", json_schema=SCHEMA)
    used = [{"type": "tool_use", "name": "Price", "input": {"price": n}} for n in (7, 8)]
    (reply,), _ = exchange(always(said(*used)), call(form))
    assert reply.text == '{"price": 7}\n{"price": 8}'


def test_what_was_said_before_a_refusal_is_not_taken_for_an_answer() -> None:
    (reply,), _ = exchange(always(said(text("I would ask"), stop_reason="refusal")), call())
    assert (reply.text, reply.failure) == (None, Failure.REFUSED)
    assert reply.detail == "I would ask"


def test_a_model_that_takes_no_tools_is_asked_in_words_then_and_ever_after() -> None:
    async def answering(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        if "tools" in body:
            error = {"type": "invalid_request_error", "message": "tools: not supported"}
            return web.json_response({"type": "error", "error": error}, status=400)
        return web.json_response(said(text('{"price": 7}')))

    form = AnswerForm(name="Price", json_schema=SCHEMA)
    replies, heard = exchange(answering, call(form), times=2)
    assert [(one.text, one.route) for one in replies] == [('{"price": 7}', "text")] * 2
    assert ["tools" in body for body in heard.bodies] == [True, False, False]
