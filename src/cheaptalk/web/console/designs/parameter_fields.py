"""Form fields for the parameters of a game. Each field accepts several values."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple, TypeAlias

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import CoreSchema

from cheaptalk.rules import Game, field_meanings
from cheaptalk.rules.errors import shown
from cheaptalk.rules.field_docs import legal_values
from cheaptalk.text import capital
from cheaptalk.web.typed_numbers import COMPUTED
from cheaptalk.yaml_files import as_yaml, default_text, parse_yaml

FieldKind: TypeAlias = Literal["choices", "numbers", "lines"]
"""Check boxes, comma-separated numbers, or one YAML value per line."""
BOOLEAN_LABELS = {"true": "yes", "false": "no"}
"""Display texts of boolean values."""
THOUSANDS = re.compile(r"(?<![\w.,])[0-9]{1,3}(?:,[0-9]{3})+(?![\w.,])")
"""Matches a number with thousands separators, or several numbers."""


class ParameterField(NamedTuple):
    """The form field of a game parameter.

    Attributes:
        name: name of the parameter.
        label: display name.
        kind: notation of its values.
        meaning: description from the game's source.
        legal: legal values, in words.
        default: default value in the field's notation.
        options: possible values of a choice.
    """

    name: str
    label: str
    kind: FieldKind
    meaning: str
    legal: str
    default: str
    options: tuple[str, ...] = ()

    def values(self, texts: Sequence[str]) -> list[Any]:
        """Parse the entered values of a parameter; an empty field yields an empty list.

        Raises:
            ValueError: a value cannot be parsed.
        """
        if self.kind == "choices":
            return [parse_yaml(text) for text in texts if text.strip()]
        text = "\n".join(texts).strip()
        return listed_values(text) if self.kind == "numbers" else line_values(text)

    def texts(self, values: Iterable[Any]) -> list[str]:
        texts = [as_yaml(value) for value in values]
        if self.kind == "choices":
            return texts
        return [(", " if self.kind == "numbers" else "\n").join(texts)] if texts else []

    def choices(self, ticked: Sequence[str]) -> list[tuple[str, str, bool]]:
        """Return the parameter's check boxes as (value, display text, is ticked).

        Ticked values come first, in their order, because it determines the order of the matches.
        """
        unticked = [option for option in self.options if option not in ticked]
        boxes = [*dict.fromkeys(ticked, True).items(), *dict.fromkeys(unticked, False).items()]
        return [(text, self.display_text(text), is_ticked) for text, is_ticked in boxes]

    def display_text(self, text: str) -> str:
        return BOOLEAN_LABELS.get(text, text) if self.kind == "choices" else text


def listed_values(text: str) -> list[Any]:
    """Parse comma-separated values; raise ValueError for ambiguous numbers such as 10,000.

    >>> listed_values("100, 10000, 1/2")
    [100, 10000, '1/2']
    >>> listed_values("10,000")
    Traceback (most recent call last):
    ValueError: "10,000" is ambiguous; write 10000 or, for several numbers, 10, 000
    """
    unclear = THOUSANDS.search(text)
    if unclear:
        single, several = unclear[0].replace(",", ""), unclear[0].replace(",", ", ")
        raise ValueError(
            f"{shown(unclear[0])} is ambiguous; write {single} or, for several numbers, {several}"
        )
    values = parse_yaml(f"[{text}]")
    if not isinstance(values, list) or any(isinstance(item, list | Mapping) for item in values):
        raise ValueError(f"{shown(text)} is not a list of numbers; separate numbers with commas")
    for value, number in zip(values, text.split(","), strict=False):
        if _is_read_as_number(value) and not COMPUTED.fullmatch(number.strip()):
            raise ValueError(
                f"{shown(number.strip())} is not a number; write digits only, such as 10 or 0.5"
            )
    return values


def _is_read_as_number(value: object) -> bool:
    """Return whether YAML or Python reads a value as a number, such as 1_0, 017, 0x10 or nan."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return False
    try:
        float(value)
    except ValueError:
        return False
    return True


def single_number(text: str) -> object:
    """Parse a text as a number if it is one; raise ValueError if the number is ambiguous."""
    values = listed_values(text)
    return values[0] if len(values) == 1 else text


def line_values(text: str) -> list[Any]:
    """Parse one value per nonblank line; raise ValueError for a line that cannot be parsed.

    >>> line_values("12\\n{rounds: 99, hidden: true}")
    [12, {'rounds': 99, 'hidden': True}]
    """
    values = []
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for number, line in enumerate(lines, 1):
        try:
            values.append(parse_yaml(line))
        except ValueError as error:
            prefix = f"value {number}: " if len(lines) > 1 else ""
            problem = re.sub(r"^line 1, (?=column)", "", str(error))
            raise ValueError(f"{prefix}{problem}") from None
    return values


@cache
def parameter_fields(rules: type[Game]) -> dict[str, ParameterField]:
    """Return a form field for each game parameter by name, with the players' names last."""
    schema = rules.model_json_schema(schema_generator=_LenientSchema)
    meanings = field_meanings(rules)
    names = sorted(rules.model_fields, key=lambda name: name == "names")
    return {
        name: _field(rules, name, schema["properties"].get(name, {}), schema, meanings[name])
        for name in names
    }


class _LenientSchema(GenerateJsonSchema):
    """JSON schema generator that describes unsupported types with an empty schema."""

    def handle_invalid_for_json_schema(
        self, schema: CoreSchema, error_info: str
    ) -> JsonSchemaValue:
        return {}


def _field(
    rules: type[Game], name: str, spec: JsonSchemaValue, schema: JsonSchemaValue, meaning: str
) -> ParameterField:
    resolved = _resolved(spec, schema)
    options = tuple(map(as_yaml, resolved.get("enum", [])))
    if resolved.get("type") == "boolean":
        options = tuple(BOOLEAN_LABELS)
    kind: FieldKind = "choices" if options else "numbers" if _is_number(resolved) else "lines"
    legal = "" if options else legal_values(spec) if spec else "value"
    default = default_text(rules.model_fields[name])
    return ParameterField(name, capital(name), kind, meaning, legal, default, options)


def _resolved(spec: JsonSchemaValue, schema: JsonSchemaValue) -> JsonSchemaValue:
    name = spec.get("$ref", "").rpartition("/")[2]
    definition: JsonSchemaValue = schema.get("$defs", {}).get(name, spec)
    return definition


def _is_number(spec: JsonSchemaValue) -> bool:
    kinds = [option.get("type") for option in spec.get("anyOf", [spec])]
    return {"number", "integer"} & {*kinds} != set() and {*kinds} <= {
        "number", "integer", "null", "string",
    }  # fmt: skip
