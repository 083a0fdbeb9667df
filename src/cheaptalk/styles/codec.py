"""Codecs: the answer format of a style, and how answers are parsed.

A codec turns an action type into a form, and a response into exactly one action, or says why it
cannot. It never guesses: two different answers in one response are ambiguous.
"""

import json
import re
from collections.abc import Iterable
from functools import cache
from typing import Any, Protocol

from pydantic import ValidationError

from cheaptalk.rules import Action, Ask, explain
from cheaptalk.styles.json_objects import (
    MARKS,
    NOT_JSON,
    Braced,
    Unreadable,
    after_thinking,
    objects,
)
from cheaptalk.styles.referee import Vocabulary, bare_value, verdict

EMPTY = "the reply is empty"
CUT_OFF = "the reply is cut off"
NO_OBJECT = "it contains no JSON object"
TWO = "the reply contains more than one answer; give exactly one"
PLAIN = {
    "number": "<number>", "integer": "<whole number>", "string": '"<text>"',
    "boolean": "true or false", "null": "null",
}  # fmt: skip
"""Placeholders for the plain types of a JSON schema."""
NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?")
"""A number that is an answer by itself."""
BLANKS = {blank.strip('"') for blank in [*PLAIN.values(), "<value>"] if "<" in blank}


class Illegal(Unreadable):
    """A response whose answer the rules refuse; the message is the rules' reason."""


class Codec(Protocol):
    """The answer format of a style."""

    def form(self, action: type[Action]) -> str:
        """Return what an answer must look like, as shown to the player."""

    def write(self, action: Action) -> str:
        """Return an action as a response that :meth:`read` parses as the same action."""

    def read(self, reply: str, ask: Ask, *, cut_off: bool = False) -> Action:
        """Return the only action that the response contains.

        Args:
            cut_off: whether a length limit ended the response. It then contains an answer only if
                nothing follows the answer.

        Raises:
            Unreadable: it contains no action, or more than one.
            Illegal: it contains one, and the rules refuse it.
        """


class JsonCodec:
    """Parses an answer as the one JSON object that :mod:`.referee` accepts."""

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
            raise Unreadable(EMPTY)
        candidates, text = objects(reply)
        occurrences, answer, problem = _answer(candidates, ask.action)
        if answer is None and not candidates and not cut_off:
            answer = _bare_value(text, ask.action)
        if answer is None:
            problem_text = problem or (NOT_JSON if "{" in after_thinking(reply) else NO_OBJECT)
            raise Unreadable(f"no answer could be read from the reply: {problem_text}")
        if occurrences:
            rest = text[occurrences[-1].end :]
            if _keys(ask.action).search(rest.replace(_form(ask.action), "")):
                raise Unreadable(TWO)
            vocabulary = _vocabulary(answer)
            if _beside(reply, candidates) in vocabulary.others:
                raise Unreadable(TWO)
            if doubt := verdict(text, candidates, occurrences, vocabulary, cut_off=cut_off):
                raise Unreadable(doubt)
        reason = ask.refuse(answer)
        if reason is not None:
            raise Illegal(reason)
        return answer


def _vocabulary(answer: Action) -> Vocabulary:
    """Return the words of an answer's choices, names and numbers, and the choices that it
    excludes."""
    values = {
        (f"{value:.15g}" if isinstance(value, float) else str(value)).casefold()
        for value in vars(answer).values()
    }
    names = {value for value in values if re.fullmatch(r"[\w.-]+", value)}
    parts = {part for name in names for part in name.split("_")}
    choices = set[str]().union(*_words(type(answer)).values())
    return Vocabulary(frozenset(names | parts), frozenset(choices - values))


def _beside(reply: str, candidates: Iterable[Braced]) -> str:
    """Return the text of a response outside its objects, in lower case and without marks."""
    for candidate in candidates:
        reply = reply.replace(candidate.text, "")
    return reply.strip(" `*_\"'.,:;!\t\r\n").casefold()


