"""JSON types of the agent server, and the OpenAPI description that is generated from them."""

from typing import Annotated, Any, Literal, TypedDict

import msgspec
from msgspec import Meta, Struct

from cheaptalk.models.http.agent import AgentReply, AgentRequest, AgentUsage


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
(POLL, ANSWER, ACCEPTED, ERROR), SCHEMAS = msgspec.json.schema_components(
    (Poll, Answer, Accepted, Error), ref_template="#/components/schemas/{name}"
)


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": schema}}}


def _response(description: str, schema: dict[str, Any] = ERROR) -> dict[str, Any]:
    return {"description": description, **_json(schema)}


NAME = {
    "name": "name",
    "in": "path",
    "required": True,
    "schema": {"type": "string"},
    "description": "The remote agent's name, without remote/.",
}
UNAUTHORIZED = _response("The token is wrong.")
OPENAPI: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {
        "title": "The cheaptalk agent server",
        "version": "1",
        "description": "Poll for requests, answer each with its call id, and poll again until "
        "the run is over. A request is listed until it is answered or times out; after an invalid "
        "answer a new request contains the reason.",
    },
    "security": [{"token": []}],
    "paths": {
        "/openapi.json": {
            "get": {
                "summary": "Return this description.",
                "security": [],
                "responses": {"200": _response("The description.", {"type": "object"})},
            }
        },
        "/agents/{name}": {
            "parameters": [NAME],
            "get": {
                "summary": "Poll for requests, optionally waiting.",
                "parameters": [
                    {"name": name, "in": "query", "schema": schema}
                    for name, schema in QUERY.items()
                ],
                "responses": {
                    "200": _response("The open requests.", POLL),
                    "400": _response("A number is out of range."),
                    "401": UNAUTHORIZED,
                },
            },
        },
        "/agents/{name}/answers": {
            "parameters": [NAME],
            "post": {
                "summary": "Answer a request. Repeating the same answer has no effect.",
                "requestBody": {"required": True, **_json(ANSWER)},
                "responses": {
                    "200": _response("The answer is accepted.", ACCEPTED),
                    "400": _response("The answer is invalid; the request is still open."),
                    "401": UNAUTHORIZED,
                    "404": _response("This remote agent has no such request."),
                    "409": _response("The request is closed, or has a different answer."),
                    "413": _response("The answer is too large."),
                },
            },
        },
    },
    "components": {
        "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        "schemas": SCHEMAS,
    },
}
"""Description that the server returns at ``/openapi.json``."""
