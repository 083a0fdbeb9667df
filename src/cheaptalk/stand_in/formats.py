"""How requests are read and answers written: OpenAI's chat, Anthropic's messages, and agents."""

import json
from collections.abc import Callable
from typing import Any, TypeAlias

from cheaptalk.stand_in.answers import SCHEMA, Answerer, Messages

Json: TypeAlias = dict[str, Any]
Respond: TypeAlias = Callable[[Json, Answerer], Json]
"""From a request's body, and what answers conversations, to the response's body."""


def bare(text: str) -> str:
    """The JSON in a text, without the words around it."""
    return text[text.find("{") : text.rfind("}") + 1]


def conversation(body: Json) -> Messages:
    """What the model is to read, with the system's words at the head."""
    system = [{"role": "system", "content": body["system"]}] if body.get("system") else []
    return [*system, *body["messages"]]


def with_schema(messages: Messages, schema: Json | None) -> Messages:
    """A conversation whose last message holds the schema of the answer, if the request has one."""
    if not schema:
        return messages
    return [*messages[:-1], {**messages[-1], SCHEMA: json.dumps(schema)}]


def counted(messages: Messages, text: str) -> tuple[int, int]:
    """The tokens of a conversation and of its answer: each word counts as one."""
    return sum(len(message["content"].split()) for message in messages), len(text.split())


def completion(body: Json, text: str) -> Json:
    """A completion in the chat format.

    Where a schema or a tool is asked for, the answer comes as that, without the words around it.
    """
    asked, said = counted(body["messages"], text)
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
        "usage": {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said},
    }


def chat(body: Json, answerer: Answerer) -> Json:
    """The response to a request in OpenAI's chat format."""
    schema: Any = body.get("response_format", {}).get("json_schema", {}).get("schema")
    if body.get("tools"):
        schema = body["tools"][0]["function"].get("parameters")
    return completion(body, answerer(with_schema(body["messages"], schema)))


def messages(body: Json, answerer: Answerer) -> Json:
    """The response to a request in Anthropic's messages format."""
    read = conversation(body)
    schema = body["tools"][0].get("input_schema") if body.get("tools") else None
    output = body.get("output_config", {}).get("format", {}) or body.get("output_format", {})
    text = answerer(with_schema(read, schema or output.get("schema")))
    asked, said = counted(read, text)
    content: Json = {"type": "text", "text": text}
    if body.get("tools"):
        given = json.loads(bare(text))
        content = {
            "type": "tool_use", "id": "toolu_1", "name": body["tools"][0]["name"], "input": given,
        }  # fmt: skip
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": f"{body['model']}-2026-01-01",
        "content": [content],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": asked, "output_tokens": said},
    }


def agent(body: Json, answerer: Answerer) -> Json:
    """The response of an agent to what its seat sees."""
    text = answerer(with_schema(body["messages"], (body.get("form") or {}).get("schema")))
    asked, said = counted(body["messages"], text)
    given = bare(text) if body.get("form") else ""
    answer = {"answer": json.loads(given)} if given else {"text": text}
    used = {"input_tokens": asked, "output_tokens": said}
    return answer | {"model": f"{body['agent']}-2026-01-01", "usage": used}


BY_PATH: dict[str, Respond] = {
    "/v1/chat/completions": chat,
    "/v1/messages": messages,
    "/act": agent,
}
"""Where requests of each format arrive."""
