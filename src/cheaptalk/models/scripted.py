"""Models that only act as if: for dry runs and tests, without a server, a key or a bill."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

from cheaptalk.models.calls import AnswerForm, Failure, ModelCall, Reply, Usage
from cheaptalk.models.model_strings import ModelName
from cheaptalk.models.settings import wire

WORDS = "No comment."
"""What a scripted model says where it may say what it likes."""


class ScriptedModels:
    """Makes calls to scripted models: :data:`~cheaptalk.models.SCRIPTS` lists them.

    A token is a word. What a model says depends on the messages and the form alone: settings are
    noted as sent, so that a roster can be rehearsed with them, and heeded by nobody.
    """

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        """Make one call; no time passes.

        Args:
            number: heeded by no scripted model.
            deadline: likewise.
        """
        name = ModelName.parse(call.model).model
        sent = wire(call.settings, call.model)
        words = sum(len(message.content.split()) for message in call.messages)
        if name in ("refuse", "fail"):
            failure = Failure.REFUSED if name == "refuse" else Failure.PROVIDER_ERROR
            spent = Usage(input_tokens=words if failure is Failure.REFUSED else 0)
            detail = f"{call.model} always does"
            return Reply(failure=failure, detail=detail, model=name, usage=spent, sent=sent)
        text = SAYS[name](call)
        route = call.form and ("text" if call.form.route == "auto" else call.form.route)
        return Reply(
            text=text,
            model=name,
            finish="stop",
            route=route,
            sent=sent,
            usage=Usage(input_tokens=words, output_tokens=len(text.split())),
        )


def legal(call: ModelCall) -> str:
    """An answer of the form that is asked for: a legal one where the call has an example."""
    if call.form is None:
        return WORDS
    return call.form.example or made_up(
        call.form, json.dumps([one.content for one in call.messages])
    )


SAYS: dict[str, Callable[[ModelCall], str]] = {
    "legal": legal,
    "echo": lambda call: call.messages[-1].content,
    "silent": lambda _: "",
}
"""What scripted models answer, where they do."""


def made_up(form: AnswerForm, seed: str) -> str:
    """JSON that fits a form, chosen by a hash of the seed; the rules may still object to it.

    >>> schema = {"type": "object", "properties": {"share": {"type": "integer", "maximum": 0}}}
    >>> made_up(AnswerForm(name="Share", json_schema=schema), "any")
    '{"share": 0}'
    """
    return json.dumps(_value(form.json_schema, form.json_schema.get("$defs", {}), seed))


def _value(spec: dict[str, Any], defs: dict[str, Any], seed: str) -> Any:
    luck = int(hashlib.sha256(seed.encode()).hexdigest()[:12], 16)
    if "$ref" in spec:
        return _value(defs[spec["$ref"].rpartition("/")[2]], defs, seed)
    options = spec.get("enum") or [spec[key] for key in ("const",) if key in spec]
    if options:
        return options[luck % len(options)]
    if "anyOf" in spec:
        return _value(spec["anyOf"][luck % len(spec["anyOf"])], defs, seed)
    match spec.get("type"):
        case "object":
            inside = spec.get("properties", {}).items()
            return {name: _value(one, defs, f"{seed}/{name}") for name, one in inside}
        case "array":
            inside = spec.get("prefixItems") or [spec.get("items", {})] * spec.get("minItems", 1)
            return [_value(one, defs, f"{seed}/{place}") for place, one in enumerate(inside)]
        case "integer" | "number":
            least = spec.get("minimum", spec.get("ge", min(0, spec.get("maximum", 0))))
            most = spec.get("maximum", spec.get("le", least + 10))
            return least + luck % (int(most - least) + 1)
        case "boolean":
            return luck % 2 == 0
        case "null":
            return None
        case _:
            return WORDS[: spec.get("maxLength", len(WORDS))]
