"""JSON types of the agent server, and its OpenAPI description, which includes their schemas."""

from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import msgspec
from msgspec import Meta, Struct

from cheaptalk.models.http.agent import AgentReply, AgentRequest, AgentUsage
from cheaptalk.yaml_files import read_yaml


class Query(Struct):
    """The query parameters of a poll."""

    wait: Annotated[float, Meta(ge=0, le=60, description="Seconds to wait for a request.")] = 0
    max: Annotated[int, Meta(ge=1, le=64, description="Maximum number of requests.")] = 64
    after: Annotated[str, Meta(description="An earlier cursor, to get only later requests.")] = ""


class Poll(TypedDict):
    """Open requests; the state is waiting if there are none now, and over if the run is over."""

    state: Literal["open", "waiting", "over"]
    requests: Annotated[list[AgentRequest], Meta(description="The open requests, oldest first.")]
    after: Annotated[str, Meta(description="The cursor for later requests.")]


class Answer(AgentReply, kw_only=True):
    """The answer to a request: one of answer, text and error."""

    call: Annotated[str, Meta(description="The request's id.")]
    usage: AgentUsage | None = None


class Accepted(TypedDict):
    """The response to an accepted answer."""

    state: Literal["taken"]


class Error(TypedDict):
    """The response to a rejected HTTP request."""

    error: str


QUERY: dict[str, Any] = msgspec.json.schema(Query)["$defs"]["Query"]["properties"]
"""The JSON schemas of a poll's query parameters, whose limits the server checks."""
OPENAPI: dict[str, Any] = read_yaml(Path(__file__).with_suffix(".yaml"))
"""Description that the server returns at ``/openapi.json``."""
OPENAPI["components"]["schemas"] = msgspec.json.schema_components(
    (Poll, Answer, Accepted, Error), ref_template="#/components/schemas/{name}"
)[1]
OPENAPI["paths"]["/agents/{name}"]["get"]["parameters"] = [
    {"name": name, "in": "query", "schema": schema} for name, schema in QUERY.items()
]
