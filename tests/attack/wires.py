"""A model's reply in each of the servers' formats."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from cheaptalk.mock_server.formats import completion

Json: TypeAlias = dict[str, Any]
LONG_TOKEN = 32
"""Characters in the longest token; a longer word counts as several."""


@dataclass
class Reply:
    """A server's reply to a call.

    Attributes:
        request: the body of the request.
        text: the model's text, without the text around an answer in a schema or a tool.
        tool: the tool that the answer calls.
        finish: the reason for its end: ``stop``, ``length``, ``refusal`` or ``content_filter``.
        model: the model that answers.
        input_tokens, output_tokens: the billed tokens; each word counts as a token, and a very
            long one as several.
        usage: the reported tokens, if they differ from the billed ones.
        more: a second answer.
    """

    request: Json
    text: str
    tool: str | None
    model: str
    input_tokens: int
    output_tokens: int
    finish: str = "stop"
    usage: tuple[Any, Any] | None = None
    more: str | None = None

    @property
    def reported(self) -> tuple[Any, Any]:
        return self.usage or (self.input_tokens, self.output_tokens)


def bare(text: str) -> str:
    return text[text.find("{") : text.rfind("}") + 1]


def fields(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def reply_to(request: Json, messages: list[Json], text: str, tool: str | None, form: bool) -> Reply:
    """Return a reply to messages; with a tool or a form its text is bare JSON."""
    model = request.get("model") or request["agent"]
    made = completion({"model": model, "messages": messages}, text)
    used = made["usage"]
    text = (bare(text) if tool or form else "") or text
    tool = tool if text.startswith("{") else None
    length = sum(len(message["content"]) for message in messages)
    input_tokens = max(used["prompt_tokens"], length // LONG_TOKEN)
    return Reply(request, text, tool, made["model"], input_tokens, used["completion_tokens"])


# OpenAI's chat format


def chat_messages(request: Json) -> list[Json]:
    messages: list[Json] = request["messages"]
    return messages


def chat_reply(request: Json, text: str) -> Reply:
    tools = request.get("tools")
    tool = tools[0]["function"]["name"] if tools else None
    return reply_to(request, chat_messages(request), text, tool, "response_format" in request)


def chat_message(reply: Reply) -> Json:
    if reply.finish in {"refusal", "content_filter"}:
        refused = {"refusal": "I would rather not."} if reply.finish == "refusal" else {}
        return {"role": "assistant", "content": None} | refused
    if reply.tool is None:
        return {"role": "assistant", "content": reply.text}
    called = {"name": reply.tool, "arguments": reply.text}
    calls = [{"id": "call-1", "type": "function", "function": called}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def chat(reply: Reply) -> Json:
    ends = {"refusal": "stop"} | ({"stop": "tool_calls"} if reply.tool else {})
    message = chat_message(reply)
    choices = [
        {"index": 0, "message": message, "finish_reason": ends.get(reply.finish, reply.finish)}
    ]
    if reply.more is not None:
        other = {"role": "assistant", "content": reply.more}
        choices.append({"index": 1, "message": other, "finish_reason": "stop"})
    input_tokens, output_tokens = reply.reported
    usage = {"prompt_tokens": input_tokens, "completion_tokens": output_tokens}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": reply.model,
        "choices": choices,
        "usage": usage,
    }


def chat_stream(reply: Reply) -> bytes:
    data = chat(reply)
    usage = data.pop("usage")
    ends = [choice["finish_reason"] for choice in data["choices"]]
    pieces = [
        {"index": place, "delta": choice["message"], "finish_reason": None}
        for place, choice in enumerate(data["choices"])
    ]
    pieces += [{"index": n, "delta": {}, "finish_reason": end} for n, end in enumerate(ends)]
    common = data | {"object": "chat.completion.chunk"}
    chunks = [common | {"choices": [piece]} for piece in pieces]
    chunks.append(common | {"choices": [], "usage": usage})
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    return "".join([*lines, "data: [DONE]\n\n"]).encode()


# Anthropic's messages format


def messages_messages(request: Json) -> list[Json]:
    system = [{"role": "system", "content": request["system"]}] if request.get("system") else []
    return [*system, *request["messages"]]


def messages_reply(request: Json, text: str) -> Reply:
    tool = request["tools"][0]["name"] if request.get("tools") else None
    return reply_to(request, messages_messages(request), text, tool, form=False)


def messages(reply: Reply) -> Json:
    ends = {"stop": "end_turn", "length": "max_tokens"}
    content: list[Json] = []
    if reply.finish != "refusal" and reply.text:
        content.append({"type": "text", "text": reply.text})
        given = fields(reply.text)
        if reply.tool is not None and given is not None:
            content[0] = {"type": "tool_use", "id": "t", "name": reply.tool, "input": given}
    if reply.more is not None:
        content.insert(0, {"type": "text", "text": reply.more})
    input_tokens, output_tokens = reply.reported
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": content,
        "stop_reason": ends.get(reply.finish, reply.finish),
        "usage": {"input_tokens": input_tokens, "output_tokens": output_tokens},
    }


# Custom agents


def agent_reply(request: Json, text: str) -> Reply:
    form = request.get("form")
    return reply_to(request, chat_messages(request), text, "answer" if form else None, form=False)


def agent(reply: Reply) -> Json:
    input_tokens, output_tokens = reply.reported
    answer: Json = {"text": reply.text}
    given = fields(reply.text)
    if reply.tool is not None and given is not None:
        answer = {"answer": given}
    if reply.more is not None:
        answer["text"] = reply.more
    return answer | {
        "model": reply.model,
        "usage": {"input_tokens": input_tokens, "output_tokens": output_tokens},
    }


class Wire(NamedTuple):
    """A wire format.

    Attributes:
        provider, name: a model with this format.
        base: the path of its URL.
        path: the path of its requests.
        read: returns the messages of a request.
        reply: returns the reply to a request, from the model's text.
        write: writes the reply as JSON.
        stream: writes the reply as a stream of events, if the format has streams.
        lacks: faults that it can't express or that it permits: an agent may count freely.
    """

    provider: str
    name: str
    base: str
    path: str
    read: Callable[[Json], list[Json]]
    reply: Callable[[Json, str], Reply]
    write: Callable[[Reply], Json]
    stream: Callable[[Reply], bytes] | None = None
    lacks: frozenset[str] = frozenset()

    def model(self, root: str) -> str:
        return f"{self.provider}/{self.name}@{root}{self.base}"


WIRES: dict[str, Wire] = {
    "chat": Wire(
        "vllm", "tiny", "/v1", "/v1/chat/completions", chat_messages, chat_reply, chat, chat_stream,
    ),
    "messages": Wire(
        "anthropic", "claude-sonnet-4-5", "/v1", "/v1/messages", messages_messages, messages_reply,
        messages, lacks=frozenset({"filtered", "streamed"}),
    ),
    "agent": Wire(
        "agent", "tiny", "/act", "/act", chat_messages, agent_reply, agent,
        lacks=frozenset({"filtered", "refusal", "streamed", "cut_text", "hardly_any_tokens"}),
    ),
}  # fmt: skip
