"""Actions: pydantic models that define the schema, input form and validation of a move.

Language models receive an action's schema, and people receive its fields as a form. Validators and
the rules decide whether an action is legal; the player sees the reason for a refusal.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import product
from math import prod
from typing import Annotated, Any, Self, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationInfo,
)
from pydantic import ValidationError as PydanticError
from pydantic_core import ErrorDetails

from cheaptalk.rules.errors import SHAPES, WrongValue

MESSAGE_LIMIT = 4_000
"""Maximum characters of a message, about 600 words. Without a limit, as in published systems, a
player could fill the context window of other players or exhaust their budgets."""

_AMOUNT = re.compile(
    r"([-+]?\$?\s*(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?)(?:\s*(?:dollars?|USD))?", re.IGNORECASE
)
_WHOLE = re.compile(
    r"\s*([-+]?(?:\d{1,3}(?:,\d{3})+|\d+))(?:\.0+)?\s*(?:(?<=\s)([a-z]+?)s?)?\s*",
    re.ASCII | re.IGNORECASE,
)


class Data(BaseModel):
    """Immutable data; unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def __init__(self, /, **data: Any) -> None:
        """Create an instance; raise :class:`WrongValue` if a field's value is invalid."""
        __tracebackhide__ = True
        try:
            self.__pydantic_validator__.validate_python(data, self_instance=self)
        except PydanticError as error:
            raise WrongValue.of_field(type(self), error) from None

    # pydantic calls no __init__ with this mark when it validates nested data, which saves time
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @classmethod
    def unchecked(cls, **fields: Any) -> Self:
        """Create an instance without validation; pass all fields, with values of the final types.

        Takes half the time of pydantic's ``model_construct`` because fields are not looked up.
        """
        value = cls.__new__(cls)
        object.__setattr__(value, "__dict__", fields)
        object.__setattr__(value, "__pydantic_fields_set__", set(fields))
        object.__setattr__(value, "__pydantic_extra__", None)
        object.__setattr__(value, "__pydantic_private__", None)
        return value


class Action(Data):
    """An immutable move of one actor, which rejects unknown fields.

    >>> class Bid(ct.Action):
    ...     amount: ct.Money
    >>> Bid(amount="$1,250")
    Bid(amount=1250.0)
    """


def _read_amount(value: Any) -> Any:
    """Read "$1,250.50" as 1250.5; return any other value unchanged for pydantic to validate."""
    if isinstance(value, bool):
        raise ValueError("must be a number, not true or false")
    if isinstance(value, str) and (match := _AMOUNT.fullmatch(value.strip())) and match[1]:
        return re.sub(r"[$,\s]", "", match[1])
    return value


Money = Annotated[float, BeforeValidator(_read_amount), Field(allow_inf_nan=False)]
"""An amount of dollars; strings such as "$1,250.50" and "5 dollars" are read as numbers."""


def _read_whole(value: Any, field: ValidationInfo) -> Any:
    """Read "1,250" and 1250.0 as 1250, and "20 tokens" as 20 if the field's name has this unit.

    Any other value is returned unchanged.
    """
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and (match := _WHOLE.fullmatch(value)):
        units = {word.removesuffix("s") for word in (field.field_name or "").split("_")}
        if match[2] is None or match[2].casefold() in units:
            return int(match[1].replace(",", ""))
    return value


Whole = Annotated[int, BeforeValidator(_read_whole), Field(strict=True)]
"""An integer; 12.0 and strings such as "1,250" are read as numbers, also with the unit that the
field's name contains."""

Message = Annotated[str, StringConstraints(max_length=MESSAGE_LIMIT, strict=True)]
"""Text for another player, stored unchanged."""


Schema: TypeAlias = dict[str, Any]
"""A JSON schema, or a part of one."""
TOTAL = "x-total"
"""Keyword of an object whose numbers must add up to a total. No JSON schema can express this; the
structured decoding of local models enforces it."""
TOTAL_NOTE = "The numbers add up to {}."
"""The total in the description of such an object, for models."""


def alternative(
    fields: Mapping[str, Any] | None = None, /, *, total: float | None = None, **more: Any
) -> Schema:
    """Return the legal values of an action's fields in one request, as a part of a JSON schema.

    A field without a value keeps the schema of the action type. A value is

    - None if the field must be left out,
    - a text, a number or a truth value: the only legal value,
    - a list or tuple of such values, one of which is legal,
    - a ``range`` of integers, or :func:`between` for amounts,
    - a list of ranges: a list with one integer from each range,
    - or a JSON schema, such as another alternative.

    Args:
        fields: values by field, for names that are not Python identifiers.
        total: the sum of all numbers, if the rules fix it.

    >>> alternative(action="shoot", target=["ann", "bob"])
    {'properties': {'action': {'enum': ['shoot']}, 'target': {'enum': ['ann', 'bob']}}}
    """
    parts = {name: _keywords(value) for name, value in {**(fields or {}), **more}.items()}
    result: Schema = {"properties": parts}
    if total is None:
        return result
    return result | {TOTAL: total, "description": TOTAL_NOTE.format(f"{total:,.15g}")}


def between(low: float | None = None, high: float | None = None) -> Schema:
    """Return the JSON schema keywords of a closed range of numbers; None is no bound."""
    bounds = {"minimum": low, "maximum": high}
    return {key: bound for key, bound in bounds.items() if bound is not None}


