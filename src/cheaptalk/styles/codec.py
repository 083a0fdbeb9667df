"""Codecs: how an answer is asked for and read.

A codec turns an action type into a form to fill in and a reply into exactly one action, or says
why it cannot. It never guesses: two different answers in one reply are ambiguous.
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
"""Blanks of the plain types of a JSON schema."""
NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?")
"""A number that is an answer by itself."""
BLANKS = {blank.strip('"') for blank in [*PLAIN.values(), "<value>"] if "<" in blank}


class Illegal(Unreadable):
    """A reply whose answer the rules refuse; the message is the rules' reason."""


class Codec(Protocol):
    """How answers are written down in one style."""

    def form(self, action: type[Action]) -> str:
        """What an answer must look like, as shown to the player."""

    def write(self, action: Action) -> str:
        """An action as a reply that :meth:`read` reads as the same action."""

    def read(self, reply: str, ask: Ask, *, cut_off: bool = False) -> Action:
        """The one action that the reply contains.

        Args:
            cut_off: whether the reply was ended by a limit on its length. Such a one holds an
                answer only if nothing was begun behind it.

        Raises:
            Unreadable: there is none, or more than one.
            Illegal: there is one, and the rules refuse it.
        """


class JsonCodec:
    """Read an answer as the one JSON object that :mod:`.referee` accepts."""

    def form(self, action: type[Action]) -> str:
        return _form(action)

    def write(self, action: Action) -> str:
        fields = type(action).model_fields
        idle = {
            name for name, field in fields.items() if field.default is getattr(action, name) is None
        }
        return action.model_dump_json(exclude=idle if len(idle) < len(fields) else None)

    def read(self, reply: str, ask: Ask, *, cut_off: bool = False) -> Action:
        if not reply.strip():
            raise Unreadable(EMPTY)
        found, text = objects(reply)
        places, answer, problem = _answer(found, ask.action)
        if answer is None and not found and not cut_off:
            answer = _bare_value(text, ask.action)
        if answer is None:
            why = problem or (NOT_JSON if "{" in after_thinking(reply) else NO_OBJECT)
            raise Unreadable(f"no answer could be read from the reply: {why}")
        if places:
            rest = text[places[-1].end :]
            if _keys(ask.action).search(rest.replace(_form(ask.action), "")):
                raise Unreadable(TWO)
            vocabulary = _vocabulary(answer)
            if _beside(reply, found) in vocabulary.others:
                raise Unreadable(TWO)
            if doubt := verdict(text, found, places, vocabulary, cut_off=cut_off):
                raise Unreadable(doubt)
        reason = ask.refuse(answer)
        if reason is not None:
            raise Illegal(reason)
        return answer


def _vocabulary(answer: Action) -> Vocabulary:
    """The words of an answer's choices, names and numbers, and the choices that it excludes."""
    values = {
        (f"{value:.15g}" if isinstance(value, float) else str(value)).casefold()
        for value in vars(answer).values()
    }
    names = {value for value in values if re.fullmatch(r"[\w.-]+", value)}
    parts = {part for name in names for part in name.split("_")}
    choices = set[str]().union(*_words(type(answer)).values())
    return Vocabulary(frozenset(names | parts), frozenset(choices - values))


def _beside(reply: str, found: Iterable[Braced]) -> str:
    """What a reply says beside its objects, in small letters and without marks."""
    for one in found:
        reply = reply.replace(one.text, "")
    return reply.strip(" `*_\"'.,:;!\t\r\n").casefold()


def _bare_value(text: str, action: type[Action]) -> Action | None:
    """The answer of a reply that is nothing but the value of an action's only field.

    Words of a choice and numbers count; other texts do not, since any reply is one.
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
    """The schemas of a field's values."""
    spec = action.model_json_schema()["properties"][name]
    options: list[dict[str, Any]] = spec.get("anyOf", [spec])
    return options


def _answer(
    found: Iterable[Braced], action: type[Action]
) -> tuple[list[Braced], Action | None, str]:
    """The places of the one answer among objects, the answer, and what ails the others.

    Raises:
        Unreadable: there are two different ones.
    """
    answer, places = None, list[Braced]()
    problem: ValidationError | str = ""
    for one in found:
        if one.data is None:
            problem = one.fault or NOT_JSON
            tried = [name.casefold() for name in _keys(action).findall(one.text)]
            if len(set(tried)) < len(tried):
                raise Unreadable(TWO)
            continue
        known = _known(one.data, action)
        try:
            read = action.model_validate(known)
        except ValidationError as error:
            problem = error
            continue
        if not known and action.model_fields:
            problem = "it has none of the fields asked for"
        elif not BLANKS.isdisjoint(value for value in known.values() if isinstance(value, str)):
            problem = "a blank of the form is not filled in"
        elif answer is not None and read != answer:
            raise Unreadable(TWO)
        else:
            answer = read
            places.append(one)
    return places, answer, problem if isinstance(problem, str) else explain(problem)


@cache
def _keys(action: type[Action]) -> re.Pattern[str]:
    """Where something begins that may be another answer: one of the fields' names with a colon."""
    names = "|".join(map(re.escape, action.model_fields)) or r"(?!)"
    key = rf"(?:[{MARKS}]|\{{\s*)({names})[{MARKS}]?\s*:(?!\s*\\)"
    return re.compile(key, re.IGNORECASE)


def _known(data: dict[str, Any], action: type[Action]) -> dict[str, Any]:
    """The fields of an action in an object; one of several words may be written in capitals."""
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
    """The words that fields can hold, by field and in small letters."""
    found = {}
    for name, spec in action.model_json_schema().get("properties", {}).items():
        options = [word for word in spec.get("enum", ()) if isinstance(word, str)]
        small = {word.casefold(): word for word in options}
        if options and len(small) == len(options):
            found[name] = small
    return found


@cache
def _form(action: type[Action]) -> str:
    schema = action.model_json_schema()
    return _blank(schema, schema.get("$defs", {}))


def _blank(spec: dict[str, Any], defs: dict[str, Any]) -> str:
    """What a value of a JSON schema looks like, with blanks to fill in."""
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
    inside = [f"{json.dumps(name)}: {_blank(field, defs)}"
              for name, field in spec.get("properties", {}).items()]  # fmt: skip
    if isinstance(spec.get("additionalProperties"), dict):
        inside.append(f'"<text>": {_blank(spec["additionalProperties"], defs)}, ...')
    return ", ".join(inside)
