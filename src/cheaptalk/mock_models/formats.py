"""Request and response formats of OpenAI's chat, Anthropic's messages, and agents."""

import json
from collections.abc import Callable
from typing import Any, TypeAlias

from cheaptalk.mock_models.answers import SCHEMA, Answerer, Messages, NoFormat

Json: TypeAlias = dict[str, Any]
Respond: TypeAlias = Callable[[Json, Answerer], Json]
"""A function from a request's body and an answerer to the response's body."""
MALFORMED = (
    "the mock server cannot read the request: expected the JSON of a chat completion, an Anthropic "
    "message or an agent's observation, with a list of messages whose content is text"
)


def bare(text: str) -> str:
    """Extract the JSON from a text."""
    return text[text.find("{") : text.rfind("}") + 1]


def conversation(body: Json) -> Messages:
    """Return the conversation of a request, starting with the system prompt."""
    system = [{"role": "system", "content": body["system"]}] if body.get("system") else []
    return [*system, *body["messages"]]


def with_schema(messages: Messages, schema: Json | None) -> Messages:
    """Attach the answer's JSON schema, if any, to the last message of a conversation."""
    if not schema:
        return messages
    return [*messages[:-1], {**messages[-1], SCHEMA: json.dumps(schema)}]


def counted(messages: Messages, text: str) -> tuple[int, int]:
    """Count the tokens of a conversation and its answer; each word is one token."""
    return sum(len(message["content"].split()) for message in messages), len(text.split())


def completion(body: Json, text: str) -> Json:
    """Return a completion in OpenAI's chat format, as pure JSON if a schema or tool is given."""
    input_tokens, output_tokens = counted(body["messages"], text)
    message: Json = {"role": "assistant", "content": text}
    if bare(text) and body.get("tools"):
        function = {"name": body["tools"][0]["function"]["name"], "arguments": bare(text)}
        called = {"id": "call-1", "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [called]}
    elif bare(text) and "response_format" in body:
        message["content"] = bare(text)
    end = "tool_calls" if "tool_calls" in message else "stop"
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": f"{body['model']}-2026-01-01",
        "choices": [{"index": 0, "message": message, "finish_reason": end}],
        "usage": {
            "prompt_tokens": input_tokens,
            "completion_tokens": output_tokens,
            "total_tokens": input_tokens + output_tokens,
        },
    }


def chat(body: Json, answerer: Answerer) -> Json:
    """Return the response to a request in OpenAI's chat format."""
    schema: Any = body.get("response_format", {}).get("json_schema", {}).get("schema")
    if body.get("tools"):
        schema = body["tools"][0]["function"].get("parameters")
    return completion(body, answerer(with_schema(body["messages"], schema)))


def messages(body: Json, answerer: Answerer) -> Json:
    """Return the response to a request in Anthropic's messages format."""
    read = conversation(body)
    schema = body["tools"][0].get("input_schema") if body.get("tools") else None
    output = body.get("output_config", {}).get("format", {}) or body.get("output_format", {})
    text = answerer(with_schema(read, schema or output.get("schema")))
    input_tokens, output_tokens = counted(read, text)
    content: Json = {"type": "text", "text": text}
    if body.get("tools"):
        arguments = json.loads(bare(text))
        content = {
            "type": "tool_use",
            "id": "toolu_1",
            "name": body["tools"][0]["name"],
            "input": arguments,
        }
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": f"{body['model']}-2026-01-01",
        "content": [content],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": input_tokens, "output_tokens": output_tokens},
    }


def agent(body: Json, answerer: Answerer) -> Json:
    """Return an agent's response to its observation."""
    text = answerer(with_schema(body["messages"], (body.get("form") or {}).get("schema")))
    input_tokens, output_tokens = counted(body["messages"], text)
    json_text = bare(text) if body.get("form") else ""
    answer = {"answer": json.loads(json_text)} if json_text else {"text": text}
    used = {"input_tokens": input_tokens, "output_tokens": output_tokens}
    return answer | {"model": f"{body['agent']}-2026-01-01", "usage": used}


def response(respond: Respond, request: bytes | str, answerer: Answerer) -> tuple[int, Json]:
    """Return the status and body of the response to a request's body."""
    try:
        return 200, respond(json.loads(request), answerer)
    except NoFormat as error:
        problem = str(error)
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
        problem = MALFORMED
    return 400, {"error": {"type": "invalid_request_error", "message": problem}}


BY_PATH: dict[str, Respond] = {
    "/v1/chat/completions": chat,
    "/v1/messages": messages,
    "/act": agent,
}
"""The formats by path."""