def _keywords(value: Any) -> Schema | None:
    match value:
        case None:
            return None
        case {"properties": parts}:
            return {"type": "object", **value, **_closed(parts)}
        case dict():
            return value
        case range():
            return {"type": "integer", **between(value[0], value[-1])}
        case [range(), *_]:
            items = [_keywords(part) for part in value]
            size = len(items)
            return {"type": "array", "prefixItems": items, "minItems": size, "maxItems": size}
        case list() | tuple():
            return {"enum": list(value)}
    return {"enum": [value]}


def _closed(parts: Mapping[str, Any]) -> Schema:
    return {"required": list(parts), "additionalProperties": False}


def schema_of(action: type[Action], alternatives: Sequence[Schema] = ()) -> Schema:
    """Return the JSON schema of the legal answers to a request.

    Args:
        alternatives: the forms of a legal answer, see :func:`alternative`; none for all values of
            the action type.
    """
    schema = _schema(action)
    if not alternatives:
        return schema
    shapes = [_narrowed(schema, part) for part in alternatives]
    if len(shapes) == 1:
        return shapes[0]
    for shape in shapes[1:]:
        shape.pop("description", None)
    return {"anyOf": shapes}


@cache
def _schema(action: type[Action]) -> Schema:
    return action.model_json_schema()


def _narrowed(schema: Schema, part: Schema) -> Schema:
    values, required = part["properties"], schema.get("required", ())
    properties = {}
    for name, spec in schema["properties"].items():
        if name not in values:
            properties[name] = spec
        elif (keywords := values[name]) is not None:
            properties[name] = _merged(spec, keywords)
    kept = [name for name in properties if name in required or name in values]
    result = {**schema, **part, "properties": properties, "required": kept}
    if TOTAL in part and "description" in schema:
        result["description"] = f"{schema['description']} {part['description']}"
    return result


def _merged(spec: Schema, keywords: Schema) -> Schema:
    """Return a field's schema with other keywords, without null and the default."""
    present = [kind for kind in spec.get("anyOf", ()) if kind.get("type") != "null"]
    kept = {key: value for key, value in spec.items() if key not in ("anyOf", "default")}
    if len(present) == 1:
        kept |= present[0]
    if {"prefixItems", "properties"} & keywords.keys():
        kept = {key: kept[key] for key in ("title", "description") if key in kept}
    return kept | keywords


MAX_LISTED = 10_000
"""Maximum number of actions that :func:`listed` enumerates."""


def listed(kind: type[Action], alternatives: Sequence[Schema] = ()) -> tuple[Action, ...] | None:
    """Return all actions that the schema of a request allows.

    Args:
        alternatives: as in :func:`schema_of`.

    Returns:
        None if the actions cannot be enumerated: they have text, amounts, lists or unbounded
        numbers, or there are more than :data:`MAX_LISTED`.
    """
    return _listed(kind, schema_of(kind, alternatives)) if alternatives else _all_listed(kind)


@cache
def _all_listed(kind: type[Action]) -> tuple[Action, ...] | None:
    return _listed(kind, _schema(kind))


def _listed(kind: type[Action], schema: Schema) -> tuple[Action, ...] | None:
    actions = []
    for shape in schema.get("anyOf", [schema]):
        fields = {name: _values(spec) for name, spec in shape["properties"].items()}
        choices = {name: values for name, values in fields.items() if values is not None}
        if len(choices) < len(fields) or prod(map(len, choices.values())) > MAX_LISTED:
            return None
        for combination in product(*choices.values()):
            with suppress(PydanticError):  # validators may refuse this combination of fields
                values = dict(zip(choices, combination, strict=True))
                actions.append(kind.model_validate(values))
    return tuple(actions)


def _values(schema: Schema) -> Sequence[Any] | None:
    """Return all values that a JSON schema allows; None if the values cannot be listed."""
    if "anyOf" in schema:
        parts = [_values(option) for option in schema["anyOf"]]
        return None if None in parts else [value for part in parts for value in part or ()]
    if "const" in schema or "enum" in schema:
        return [schema["const"]] if "const" in schema else list(schema["enum"])
    match schema:
        case {"type": "null"}:
            return [None]
        case {"type": "boolean"}:
            return [False, True]
        case {"type": "integer", "minimum": low, "maximum": high} if high - low < MAX_LISTED:
            return range(low, high + 1)
    return None


def explain(error: PydanticError) -> str:
    """Describe in one sentence, for the player, why its answer is invalid."""
    problems = error.errors(include_url=False, include_context=True)
    return "; ".join(_placed(problem["loc"], _plain(problem)) for problem in problems)


def _placed(location: Sequence[int | str], reason: str) -> str:
    """Prefix the reason why a value is invalid with its field's name; list items count from 1."""
    if not location:
        return f"the answer {reason}" if reason.startswith("should be") else reason
    names = ".".join(step for step in location if isinstance(step, str))
    numbers = "".join(f", number {step + 1}" for step in location if isinstance(step, int))
    return f'"{names}"{numbers}: {reason}'


def _plain(problem: ErrorDetails) -> str:
    kind, message = problem["type"], problem["msg"]
    if kind == "string_too_long":
        limit = problem["ctx"]["max_length"]
        return f"has {len(problem['input']):,} characters; at most {limit:,} are possible"
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        return "is not part of the answer"
    if kind in SHAPES:
        return f"should be {SHAPES[kind]}"
    message = message.removeprefix("Value error, ").removeprefix("Input ")
    message = re.sub("^(Tuple|List) ", "", message).replace(" after validation", "")
    return message[:1].lower() + message[1:]
