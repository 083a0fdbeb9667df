"""Codecs: the answer formats of prompt styles, with instructions and a parser of responses.

A codec parses exactly one action from a response, or raises an error with the reason. Codecs never
guess: a response with two different answers is ambiguous.
"""

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Protocol

from pydantic import ValidationError

from cheaptalk.rules import Action, Ask, explain
from cheaptalk.styles.json_objects import (
    MARKS,
    NOT_JSON,
    WRAPPED,
    Braced,
    NoAnswer,
    Unparsable,
    after_thinking,
    objects,
)
from cheaptalk.styles.referee import Vocabulary, bare_value, verdict

EMPTY = "the reply is empty"
CUT_OFF = "the reply is cut off"
NO_OBJECT = "it contains no JSON object"
TWO = "the reply contains more than one answer; give exactly one"
PLAIN = {
    "number": "<number>",
    "integer": "<whole number>",
    "string": '"<text>"',
    "boolean": "true or false",
    "null": "null",
}
"""Placeholders for simple types in a JSON schema."""
NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?")
"""A number that may be an answer without JSON."""
BLANKS = {blank.strip('"') for blank in [*PLAIN.values(), "<value>"] if "<" in blank}


class IllegalMove(Unparsable):
    """An error about a readable answer that the rules reject; the message is the rules' reason."""


class Codec(Protocol):
    """The interface of answer formats."""

    def form(self, action: type[Action]) -> str:
        """Return a template of the answer with placeholders, for the player."""

    def write(self, action: Action) -> str:
        """Return an action as a response that :meth:`read` parses as the same action."""

    def read(self, reply: str, ask: Ask, *, cut_off: bool = False) -> Action:
        """Return the only action that a response contains.

        Args:
            cut_off: whether a length limit ended the response. An answer in such a response is
                valid only if nothing follows the answer.

        Raises:
            Unparsable: the response contains no action, or several actions.
            IllegalMove: the rules refuse the action.
        """


class JsonCodec:
    """A codec for JSON answers; :mod:`.referee` decides whether an object is the answer."""

    def form(self, action: type[Action]) -> str:
        return _form(action)

    def write(self, action: Action) -> str:
        fields = type(action).model_fields
        unset = {
            name for name, field in fields.items() if field.default is getattr(action, name) is None
        }
        return action.model_dump_json(exclude=unset if len(unset) < len(fields) else None)

    def read(self, reply: str, ask: Ask, *, cut_off: bool = False) -> Action:
        if not reply.strip():
            raise Unparsable(EMPTY)
        candidates, text = objects(reply)
        occurrences, answer, problem = _answer(candidates, ask.action)
        if answer is None and not candidates and not cut_off:
            answer = _bare_value(text, ask.action)
        if answer is None:
            raise _unanswered(reply, problem)
        if occurrences:
            rest = text[occurrences[-1].end :]
            if _keys(ask.action).search(rest.replace(_form(ask.action), "")):
                raise Unparsable(TWO)
            vocabulary, outside = _vocabulary(answer), reply
            for candidate in candidates:
                outside = outside.replace(candidate.text, "")
            if outside.strip(" `*_\"'.,:;!\t\r\n").casefold() in vocabulary.others:
                raise Unparsable(TWO)
            if doubt := verdict(text, candidates, occurrences, vocabulary, cut_off=cut_off):
                raise Unparsable(doubt)
        reason = ask.refuse(answer)
        if reason is not None:
            raise IllegalMove(reason)
        return answer


def _unanswered(reply: str, problem: str) -> Unparsable:
    """Return the error about a response without an answer; ``problem`` is that of its objects."""
    missing = not problem and "{" not in after_thinking(reply)
    kind = NoAnswer if missing else Unparsable
    reason = problem or (NO_OBJECT if missing else NOT_JSON)
    return kind(f"no answer could be read from the reply: {reason}")


def _vocabulary(answer: Action) -> Vocabulary:
    """Return the words and numbers of an answer, and the words of all other possible choices."""
    values = {
        (f"{value:.15g}" if isinstance(value, float) else str(value)).casefold()
        for value in vars(answer).values()
    }
    names = {value for value in values if re.fullmatch(r"[\w.-]+", value)}
    parts = {part for name in names for part in name.split("_")}
    choices = set[str]().union(*_words(type(answer)).values())
    return Vocabulary(frozenset(names | parts), frozenset(choices - values))


def _bare_value(text: str, action: type[Action]) -> Action | None:
    """Return the answer if a response consists only of the value of the action's only field.

    Free text is never such an answer, because any response is text.
    """
    if len(action.model_fields) != 1:
        return None
    (name,) = action.model_fields
    value = bare_value(text)
    choice = _words(action).get(name, {}).get(value.casefold())
    if choice is None and not NUMBER.fullmatch(value):
        return None
    spec = action.model_json_schema()["properties"][name]
    kinds = {option.get("type") for option in spec.get("anyOf", [spec])}
    if choice is None and kinds.isdisjoint({"integer", "number"}):
        return None
    try:
        return action.model_validate({name: json.loads(value) if choice is None else choice})
    except ValidationError:
        return None


