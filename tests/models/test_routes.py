"""Routes for requesting an answer form, and the servers' replies."""

import json
from typing import Any

from aiohttp import web

from cheaptalk.games.battle_royale.rules import Shot
from cheaptalk.games.item_bargaining.rules import Move
from cheaptalk.models import AnswerForm, AskedRoute, Failure, ModelCall, Reply
from cheaptalk.models.clients import HttpModels
from cheaptalk.models.http import openai
from cheaptalk.models.http.transport import SCHEMA_HEADER, HttpTransport
from cheaptalk.models.structured_output import RouteSupport, sendable
from cheaptalk.rules import alternative
from cheaptalk.rules.actions import schema_of
from tests.models.serving import CHAT, Received, RequestHandler, always, exchange

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
ANSWER = '{"price": 7, "message": ""}'


def ask(
    handler: RequestHandler, route: AskedRoute = "auto", times: int = 1
) -> tuple[list[Reply], Received]:
    form = AnswerForm(name="Price", json_schema=SCHEMA, route=route)
    return exchange(handler, "vllm/tiny@{url}", times, form=form)


def completion(**message: Any) -> dict[str, Any]:
    return {"choices": [{"message": message, "finish_reason": "stop"}]}


def supporting(*features: str) -> Any:
    """Return a handler that rejects requests with features other than these."""

    async def handler(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        for feature in ("response_format", "tools"):
            if feature in body and feature not in features:
                error = {"error": {"message": f"{feature} is not supported"}}
                return web.json_response(error, status=400)
        if "tools" in body:
            tool_calls = [{"type": "function", "function": {"name": "Price", "arguments": ANSWER}}]
            return web.json_response(completion(content=None, tool_calls=tool_calls))
        return web.json_response(completion(content=ANSWER))

    return handler


def test_server_gets_strictest_route_that_it_supports() -> None:
    (schema,), received = ask(supporting("response_format", "tools"))
    assert (schema.text, schema.route) == (ANSWER, "schema")
    assert received.bodies[0]["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "Price", "schema": STRICT, "strict": True},
    }
    tools, received = ask(supporting("tools"), times=2)
    assert [(reply.text, reply.route) for reply in tools] == [(ANSWER, "tool")] * 2
    assert ["response_format" in body for body in received.bodies] == [True, False, False]
    function = {"name": "Price", "parameters": STRICT, "strict": True}
    assert received.bodies[1]["tools"] == [{"type": "function", "function": function}]
    assert received.bodies[1]["tool_choice"]["function"] == {"name": "Price"}
    (text,), received = ask(supporting())
    assert (text.text, text.route, len(received.bodies)) == (ANSWER, "text", 3)
    assert received.bodies[2].keys() == {"model", "messages"}


def test_unrelated_error_does_not_change_route() -> None:
    for message, status in [
        ("This model's maximum context length is 4096 tokens.", 400),
        ("too many requests with a response_format", 429),
    ]:
        error = {"error": {"message": message}}
        (reply,), received = ask(always(error, status))
        assert (reply.failure, reply.route) == (Failure.PROVIDER_ERROR, "schema")
        assert len(received.bodies) == 1


def test_route_set_by_study_has_no_fallback() -> None:
    (reply,), received = ask(supporting(), "schema")
    assert (reply.failure, len(received.bodies)) == (Failure.PROVIDER_ERROR, 1)
    (reply,), received = ask(supporting("response_format", "tools"), "text")
    assert reply.route == "text"
    assert received.bodies[0].keys() == {"model", "messages"}


def test_text_and_all_calls_and_choices_are_part_of_answer() -> None:
    tool_calls = [
        {"function": {"name": "Price", "arguments": ANSWER}},
        {"function": {"arguments": '{"price": 8}'}},
    ]
    (reply,), _ = ask(always(completion(content="No.", tool_calls=tool_calls)), "tool")
    assert (reply.text, reply.tools) == (f'No.\n{ANSWER}\n{{"price": 8}}', ("Price",))
    two = {"choices": completion(content="7")["choices"] + completion(content="8")["choices"]}
    (reply,), _ = ask(always(two), "text")
    assert reply.text == "7\n8"


def test_call_of_unknown_tool_is_ignored() -> None:
    routes: tuple[AskedRoute, ...] = ("tool", "text")
    for route in routes:
        tool_calls = [{"function": {"name": "send_money", "arguments": ANSWER}}]
        (reply,), _ = ask(always(completion(content=None, tool_calls=tool_calls)), route)
        assert (reply.text, reply.failure) == ("", None)
        assert reply.detail == f"called send_money, which was not offered: {ANSWER}"


def test_strict_schema_requires_optional_fields_and_closed_mappings() -> None:
    sent = sendable(SCHEMA)
    assert sent == (STRICT, True)
    mapping = {"properties": {"coins": {"additionalProperties": {"type": "integer"}}}}
    assert not sendable(mapping | {"type": "object"}).strict


SHOT = [alternative(action="shoot", target=["ann", "bob"]), alternative(action="miss", target=None)]


def test_forms_of_an_answer_become_one_field() -> None:
    schema, strict = sendable(schema_of(Shot, SHOT))
    assert strict
    assert (schema["type"], schema["required"]) == ("object", ["answer"])
    shoot, miss = schema["properties"]["answer"]["anyOf"]
    assert shoot["properties"]["target"] == {"type": "string", "enum": ["ann", "bob"]}
    assert (miss["required"], list(miss["properties"])) == (["action"], ["action"])


OFFERS = [
    alternative(action="WALK", offer=None),
    alternative(action="COUNTEROFFER", offer=[range(3), range(1), range(8)]),
]


def test_forms_that_begin_with_the_same_field_are_joined() -> None:
    schema, strict = sendable(schema_of(Move, OFFERS))
    assert strict
    assert schema["required"] == ["reasoning", "action", "offer"]
    numbers = {"type": "integer", "minimum": 0, "maximum": 7}
    ranges = "Ranges of the numbers, in order: 0 to 2, 0 to 0, 0 to 7."
    many = {"type": "array", "minItems": 3, "maxItems": 3, "items": numbers, "description": ranges}
    assert schema["properties"]["offer"] == {"anyOf": [{"type": "null"}, many]}


def test_llamacpp_receives_all_forms_and_ranges_of_an_answer() -> None:
    form = AnswerForm(name="Move", json_schema=schema_of(Move, OFFERS))
    text = '{"reasoning": "", "action": "WALK"}'
    handler = always(completion(content=text))
    (reply,), received = exchange(handler, "llamacpp/tiny@{url}", form=form)
    (body,) = received.bodies
    sent = body["response_format"]["json_schema"]
    assert (reply.text, reply.route, sent["strict"]) == (text, "schema", True)
    walk, counteroffer = sent["schema"]["anyOf"]
    assert walk["required"] == ["reasoning", "action"]
    ranges = counteroffer["properties"]["offer"]["prefixItems"]
    assert [item["maximum"] for item in ranges] == [2, 0, 7]
    assert "tools" not in body, "llama.cpp cannot force the call of one tool"


def test_unsupported_keywords_are_removed() -> None:
    for strict in [True, False]:
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
        sent_json = json.dumps(sent.schema)
        assert not any(f'"{word}":' in sent_json for word in ("pattern", "uniqueItems", "default"))
        assert sent.schema["$defs"]["Item"] == {"type": "string"}


class Recorder(HttpTransport):
    """A transport that sends nothing and keeps the headers of requests."""

    def __init__(self) -> None:
        super().__init__()
        self.headers: dict[str, str] = {}

    async def post(self, url: str, headers: Any, *_: Any) -> Reply:
        self.headers = headers
        return Reply(text="7")


async def schema_header(url: str, route: AskedRoute) -> str | None:
    """Return the schema in the header of a request."""
    wire = Recorder()
    form = AnswerForm(name="Price", json_schema=SCHEMA, route=route)
    client = HttpModels(wire, "chat", {}, openai.body, openai.read, RouteSupport())
    await client.call(ModelCall(model=f"vllm/tiny@{url}/v1", messages=CHAT, form=form), "m", 1)
    return wire.headers.get(SCHEMA_HEADER)


async def test_schema_header_accompanies_text_answers_on_this_machine() -> None:
    sent = await schema_header("http://127.0.0.1:8000", "text")
    assert sent is not None
    assert json.loads(sent) == SCHEMA
    assert await schema_header("http://127.0.0.1:8000", "schema") is None
    assert await schema_header("https://gpu.example.org", "text") is None
