"""What a guest can do, as OpenAPI describes it."""

from typing import Any


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _refused(description: str) -> dict[str, Any]:
    return {"description": description, "content": _json({"$ref": "#/components/schemas/Error"})}


def _of_query(name: str, what: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "description": what, "schema": schema}


TEXT = {"type": "string"}
COUNT = {"type": "integer", "minimum": 0}
NAME = {
    "name": "name", "in": "path", "required": True, "schema": TEXT,
    "description": "The guest, as its name stands behind guest/ in the study.",
}  # fmt: skip
UNKNOWN = _refused("The token is not that of this guest.")
QUESTION = {
    "type": "object",
    "required": ["call", "agent", "game", "seat", "messages", "form"],
    "properties": {
        "call": TEXT | {"description": "The question's number, which its answer repeats."},
        "agent": TEXT | {"description": "The guest's name."},
        "game": {"type": ["string", "null"]},
        "seat": {"type": ["string", "null"], "description": "Whose move it is."},
        "messages": {
            "type": "array",
            "description": "All that the seat was told and said: the briefing is the system "
            "message, and the question ends the last user message.",
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
            "description": "The answer that is wanted.",
            "properties": {"name": TEXT, "schema": {"type": "object"}},
        },
    },
}  # fmt: skip
LOOK = {
    "type": "object",
    "required": ["state", "questions", "after"],
    "properties": {
        "state": {
            "enum": ["asked", "waiting", "over"],
            "description": "Something is asked; nothing is asked now; nothing will be any more.",
        },
        "questions": {
            "type": "array",
            "description": "The questions that are open, the oldest first.",
            "items": {"$ref": "#/components/schemas/Question"},
        },
        "after": TEXT | {"description": "The mark to look on after these questions."},
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
        "call": TEXT | {"description": "The number of the question."},
        "answer": {"type": "object", "description": "The fields of the question's form."},
        "text": TEXT | {"description": "Or words in which the answer is looked for."},
        "error": {"description": "Or why there is none: the match fails for that reason."},
        "model": TEXT | {"description": "Which model has answered, for the record."},
        "usage": USAGE,
    },
}
OPENAPI: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {
        "title": "A guest's seat at cheaptalk's table",
        "version": "1",
        "description": "Look what is asked, answer it by its call's number, and look again until "
        "it is over. A question is shown until it is answered or its time is up; a refused answer "
        "comes back as the next question's messages, with the reason.",
    },
    "security": [{"token": []}],
    "paths": {
        "/openapi.json": {
            "get": {
                "summary": "This description.",
                "security": [],
                "responses": {"200": {"description": "It.", "content": _json({"type": "object"})}},
            }
        },
        "/guests/{name}": {
            "parameters": [NAME],
            "get": {
                "summary": "Look what is asked, or wait for it.",
                "parameters": [
                    _of_query(
                        "wait", "Seconds to wait for a question, where none is open.",
                        {"type": "number", "minimum": 0, "maximum": 60, "default": 0},
                    ),
                    _of_query(
                        "most", "How many questions are shown.",
                        {"type": "integer", "minimum": 1, "maximum": 64, "default": 64},
                    ),
                    _of_query(
                        "after", "The mark of an earlier look, to see later questions alone.", TEXT
                    ),
                ],
                "responses": {
                    "200": {
                        "description": "What is asked.",
                        "content": _json({"$ref": "#/components/schemas/Look"}),
                    },
                    "400": _refused("A number is out of its range."),
                    "401": UNKNOWN,
                },
            },
        },
        "/guests/{name}/answers": {
            "parameters": [NAME],
            "post": {
                "summary": "Answer a question. The same answer sent twice is taken once.",
                "requestBody": {
                    "required": True, "content": _json({"$ref": "#/components/schemas/Answer"}),
                },
                "responses": {
                    "200": {
                        "description": "The answer is taken.",
                        "content": _json(
                            {"type": "object", "properties": {"state": {"const": "taken"}}}
                        ),
                    },
                    "400": _refused("It is no answer; the question is open still."),
                    "401": UNKNOWN,
                    "404": _refused("No such question was asked of this guest here."),
                    "409": _refused("The question is closed, or was answered otherwise before."),
                    "413": _refused("The answer is too large."),
                },
            },
        },
    },
    "components": {
        "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        "schemas": {
            "Question": QUESTION, "Look": LOOK, "Answer": ANSWER,
            "Error": {"type": "object", "required": ["error"], "properties": {"error": TEXT}},
        },
    },
}  # fmt: skip
"""The description that is served at ``/openapi.json``."""
