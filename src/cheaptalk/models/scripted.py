"""Scripted models for dry runs and tests, without a server, a key or costs."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

from cheaptalk.models.calls import AnswerForm, Failure, ModelCall, Reply, Usage
from cheaptalk.models.model_strings import ModelName
from cheaptalk.models.settings import wire

WORDS = "No comment."
"""Text of a scripted model if no answer form is required."""


class ScriptedModels:
    """A client for the scripted models in :data:`~cheaptalk.models.SCRIPTS`.

    A token is a word. Answers depend only on the messages and the form; settings are recorded but
    ignored.
    """

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        name = ModelName.parse(call.model).model
        sent = wire(call.settings, call.model)
        words = sum(len(message.content.split()) for message in call.messages)
        if name in ("refuse", "fail"):
            refused, detail = name == "refuse", f"{call.model} always does"
            failure = Failure.REFUSED if refused else Failure.PROVIDER_ERROR
            usage = Usage(input_tokens=words if refused else 0)
            return Reply(failure=failure, detail=detail, model=name, usage=usage, sent=sent)
        text = SAYS[name](call)
        route = call.form and ("text" if call.form.route == "auto" else call.form.route)
        usage = Usage(input_tokens=words, output_tokens=len(text.split()))
        return Reply(text=text, model=name, finish="stop", route=route, sent=sent, usage=usage)


def legal(call: ModelCall) -> str:
    """Return the call's example of a legal answer or, without an example, a generated answer."""
    if call.form is None:
        return WORDS
    seed = json.dumps([message.content for message in call.messages])
    return call.form.example or made_up(call.form, seed)


SAYS: dict[str, Callable[[ModelCall], str]] = {
    "legal": legal,
    "echo": lambda call: call.messages[-1].content,
    "silent": lambda _: "",
}
"""Answer functions of scripted models, by name."""


def made_up(form: AnswerForm, seed: str) -> str:
    """Return pseudo-random JSON that fits an answer's schema but may be illegal in the game.

    >>> schema = {"type": "object", "properties": {"share": {"type": "integer", "maximum": 0}}}
    >>> made_up(AnswerForm(name="Share", json_schema=schema), "any")
    '{"share": 0}'
    """
    return json.dumps(_value(form.json_schema, form.json_schema.get("$defs", {}), seed))


def _value(spec: dict[str, Any], defs: dict[str, Any], seed: str) -> Any:
    number = int(hashlib.sha256(seed.encode()).hexdigest()[:12], 16)
    if "$ref" in spec:
        return _value(defs[spec["$ref"].rpartition("/")[2]], defs, seed)
    options = spec.get("enum") or [spec[key] for key in ("const",) if key in spec]
    if options:
        return options[number % len(options)]
    if "anyOf" in spec:
        return _value(spec["anyOf"][number % len(spec["anyOf"])], defs, seed)
    match spec.get("type"):
        case "object":
            parts = spec.get("properties", {}).items()
            return {name: _value(part, defs, f"{seed}/{name}") for name, part in parts}
        case "array":
            parts = spec.get("prefixItems") or [spec.get("items", {})] * spec.get("minItems", 1)
            return [_value(part, defs, f"{seed}/{index}") for index, part in enumerate(parts)]
        case "integer" | "number":
            minimum = spec.get("minimum", spec.get("ge", min(0, spec.get("maximum", 0))))
            maximum = spec.get("maximum", spec.get("le", minimum + 10))
            return minimum + number % (int(maximum - minimum) + 1)
        case "boolean":
            return number % 2 == 0
        case "null":
            return None
        case _:
            return WORDS[: spec.get("maxLength", len(WORDS))]
