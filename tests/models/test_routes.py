"""How an answer of a given form is asked for, and what a server makes of it."""

import json
from typing import Any

import pytest
from aiohttp import web

from cheaptalk.games.deal_or_no_deal.events import MessageOrProposal
from cheaptalk.games.pirate_game.events import Plan
from cheaptalk.models import AnswerForm, AskedRoute, ChatMessage, Failure, ModelCall
from cheaptalk.models.structured_output import sendable
from tests.models.serving import always, exchange

ASKED = (ChatMessage(role="user", content="Your price?"),)
SCHEMA = {
    "type": "object",
    "title": "Price",
    "properties": {
        "price": {"type": "integer", "ge": 1, "title": "Price"},
        "message": {"type": "string", "maxLength": 4, "default": ""},
    },
    "required": ["price"],
    "additionalProperties": False,
}
STRICT = {
    "type": "object",
    "properties": {"price": {"type": "integer", "minimum": 1}, "message": {"type": "string"}},
    "required": ["price", "message"],
    "additionalProperties": False,
}
SAID = '{"price": 7, "message": ""}'


def call(route: AskedRoute = "auto", provider: str = "vllm") -> Any:
    form = AnswerForm(name="Price", json_schema=SCHEMA, route=route)
    return lambda url: ModelCall(model=f"{provider}/tiny@{url}", messages=ASKED, form=form)


def completion(**message: Any) -> dict[str, Any]:
    return {"choices": [{"message": message, "finish_reason": "stop"}]}


def knowing(*features: str) -> Any:
    """A server that refuses requests with features that it does not know."""

    async def answering(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        for feature in ("response_format", "tools"):
            if feature in body and feature not in features:
                said = {"error": {"message": f"{feature} is not supported"}}
                return web.json_response(said, status=400)
        if "tools" in body:
            called = [{"type": "function", "function": {"name": "Price", "arguments": SAID}}]
            return web.json_response(completion(content=None, tool_calls=called))
        return web.json_response(completion(content=SAID))

    return answering


def test_the_strictest_way_is_a_schema() -> None:
    (reply,), heard = exchange(knowing("response_format", "tools"), call())
    assert (reply.text, reply.route) == (SAID, "schema")
    assert heard.bodies[0]["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "Price", "schema": STRICT, "strict": True},
    }


def test_a_server_that_knows_no_schemas_is_asked_to_call_a_tool_then_and_ever_after() -> None:
    replies, heard = exchange(knowing("tools"), call(), times=2)
    assert [(one.text, one.route) for one in replies] == [(SAID, "tool")] * 2
    assert ["response_format" in body for body in heard.bodies] == [True, False, False]
    function = {"name": "Price", "parameters": STRICT, "strict": True}
    assert heard.bodies[1]["tools"] == [{"type": "function", "function": function}]
    assert heard.bodies[1]["tool_choice"]["function"] == {"name": "Price"}


def test_a_server_that_knows_neither_is_asked_in_words() -> None:
    (reply,), heard = exchange(knowing(), call())
    assert (reply.text, reply.route, len(heard.bodies)) == (SAID, "text", 3)
    assert heard.bodies[2].keys() == {"model", "messages"}


def test_another_complaint_is_not_taken_for_one_about_the_form() -> None:
    long = {"error": {"message": "This model's maximum context length is 4096 tokens."}}
    (reply,), heard = exchange(always(long, 400), call())
    assert (reply.failure, reply.retry, len(heard.bodies)) == (Failure.PROVIDER_ERROR, False, 1)


def test_an_overloaded_server_is_not_taken_for_one_that_refuses_the_form() -> None:
    busy = {"error": {"message": "too many requests with a response_format"}}
    (reply,), heard = exchange(always(busy, 429), call())
    assert (reply.retry, reply.route, len(heard.bodies)) == (True, "schema", 1)


def test_a_way_that_the_study_demands_is_the_only_one() -> None:
    (reply,), heard = exchange(knowing(), call("schema"))
    assert (reply.failure, len(heard.bodies)) == (Failure.PROVIDER_ERROR, 1)
    (reply,), heard = exchange(knowing("response_format", "tools"), call("text"))
    assert reply.route == "text"
    assert heard.bodies[0].keys() == {"model", "messages"}


def test_two_calls_of_a_tool_are_two_answers() -> None:
    calls = [
        {"function": {"arguments": '{"price": 7}'}},
        {"function": {"arguments": '{"price": 8}'}},
    ]
    (reply,), _ = exchange(always(completion(tool_calls=calls)), call("tool"))
    assert reply.text == '{"price": 7}\n{"price": 8}'


def test_words_beside_a_tool_and_other_choices_are_part_of_the_answer() -> None:
    used = [{"function": {"name": "Price", "arguments": SAID}}]
    (reply,), _ = exchange(always(completion(content="No.", tool_calls=used)), call("tool"))
    assert (reply.text, reply.tools) == (f"No.\n{SAID}", ("Price",))
    two = {"choices": completion(content="7")["choices"] + completion(content="8")["choices"]}
    (reply,), _ = exchange(always(two), call("text"))
    assert reply.text == "7\n8"


@pytest.mark.parametrize("made", [call("tool"), call("text")], ids=["a form", "words"])
def test_a_tool_that_was_never_offered_says_nothing(made: Any) -> None:
    used = [{"function": {"name": "send_money", "arguments": SAID}}]
    (reply,), _ = exchange(always(completion(content=None, tool_calls=used)), made)
    assert (reply.text, reply.failure) == ("", None)
    assert reply.detail == f"called send_money, which was not offered: {SAID}"


def test_a_server_that_ignores_the_form_may_answer_in_prose() -> None:
    (reply,), _ = exchange(always(completion(content="I ask for 7.")), call())
    assert (reply.text, reply.route) == ("I ask for 7.", "schema")


def test_what_may_be_left_out_is_required_where_null_says_as_much() -> None:
    sent = sendable(MessageOrProposal.model_json_schema())
    assert sent.strict
    assert sent.schema["required"] == ["message", "books", "hats", "balls"]
    assert sent.schema["properties"]["books"] == {
        "anyOf": [{"minimum": 0, "type": "integer"}, {"type": "null"}]
    }


def test_a_mapping_with_any_names_is_sent_as_it_is_and_not_strict() -> None:
    sent = sendable(Plan.model_json_schema())
    assert not sent.strict
    assert sent.schema["properties"]["proposal"]["additionalProperties"] == {"type": "integer"}


@pytest.mark.parametrize("strict", [True, False])
def test_no_keyword_is_sent_that_servers_do_not_know(strict: bool) -> None:
    schema: dict[str, Any] = {
        "$defs": {"Item": {"type": "string", "pattern": "x", "title": "Item"}},
        "type": "object",
        "properties": {
            "title": {"$ref": "#/$defs/Item"},
            "all": {"type": "array", "items": {"$ref": "#/$defs/Item"}, "uniqueItems": True},
        },
        "required": [],
    }
    if not strict:
        schema["properties"]["any"] = {"type": "object", "additionalProperties": {"default": 1}}
    sent = sendable(schema)
    assert sent.strict is strict
    assert sent.schema["properties"].keys() == schema["properties"].keys()
    written = json.dumps(sent.schema)
    assert not any(f'"{word}":' in written for word in ("pattern", "uniqueItems", "default"))
    assert sent.schema["$defs"]["Item"] == {"type": "string"}
