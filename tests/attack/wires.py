"""A model's reply in each of the servers' formats."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from cheaptalk.mock_models.formats import Json, bare, conversation, counted

LONG_TOKEN = 32
"""Characters in the longest token; a longer word counts as several."""


@dataclass
class Reply:
    """A server's reply to a call.

    Attributes:
        text: the model's text, without the text around an answer in a schema or a tool.
        tool: the tool that the answer calls.
        finish: the reason for its end: ``stop``, ``length``, ``refusal`` or ``content_filter``.
        model: the model that answers.
        input_tokens, output_tokens: the billed tokens; each word counts as a token, and a very
            long one as several.
        usage: the reported tokens, if they differ from the billed ones.
        more: a second answer.
    """

    text: str
    tool: str | None
    model: str
    input_tokens: int
    output_tokens: int
    finish: str = "stop"
    usage: tuple[Any, Any] | None = None
    more: str | None = None

    def reported(self, input_name: str, output_name: str) -> Json:
        input_tokens, output_tokens = self.usage or (self.input_tokens, self.output_tokens)
        return {input_name: input_tokens, output_name: output_tokens}


def fields(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def reply_to(request: Json, text: str) -> Reply:
    """Return the reply to a request; with a tool or an answer form, its text is bare JSON."""
    messages = conversation(request)
    input_tokens, output_tokens = counted(messages, text)
    length = sum(len(message["content"]) for message in messages)
    tools = request.get("tools")
    tool = tools[0].get("function", tools[0])["name"] if tools else None
    if request.get("form"):
        tool = "answer"
    if tool or "response_format" in request:
        text = bare(text) or text
    model = f"{request.get('model') or request['agent']}-2026-01-01"
    called = tool if text.startswith("{") else None
    return Reply(text, called, model, max(input_tokens, length // LONG_TOKEN), output_tokens)


def chat(reply: Reply) -> Json:
    """Write a reply in OpenAI's chat format."""
    message: Json = {"role": "assistant", "content": None}
    finish = reply.finish
    if finish == "refusal":
        message["refusal"], finish = "I would rather not.", "stop"
    elif reply.tool is not None and finish != "content_filter":
        called = {"name": reply.tool, "arguments": reply.text}
        message["tool_calls"] = [{"id": "call-1", "type": "function", "function": called}]
        finish = "tool_calls" if finish == "stop" else finish
    elif finish != "content_filter":
        message["content"] = reply.text
    choices = [{"index": 0, "message": message, "finish_reason": finish}]
    if reply.more is not None:
        other = {"role": "assistant", "content": reply.more}
        choices.append({"index": 1, "message": other, "finish_reason": "stop"})
    usage = reply.reported("prompt_tokens", "completion_tokens")
    return {"id": "chatcmpl-1", "model": reply.model, "choices": choices, "usage": usage}


def chat_stream(reply: Reply) -> bytes:
    data = chat(reply)
    usage, choices = data.pop("usage"), data.pop("choices")
    pieces = [
        {"index": choice["index"], "delta": choice["message"], "finish_reason": None}
        for choice in choices
    ]
    pieces += [
        {"index": choice["index"], "delta": {}, "finish_reason": choice["finish_reason"]}
        for choice in choices
    ]
    chunks = [data | {"choices": [piece]} for piece in pieces]
    chunks.append(data | {"choices": [], "usage": usage})
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    return "".join([*lines, "data: [DONE]\n\n"]).encode()


def messages(reply: Reply) -> Json:
    """Write a reply in Anthropic's messages format."""
    ends = {"stop": "end_turn", "length": "max_tokens"}
    content: list[Json] = []
    if reply.finish != "refusal" and reply.text:
        content.append({"type": "text", "text": reply.text})
        given = fields(reply.text)
        if reply.tool is not None and given is not None:
            content[0] = {"type": "tool_use", "id": "t", "name": reply.tool, "input": given}
    if reply.more is not None:
        content.insert(0, {"type": "text", "text": reply.more})
    return {
        "id": "msg_1",
        "role": "assistant",
        "model": reply.model,
        "content": content,
        "stop_reason": ends.get(reply.finish, reply.finish),
        "usage": reply.reported("input_tokens", "output_tokens"),
    }


def agent(reply: Reply) -> Json:
    """Write a reply as an agent's answer."""
    given = None if reply.tool is None else fields(reply.text)
    answer: Json = {"text": reply.text} if given is None else {"answer": given}
    if reply.more is not None:
        answer["text"] = reply.more
    usage = reply.reported("input_tokens", "output_tokens")
    return answer | {"model": reply.model, "usage": usage}


class Wire(NamedTuple):
    """A wire format.

    Attributes:
        provider, name: a model with this format.
        base: the path of its URL.
        path: the path of its requests.
        write: writes a reply as JSON.
        lacks: faults that it can't express or that it permits: an agent may count freely.
    """

    provider: str
    name: str
    base: str
    path: str
    write: Callable[[Reply], Json]
    lacks: frozenset[str] = frozenset()

    def model(self, root: str) -> str:
        return f"{self.provider}/{self.name}@{root}{self.base}"


UNFILTERED = frozenset({"filtered", "streamed"})
UNCOUNTED = frozenset({"refusal", "cut_text", "hardly_any_tokens"})
WIRES: dict[str, Wire] = {
    "chat": Wire("vllm", "tiny", "/v1", "/v1/chat/completions", chat),
    "messages": Wire("anthropic", "claude-sonnet-4-5", "/v1", "/v1/messages", messages, UNFILTERED),
    "agent": Wire("agent", "tiny", "/act", "/act", agent, UNFILTERED | UNCOUNTED),
}
