"""A game's parameters as fields of a form, in each of which several values can be written."""

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
"""Boxes to tick, numbers with commas between them, or a value of YAML in each line."""
TRUTH = {"true": "yes", "false": "no"}
"""How yes and no are written, and what people read."""
THOUSANDS = re.compile(r"(?<![\w.,])[0-9]{1,3}(?:,[0-9]{3})+(?![\w.,])")
"""What may be one number with thousands set apart, or several numbers."""


class ParameterField(NamedTuple):
    """A parameter as a field.

    Attributes:
        name: the parameter's.
        label: what people read.
        kind: how its values are written.
        meaning: what the game's source says of it.
        legal: what it may be, in words.
        default: its default as one writes it.
        options: of choices, as they are written.
    """

    name: str
    label: str
    kind: FieldKind
    meaning: str
    legal: str
    default: str
    options: tuple[str, ...] = ()

    def values(self, texts: Sequence[str]) -> list[Any]:
        """The values that were written; none where the field was left blank.

        Raises:
            ValueError: they cannot be read; the message is a sentence.
        """
        if self.kind == "choices":
            return [parse_yaml(text) for text in texts if text.strip()]
        text = "\n".join(texts).strip()
        return listed_values(text) if self.kind == "numbers" else line_values(text)

    def texts(self, values: Iterable[Any]) -> list[str]:
        """Values as they are written in the field."""
        each = [as_yaml(value) for value in values]
        if self.kind == "choices":
            return each
        return [(", " if self.kind == "numbers" else "\n").join(each)] if each else []

    def choices(self, ticked: Sequence[str]) -> list[tuple[str, str, bool]]:
        """Its boxes: what is written, what people read, and whether it is ticked.

        Those that are ticked come first, in their order, which is that of the study's matches.
        """
        rest = [option for option in self.options if option not in ticked]
        boxes = [(text, True) for text in dict.fromkeys(ticked)] + [(text, False) for text in rest]
        return [(text, self.read_as(text), on) for text, on in boxes]

    def read_as(self, text: str) -> str:
        """A value or the default as people read it."""
        return TRUTH.get(text, text) if self.kind == "choices" else text


def listed_values(text: str) -> list[Any]:
    """Values with commas between them.

    >>> listed_values("100, 10000, 1/2")
    [100, 10000, '1/2']
    >>> listed_values("10,000")
    Traceback (most recent call last):
    ValueError: "10,000" may be one number or several; write 10000, or 10, 000

    Raises:
        ValueError: a number can be read in two ways, or is written in a notation of programs.
    """
    unclear = THOUSANDS.search(text)
    if unclear:
        one, several = unclear[0].replace(",", ""), unclear[0].replace(",", ", ")
        raise ValueError(
            f"{shown(unclear[0])} may be one number or several; write {one}, or {several}"
        )
    found = parse_yaml(f"[{text}]")
    if not isinstance(found, list) or any(isinstance(one, list | Mapping) for one in found):
        raise ValueError(f"{shown(text)} is no list of numbers; write a comma between two of them")
    for value, typed in zip(found, text.split(","), strict=False):
        if _is_read_as_number(value) and not COMPUTED.fullmatch(typed.strip()):
            raise ValueError(
                f"{shown(typed.strip())} is no number; write digits only, such as 10 or 0.5"
            )
    return found


def _is_read_as_number(value: object) -> bool:
    """Whether YAML or Python reads a number here: also of 1_0, 017, 0x10, 1:30, nan and .inf."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return False
    try:
        float(value)
    except ValueError:
        return False
    return True


def single_number(text: str) -> object:
    """Return the number of a field; the rules refuse other texts.

    Raises:
        ValueError: it can be read in two ways, or is written in a notation of programs.
    """
    values = listed_values(text)
    return values[0] if len(values) == 1 else text


def line_values(text: str) -> list[Any]:
    """A value in each line that is not blank.

    >>> line_values("12\\n{rounds: 99, hidden: true}")
    [12, {'rounds': 99, 'hidden': True}]

    Raises:
        ValueError: a line cannot be read; the message says which.
    """
    found = []
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for number, line in enumerate(lines, 1):
        try:
            found.append(parse_yaml(line))
        except ValueError as error:
            where = f"value {number}: " if len(lines) > 1 else ""
            problem = re.sub(r"^line 1, (?=column)", "", str(error))
            raise ValueError(f"{where}{problem}") from None
    return found


@cache
def parameter_fields(rules: type[Game]) -> dict[str, ParameterField]:
    """The parameters of a game as fields, by name, what its players are called last."""
    schema = rules.model_json_schema(schema_generator=_Lenient)
    meanings = field_meanings(rules)
    names = sorted(rules.model_fields, key=lambda name: name == "names")
    return {
        name: _field(rules, name, schema["properties"].get(name, {}), schema, meanings[name])
        for name in names
    }


class _Lenient(GenerateJsonSchema):
    """Says nothing of types that JSON schemas have no word for, rather than refusing the model."""

    def handle_invalid_for_json_schema(
        self, schema: CoreSchema, error_info: str
    ) -> JsonSchemaValue:
        return {}


def _field(
    rules: type[Game], name: str, spec: JsonSchemaValue, whole: JsonSchemaValue, meaning: str
) -> ParameterField:
    within = _resolved(spec, whole)
    options = tuple(map(as_yaml, within.get("enum", [])))
    if within.get("type") == "boolean":
        options = tuple(TRUTH)
    kind: FieldKind = "choices" if options else "numbers" if _is_number(within) else "lines"
    legal = "" if options else legal_values(spec) if spec else "value"
    default = default_text(rules.model_fields[name])
    return ParameterField(name, capital(name), kind, meaning, legal, default, options)


def _resolved(spec: JsonSchemaValue, whole: JsonSchemaValue) -> JsonSchemaValue:
    """What a reference within a schema stands for."""
    place = spec.get("$ref", "").rpartition("/")[2]
    found: JsonSchemaValue = whole.get("$defs", {}).get(place, spec)
    return found


def _is_number(spec: JsonSchemaValue) -> bool:
    """Whether a schema is of a number, or of one that may also be missing or a fraction."""
    kinds = [one.get("type") for one in spec.get("anyOf", [spec])]
    return {"number", "integer"} & {*kinds} != set() and {*kinds} <= {
        "number", "integer", "null", "string",
    }  # fmt: skip
