"""Anyone's agent over HTTP: it is posted what its seat sees, and answers with JSON."""

from typing import Any

import msgspec
from msgspec import Struct

from cheaptalk.models.calls import ModelCall, Reply, Usage
from cheaptalk.models.http.failures import complaint
from cheaptalk.models.model_strings import ModelName
from cheaptalk.models.usage import read_usage

LARGEST = 2**18
"""Bytes of an agent's largest answer."""


class Used(Struct, forbid_unknown_fields=True):
    """Tokens that an agent says it used."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0


class AgentReply(Struct, forbid_unknown_fields=True):
    """What an agent may answer with: an answer's fields, or a text that is read for one."""

    answer: dict[str, Any] | None = None
    text: str | None = None
    model: str | None = None
    usage: Any = None
    error: Any = None


def body(call: ModelCall, number: str) -> dict[str, Any]:
    """What an agent is posted.

    ``call`` numbers the call: the match's id, the request, the seat, how often the seat has been
    asked in this request before, and how often this call was sent, with slashes between.
    """
    form = call.form
    return {
        "call": number,
        "agent": ModelName.parse(call.model).model,
        "game": call.game,
        "seat": call.seat,
        "messages": [{"role": one.role, "content": one.content} for one in call.messages],
        "form": form and {"name": form.name, "schema": form.json_schema},
    }


FORM = 'an agent answers with either {"answer": {...}} or {"text": "..."}'


def read(data: Any) -> Reply:
    """An agent's answer as a reply.

    Raises:
        ValueError: it is none.
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