def _answer(
    candidates: Iterable[Braced], action: type[Action]
) -> tuple[list[Braced], Action | None, str]:
    """Return the objects that state the answer, the answer, and the last error in other objects."""
    answer, occurrences = None, list[Braced]()
    problem: ValidationError | str = ""
    for candidate in candidates:
        if candidate.data is None:
            problem = candidate.fault or NOT_JSON
            keys = [name.casefold() for name in _keys(action).findall(candidate.text)]
            if len(set(keys)) < len(keys):
                raise Unparsable(TWO)
            continue
        fields = _known(candidate.data, action)
        try:
            parsed = action.model_validate(fields)
        except ValidationError as error:
            problem = error
            continue
        if not fields and action.model_fields:
            problem = "it has none of the fields asked for"
        elif not BLANKS.isdisjoint(value for value in fields.values() if isinstance(value, str)):
            problem = "a blank of the form is not filled in"
        elif answer is not None and parsed != answer:
            raise Unparsable(TWO)
        else:
            answer = parsed
            occurrences.append(candidate)
    return occurrences, answer, problem if isinstance(problem, str) else explain(problem)


@cache
def _keys(action: type[Action]) -> re.Pattern[str]:
    """Return a pattern for a field name with a colon, which may begin another answer."""
    names = "|".join(map(re.escape, action.model_fields)) or r"(?!)"
    key = rf"(?:[{MARKS}]|\{{\s*)({names})[{MARKS}]?\s*:(?!\s*\\)"
    return re.compile(key, re.IGNORECASE)


def _known(data: dict[str, Any], action: type[Action]) -> dict[str, Any]:
    """Return an object's values for an action's fields, with corrected letter case.

    Raises:
        Unparsable: the object has two values of a field, under names in different case.
    """
    words, names = _words(action), _names(action)
    fields: dict[str, Any] = {}
    for key, value in _unwrapped(data, names).items():
        name = names.get(key.casefold(), key)
        if name in fields and fields[name] != value:
            raise Unparsable(TWO)
        fields[name] = value
    fields = {name: value for name, value in fields.items() if name in action.model_fields}
    for name, value in fields.items():
        if name in words and isinstance(value, str):
            fields[name] = words[name].get(value.strip().casefold(), value)
    return fields


def _unwrapped(data: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return the object in the only field ``answer``, or in the arguments of a tool call."""
    field = {WRAPPED: WRAPPED, "name": "arguments"}.get(next(iter(data), ""), "")
    is_wrapper = data.keys() in ({WRAPPED}, {"name", "arguments"}) and field not in names
    inner = data[field] if is_wrapper else None
    return inner if isinstance(inner, dict) else data


@cache
def _names(action: type[Action]) -> dict[str, str]:
    """Return the names of an action's fields by their lower-case spelling, if that is unique."""
    names = {name.casefold(): name for name in action.model_fields}
    return names if len(names) == len(action.model_fields) else {}


@cache
def _words(action: type[Action]) -> dict[str, dict[str, str]]:
    """Return the choices of each field by their lower-case spelling."""
    choices = {}
    for name, spec in action.model_json_schema().get("properties", {}).items():
        options = [word for word in spec.get("enum", ()) if isinstance(word, str)]
        small = {word.casefold(): word for word in options}
        if options and len(small) == len(options):
            choices[name] = small
    return choices


@cache
def _form(action: type[Action]) -> str:
    schema = action.model_json_schema()
    return _blank(schema, schema.get("$defs", {}))


def _blank(spec: dict[str, Any], defs: dict[str, Any]) -> str:
    """Return a template, with placeholders, of the values that a JSON schema allows."""
    if "$ref" in spec:
        return _blank(defs[spec["$ref"].rpartition("/")[2]], defs)
    if "anyOf" in spec:
        return " or ".join(dict.fromkeys(_blank(option, defs) for option in spec["anyOf"]))
    if "enum" in spec:
        return " or ".join(json.dumps(option) for option in spec["enum"])
    if "const" in spec:
        return json.dumps(spec["const"])
    if spec.get("type") == "array":
        if "prefixItems" in spec:
            return f"[{', '.join(_blank(item, defs) for item in spec['prefixItems'])}]"
        return f"[{_blank(spec.get('items', {}), defs)}, ...]"
    if spec.get("type") == "object":
        fields = spec.get("properties", {}).items()
        blanks = [f"{json.dumps(name)}: {_blank(field, defs)}" for name, field in fields]
        if isinstance(spec.get("additionalProperties"), dict):
            blanks.append(f'"<text>": {_blank(spec["additionalProperties"], defs)}, ...')
        return f"{{{', '.join(blanks)}}}"
    return PLAIN.get(spec.get("type", ""), "<value>")