def _bare_value(text: str, action: type[Action]) -> Action | None:
    """Return the answer of a response that is only the value of an action's single field.

    Only choices and numbers count; any other text does not, because any response is text.
    """
    if len(action.model_fields) != 1:
        return None
    (name,) = action.model_fields
    value = bare_value(text)
    choice = _words(action).get(name, {}).get(value.casefold())
    if choice is None and not NUMBER.fullmatch(value):
        return None
    kinds = {option.get("type") for option in _options(action, name)}
    if choice is None and kinds.isdisjoint({"integer", "number"}):
        return None
    try:
        return action.model_validate({name: json.loads(value) if choice is None else choice})
    except ValidationError:
        return None


def _options(action: type[Action], name: str) -> list[dict[str, Any]]:
    """Return the schemas of a field's values."""
    spec = action.model_json_schema()["properties"][name]
    options: list[dict[str, Any]] = spec.get("anyOf", [spec])
    return options


def _answer(
    candidates: Iterable[Braced], action: type[Action]
) -> tuple[list[Braced], Action | None, str]:
    """Return the objects that contain the only answer, the answer, and what is wrong with the
    others.

    Raises:
        Unreadable: there are two different answers.
    """
    answer, occurrences = None, list[Braced]()
    problem: ValidationError | str = ""
    for candidate in candidates:
        if candidate.data is None:
            problem = candidate.fault or NOT_JSON
            keys = [name.casefold() for name in _keys(action).findall(candidate.text)]
            if len(set(keys)) < len(keys):
                raise Unreadable(TWO)
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
            raise Unreadable(TWO)
        else:
            answer = parsed
            occurrences.append(candidate)
    return occurrences, answer, problem if isinstance(problem, str) else explain(problem)


@cache
def _keys(action: type[Action]) -> re.Pattern[str]:
    """Return a pattern of field names followed by a colon, where another answer may begin."""
    names = "|".join(map(re.escape, action.model_fields)) or r"(?!)"
    key = rf"(?:[{MARKS}]|\{{\s*)({names})[{MARKS}]?\s*:(?!\s*\\)"
    return re.compile(key, re.IGNORECASE)


def _known(data: dict[str, Any], action: type[Action]) -> dict[str, Any]:
    """Return an object's values of an action's fields; the case of choices is ignored."""
    words = _words(action)
    return {
        name: words[name].get(value.strip().casefold(), value)
        if name in words and isinstance(value, str)
        else value
        for name, value in data.items()
        if name in action.model_fields
    }


@cache
def _words(action: type[Action]) -> dict[str, dict[str, str]]:
    """Return the choices of each field by their lower-case form."""
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
    """Return what a value of a JSON schema looks like, with placeholders."""
    if "$ref" in spec:
        return _blank(defs[spec["$ref"].rpartition("/")[2]], defs)
    if "anyOf" in spec:
        return " or ".join(dict.fromkeys(_blank(option, defs) for option in spec["anyOf"]))
    if "enum" in spec:
        return " or ".join(json.dumps(option) for option in spec["enum"])
    if "const" in spec:
        return json.dumps(spec["const"])
    if spec.get("type") == "array":
        return f"[{_blanks_of_items(spec, defs)}]"
    if spec.get("type") == "object":
        return "{" + _blanks_of_fields(spec, defs) + "}"
    return PLAIN.get(spec.get("type", ""), "<value>")


def _blanks_of_items(spec: dict[str, Any], defs: dict[str, Any]) -> str:
    if "prefixItems" in spec:
        return ", ".join(_blank(item, defs) for item in spec["prefixItems"])
    return f"{_blank(spec.get('items', {}), defs)}, ..."


def _blanks_of_fields(spec: dict[str, Any], defs: dict[str, Any]) -> str:
    blanks = [f"{json.dumps(name)}: {_blank(field, defs)}"
              for name, field in spec.get("properties", {}).items()]  # fmt: skip
    if isinstance(spec.get("additionalProperties"), dict):
        blanks.append(f'"<text>": {_blank(spec["additionalProperties"], defs)}, ...')
    return ", ".join(blanks)
