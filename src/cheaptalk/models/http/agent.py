"""The protocol of agents over HTTP: they receive an actor's messages and answer with JSON."""

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
    """Return the JSON body that is sent to an agent.

    ``call`` identifies the call: match id, request number, seat, number of earlier calls for this
    request, and attempt, separated by slashes.
    """
    form = call.form
    return {
        "call": number,
        "agent": ModelName.parse(call.model).model,
        "game": call.game,
        "seat": call.seat,
        "messages": [
            {"role": message.role, "content": message.content} for message in call.messages
        ],
        "form": form and {"name": form.name, "schema": form.json_schema},
    }


FORM = 'an agent answers with either {"answer": {...}} or {"text": "..."}'


def read(data: Any) -> Reply:
    """Parse an agent's answer.

    Raises:
        ValueError: it is invalid.
    """
    try:
        response = msgspec.convert(data, AgentReply)
    except msgspec.ValidationError as error:
        raise ValueError(f"{error}; {FORM}") from None
    if response.error:
        return complaint(response.error)
    if (response.answer is None) == (response.text is None):
        raise ValueError(FORM)
    used = read_usage(response.usage, Used, _usage)
    text = (
        response.text
        if response.text is not None
        else msgspec.json.encode(response.answer).decode()
    )
    route = "text" if response.answer is None else "schema"
    return Reply(text=text, model=response.model, route=route, sent={}, **used)


def _usage(used: Used) -> Usage:
    return Usage(**msgspec.structs.asdict(used))
