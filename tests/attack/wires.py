"""How a model's answer is written in each of the formats that servers speak."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from cheaptalk.mock_server.formats import completion

Json: TypeAlias = dict[str, Any]
LONG_TOKEN = 32
"""Characters of the longest token: a word that is longer is several."""


@dataclass
class Said:
    """What a server says in answer to a call.

    Attributes:
        asked: the body of the request.
        text: the model's words, without those around an answer that a schema or a tool holds.
        tool: the tool that holds it.
        finish: why it ends: ``stop``, ``length``, ``refusal`` or ``content_filter``.
        model: what answers.
        input_tokens, output_tokens: what is billed; each word counts as a token, and a very long
            one as several.
        usage: what the server says it billed, if it lies.
        more: another answer beside it.
    """

    asked: Json
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
        """Tokens as the server says them."""
        return self.usage or (self.input_tokens, self.output_tokens)


def bare(text: str) -> str:
    """The JSON in a text, without the words around it."""
    return text[text.find("{") : text.rfind("}") + 1]


def fields(text: str) -> Any:
    """What a text holds as JSON; None if it is none."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def counted(asked: Json, messages: list[Json], text: str, tool: str | None, form: bool) -> Said:
    """An answer to messages; in a tool or a form it is bare."""
    model = asked.get("model") or asked["agent"]
    made = completion({"model": model, "messages": messages}, text)
    used = made["usage"]
    text = (bare(text) if tool or form else "") or text
    tool = tool if text.startswith("{") else None
    length = sum(len(one["content"]) for one in messages)
    asked_tokens = max(used["prompt_tokens"], length // LONG_TOKEN)
    return Said(asked, text, tool, made["model"], asked_tokens, used["completion_tokens"])


# OpenAI's chat format


def chat_messages(asked: Json) -> list[Json]:
    """What the model is to read."""
    messages: list[Json] = asked["messages"]
    return messages


def chat_said(asked: Json, text: str) -> Said:
    """What a model says in the chat format."""
    tools = asked.get("tools")
    tool = tools[0]["function"]["name"] if tools else None
    return counted(asked, chat_messages(asked), text, tool, "response_format" in asked)


def chat_message(said: Said) -> Json:
    """The message of a completion."""
    if said.finish in {"refusal", "content_filter"}:
        refused = {"refusal": "I would rather not."} if said.finish == "refusal" else {}
        return {"role": "assistant", "content": None} | refused
    if said.tool is None:
        return {"role": "assistant", "content": said.text}
    called = {"name": said.tool, "arguments": said.text}
    calls = [{"id": "call-1", "type": "function", "function": called}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def chat(said: Said) -> Json:
    """A completion in the chat format."""
    ends = {"refusal": "stop"} | ({"stop": "tool_calls"} if said.tool else {})
    message = chat_message(said)
    choices = [
        {"index": 0, "message": message, "finish_reason": ends.get(said.finish, said.finish)}
    ]
    if said.more is not None:
        other = {"role": "assistant", "content": said.more}
        choices.append({"index": 1, "message": other, "finish_reason": "stop"})
    asked, answered = said.reported
    usage = {"prompt_tokens": asked, "completion_tokens": answered}
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": said.model,
            "choices": choices, "usage": usage}  # fmt: skip


def chat_stream(said: Said) -> bytes:
    """The same as a stream of events."""
    whole = chat(said)
    usage = whole.pop("usage")
    ends = [choice["finish_reason"] for choice in whole["choices"]]
    pieces = [
        {"index": place, "delta": choice["message"], "finish_reason": None}
        for place, choice in enumerate(whole["choices"])
    ]
    pieces += [{"index": n, "delta": {}, "finish_reason": end} for n, end in enumerate(ends)]
    common = whole | {"object": "chat.completion.chunk"}
    chunks = [common | {"choices": [piece]} for piece in pieces]
    chunks.append(common | {"choices": [], "usage": usage})
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    return "".join([*lines, "data: [DONE]\n\n"]).encode()


# Anthropic's messages format


def messages_messages(asked: Json) -> list[Json]:
    """What the model is to read."""
    system = [{"role": "system", "content": asked["system"]}] if asked.get("system") else []
    return [*system, *asked["messages"]]


def messages_said(asked: Json, text: str) -> Said:
    """What a model says in the messages format."""
    tool = asked["tools"][0]["name"] if asked.get("tools") else None
    return counted(asked, messages_messages(asked), text, tool, form=False)


def messages(said: Said) -> Json:
    """A message in the messages format."""
    ends = {"stop": "end_turn", "length": "max_tokens"}
    content: list[Json] = []
    if said.finish != "refusal" and said.text:
        content.append({"type": "text", "text": said.text})
        given = fields(said.text)
        if said.tool is not None and given is not None:
            content[0] = {"type": "tool_use", "id": "t", "name": said.tool, "input": given}
    if said.more is not None:
        content.insert(0, {"type": "text", "text": said.more})
    asked, answered = said.reported
    return {"id": "msg_1", "type": "message", "role": "assistant", "model": said.model,
            "content": content, "stop_reason": ends.get(said.finish, said.finish),
            "usage": {"input_tokens": asked, "output_tokens": answered}}  # fmt: skip


# Anyone's agent


def agent_said(asked: Json, text: str) -> Said:
    """What an agent says."""
    form = asked.get("form")
    return counted(asked, chat_messages(asked), text, "answer" if form else None, form=False)


def agent(said: Said) -> Json:
    """An agent's answer."""
    asked, answered = said.reported
    answer: Json = {"text": said.text}
    given = fields(said.text)
    if said.tool is not None and given is not None:
        answer = {"answer": given}
    if said.more is not None:
        answer["text"] = said.more
    return answer | {
        "model": said.model,
        "usage": {"input_tokens": asked, "output_tokens": answered},
    }


class Wire(NamedTuple):
    """A format.

    Attributes:
        provider, name: a model that speaks it.
        base: the path of its URL.
        path: where its requests arrive.
        read: the messages of a request.
        say: what is said to a request, from the model's words.
        write: that as JSON.
        stream: that as a stream of events, where there are streams.
        lacks: faults that it cannot express, or that are none: an agent may count as it likes.
    """

    provider: str
    name: str
    base: str
    path: str
    read: Callable[[Json], list[Json]]
    say: Callable[[Json, str], Said]
    write: Callable[[Said], Json]
    stream: Callable[[Said], bytes] | None = None
    lacks: frozenset[str] = frozenset()

    def model(self, root: str) -> str:
        """The model's string, at a server."""
        return f"{self.provider}/{self.name}@{root}{self.base}"


WIRES: dict[str, Wire] = {
    "chat": Wire(
        "vllm", "tiny", "/v1", "/v1/chat/completions", chat_messages, chat_said, chat, chat_stream,
    ),
    "messages": Wire(
        "anthropic", "claude-sonnet-4-5", "/v1", "/v1/messages", messages_messages, messages_said,
        messages, lacks=frozenset({"filtered", "streamed"}),
    ),
    "agent": Wire(
        "agent", "tiny", "/act", "/act", chat_messages, agent_said, agent,
        lacks=frozenset({"filtered", "refusal", "streamed", "cut_text", "hardly_any_tokens"}),
    ),
}  # fmt: skip
