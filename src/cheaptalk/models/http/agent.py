"""Protocol of agents over HTTP: the request contains the chat messages, the answer is JSON."""

from typing import Any

import msgspec
from msgspec import Struct

from cheaptalk.models.calls import ModelCall, Reply, Usage
from cheaptalk.models.http.failures import complaint
from cheaptalk.models.model_strings import ModelName
from cheaptalk.models.usage import read_usage

LARGEST = 2**18
"""Maximum bytes of an agent's answer."""


class Used(Struct, forbid_unknown_fields=True):
    """Token usage reported by an agent."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0


class AgentReply(Struct, forbid_unknown_fields=True):
    """An agent's answer: the fields of an action, or a text to parse."""

    answer: dict[str, Any] | None = None
    text: str | None = None
    model: str | None = None
    usage: Any = None
    error: Any = None


def body(call: ModelCall, number: str) -> dict[str, Any]:
    """Return the JSON body of the request to an agent.

    ``number`` is the call's id: match id, request number, seat, number of earlier calls for the
    request, and attempt, separated by slashes.
    """
    form = call.form
    return {
        "call": number,
        "agent": ModelName.parse(call.model).model,
        "game": call.game,
        "seat": call.seat,
        "messages": [message.model_dump() for message in call.messages],
        "form": form and {"name": form.name, "schema": form.json_schema},
    }


FORM = 'an agent answers with either {"answer": {...}} or {"text": "..."}'


def read(data: Any) -> Reply:
    """Parse an agent's answer; raise ValueError if it is invalid."""
    try:
        response = msgspec.convert(data, AgentReply)
    except msgspec.ValidationError as error:
        raise ValueError(f"{error}; {FORM}") from None
    if response.error:
        return complaint(response.error)
    if (response.answer is None) == (response.text is None):
        raise ValueError(FORM)
    used = read_usage(response.usage, Used, lambda used: Usage(**msgspec.structs.asdict(used)))
    text, route = response.text, "text"
    if text is None:
        text, route = msgspec.json.encode(response.answer).decode(), "schema"
    return Reply(text=text, model=response.model, route=route, sent={}, **used)
