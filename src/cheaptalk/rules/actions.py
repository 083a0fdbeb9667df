"""Actions: pydantic models that define the schema, input form and validation of a move.

Language models receive an action's schema, and people receive its fields as a form. Validators and
the rules decide whether an action is legal; the player sees the reason for a refusal.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from itertools import product
from math import prod
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from pydantic import ValidationError as PydanticError
from pydantic_core import ErrorDetails

from cheaptalk.rules.errors import SHAPES, WrongValue

MESSAGE_LIMIT = 4_000
"""Maximum characters of a message, about 600 words. Without a limit, as in published systems, a
player could fill the context window of other players or exhaust their budgets."""

_AMOUNT = re.compile(r"[-+]?\$?\s*(\d{1,3}(,\d{3})+|\d+)?(\.\d+)?")
_WHOLE = re.compile(r"\s*([-+]?(?:\d{1,3}(?:,\d{3})+|\d+))(?:\.0+)?\s*", re.ASCII)


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
    if isinstance(value, str) and value.strip() and _AMOUNT.fullmatch(value.strip()):
        return re.sub(r"[$,\s]", "", value)
    return value


Money = Annotated[float, BeforeValidator(_read_amount), Field(allow_inf_nan=False)]
"""An amount of dollars; strings such as "$1,250.50" are read as numbers."""


def _read_whole(value: Any) -> Any:
    """Read "1,250" and 1250.0 as 1250; return any other value unchanged."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and (match := _WHOLE.fullmatch(value)):
        return int(match[1].replace(",", ""))
    return value


Whole = Annotated[int, BeforeValidator(_read_whole), Field(strict=True)]
"""An integer; 12.0 and strings such as "1,250" are read as numbers."""

Message = Annotated[str, StringConstraints(max_length=MESSAGE_LIMIT, strict=True)]
"""Text for another player, stored unchanged."""


MAX_LISTED = 10_000
"""Maximum number of actions that :func:`listed` enumerates."""


@cache
def listed(kind: type[Action]) -> tuple[Action, ...] | None:
    """Return all actions that the schema of an action type allows.

    Returns:
        None if the actions cannot be enumerated: the type has text, amounts, lists or unbounded
        numbers, or allows more than :data:`MAX_LISTED` actions.
    """
    fields = {
        name: _values(schema) for name, schema in kind.model_json_schema()["properties"].items()
    }
    choices = {name: values for name, values in fields.items() if values is not None}
    if len(choices) < len(fields) or prod(map(len, choices.values())) > MAX_LISTED:
        return None
    actions = []
    for combination in product(*choices.values()):
        with suppress(PydanticError):  # validators may refuse this combination of fields
            actions.append(kind.model_validate(dict(zip(choices, combination, strict=True))))
    return tuple(actions)


def _values(schema: dict[str, Any]) -> Sequence[Any] | None:
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
