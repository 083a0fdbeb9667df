"""Protocol of agents over HTTP: the request contains the chat messages, the answer is JSON."""

from typing import Annotated, Any, Literal, TypeAlias, TypedDict

import msgspec
from msgspec import Meta, Struct, structs

from cheaptalk.models.calls import ModelCall, Reply, Usage
from cheaptalk.models.http.failures import complaint
from cheaptalk.models.model_strings import ModelName
from cheaptalk.models.usage import read_usage

LARGEST = 2**18
"""Maximum bytes of an agent's answer."""


Count: TypeAlias = Annotated[int, Meta(ge=0)]


class Message(TypedDict):
    """A chat message; the briefing is the system message, and the last ends with the request."""

    role: Literal["system", "user", "assistant"]
    content: str


class Form(TypedDict):
    """The required form of an answer."""

    name: str
    schema: dict[str, Any]


class AgentRequest(TypedDict):
    """A decision request to an agent."""

    call: Annotated[str, Meta(description="The request's id, which the answer must repeat.")]
    agent: Annotated[str, Meta(description="The agent's name.")]
    game: str | None
    seat: Annotated[str | None, Meta(description="The seat whose turn it is.")]
    messages: Annotated[list[Message], Meta(description="The conversation so far.")]
    form: Form | None


class AgentUsage(Struct, forbid_unknown_fields=True):
    """Token usage reported by an agent."""

    input_tokens: Count = 0
    output_tokens: Count = 0
    cached_tokens: Count = 0
    reasoning_tokens: Count = 0


class AgentReply(Struct, forbid_unknown_fields=True):
    """An agent's answer: the fields of an action, or a text to parse, or an error."""

    answer: Annotated[dict[str, Any] | None, Meta(description="The form's fields.")] = None
    text: Annotated[str | None, Meta(description="A text from which the answer is parsed.")] = None
    model: Annotated[str | None, Meta(description="The model's name, for the record.")] = None
    usage: Any = None
    error: Annotated[Any, Meta(description="An error message, with which the match fails.")] = None


def body(call: ModelCall, number: str) -> AgentRequest:
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
        "messages": [{"role": chat.role, "content": chat.content} for chat in call.messages],
        "form": {"name": form.name, "schema": form.json_schema} if form else None,
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
    used = read_usage(response.usage, AgentUsage, lambda used: Usage(**structs.asdict(used)))
    text, route = response.text, "text"
    if text is None:
        text, route = msgspec.json.encode(response.answer).decode(), "schema"
    return Reply(text=text, model=response.model, route=route, sent={}, **used)
