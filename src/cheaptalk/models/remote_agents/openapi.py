"""OpenAPI description of the agent server."""

from typing import Any


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _refused(description: str) -> dict[str, Any]:
    return {"description": description, "content": _json({"$ref": "#/components/schemas/Error"})}


def _of_query(name: str, meaning: str, schema: dict[str, Any]) -> dict[str, Any]:
    keys = {"name": name, "in": "query", "required": False}
    return keys | {"description": meaning, "schema": schema}


TEXT = {"type": "string"}
COUNT = {"type": "integer", "minimum": 0}
NAME = {
    "name": "name", "in": "path", "required": True, "schema": TEXT,
    "description": "The remote agent's name, without remote/.",
}  # fmt: skip
UNKNOWN = _refused("The token is wrong.")
REQUEST = {
    "type": "object",
    "required": ["call", "agent", "game", "seat", "messages", "form"],
    "properties": {
        "call": TEXT | {"description": "The request's id, which the answer must repeat."},
        "agent": TEXT | {"description": "The remote agent's name."},
        "game": {"type": ["string", "null"]},
        "seat": {"type": ["string", "null"], "description": "The seat whose turn it is."},
        "messages": {
            "type": "array",
            "description": "The conversation so far: the briefing is the system "
            "message, and the request is at the end of the last user message.",
            "items": {
                "type": "object",
                "required": ["role", "content"],
                "properties": {
                    "role": {"enum": ["system", "user", "assistant"]}, "content": TEXT,
                },
            },
        },
        "form": {
            "type": ["object", "null"],
            "description": "The required form of the answer.",
            "properties": {"name": TEXT, "schema": {"type": "object"}},
        },
    },
}  # fmt: skip
LOOK = {
    "type": "object",
    "required": ["state", "requests", "after"],
    "properties": {
        "state": {
            "enum": ["open", "waiting", "over"],
            "description": "There are open requests; there are none now; the run is over.",
        },
        "requests": {
            "type": "array",
            "description": "The open requests, oldest first.",
            "items": {"$ref": "#/components/schemas/Request"},
        },
        "after": TEXT | {"description": "The cursor for later requests."},
    },
}
USAGE = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "input_tokens": COUNT, "output_tokens": COUNT, "cached_tokens": COUNT,
        "reasoning_tokens": COUNT,
    },
}  # fmt: skip
ANSWER = {
    "type": "object",
    "required": ["call"],
    "additionalProperties": False,
    "properties": {
        "call": TEXT | {"description": "The request's id."},
        "answer": {"type": "object", "description": "The fields of the required form."},
        "text": TEXT | {"description": "Alternatively, a text from which the answer is parsed."},
        "error": {"description": "Alternatively, an error message, with which the match fails."},
        "model": TEXT | {"description": "The model's name, for the record."},
        "usage": USAGE,
    },
}
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
                "responses": {"200": {"description": "The description.",
                "content": _json({"type": "object"})}},
            }
        },
        "/agents/{name}": {
            "parameters": [NAME],
            "get": {
                "summary": "Poll for requests, optionally waiting.",
                "parameters": [
                    _of_query(
                        "wait", "Seconds to wait if there is no open request.",
                        {"type": "number", "minimum": 0, "maximum": 60, "default": 0},
                    ),
                    _of_query(
                        "max", "Maximum number of requests.",
                        {"type": "integer", "minimum": 1, "maximum": 64, "default": 64},
                    ),
                    _of_query("after", "The cursor of an earlier poll, to return only later "
                              "requests.", TEXT),
                ],
                "responses": {
                    "200": {
                        "description": "The open requests.",
                        "content": _json({"$ref": "#/components/schemas/Look"}),
                    },
                    "400": _refused("A number is out of range."),
                    "401": UNKNOWN,
                },
            },
        },
        "/agents/{name}/answers": {
            "parameters": [NAME],
            "post": {
                "summary": "Answer a request. Repeating the same answer has no effect.",
                "requestBody": {
                    "required": True, "content": _json({"$ref": "#/components/schemas/Answer"}),
                },
                "responses": {
                    "200": {
                        "description": "The answer is accepted.",
                        "content": _json({"type": "object",
                                          "properties": {"state": {"const": "taken"}}}),
                    },
                    "400": _refused("The answer is invalid; the request is still open."),
                    "401": UNKNOWN,
                    "404": _refused("This remote agent has no such request."),
                    "409": _refused("The request is closed, or has a different answer."),
                    "413": _refused("The answer is too large."),
                },
            },
        },
    },
    "components": {
        "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        "schemas": {
            "Request": REQUEST, "Look": LOOK, "Answer": ANSWER,
            "Error": {"type": "object", "required": ["error"], "properties": {"error": TEXT}},
        },
    },
}  # fmt: skip
"""Description that the server returns at ``/openapi.json``."""
