"""Form fields generated from the schema of a pydantic model, and the notations of their values."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import CoreSchema

from cheaptalk.field_docs import attribute_docs, legal_values
from cheaptalk.rules import field_meanings
from cheaptalk.rules.errors import CheaptalkError, shown
from cheaptalk.studies.people.answers import Answer, Scale
from cheaptalk.studies.people.conditions import When
from cheaptalk.studies.people.page_texts.texts import LONG, MARKER, marked, markers, of_members
from cheaptalk.studies.people.steps import Step
from cheaptalk.text import capital
from cheaptalk.web.typed_numbers import COMPUTED
from cheaptalk.yaml_files import as_block, as_yaml, default_text, parse_yaml

T = TypeVar("T")
FieldKind: TypeAlias = Literal[
    "text", "area", "number", "choice", "lines", "yaml", "group", "words", "prose", "options",
    "rows", "conditions", "answer", "list", "mapping",
]  # fmt: skip
"""The notation of a value: a text, a long text, a number, one of several options, one text per
line, or YAML; a group of fields; short or long texts by language; short texts, or texts by name,
one per line and by language; conditions on answers; a kind of answer; or members of a list or
mapping."""
BLANK = "''"
"""Notation of an empty text that differs from the default."""
YAML = ("{", "[", "'{", "'[")
"""Starts of texts that are read as YAML, such as texts in several languages."""
EMPTY = ("null", BLANK, "[]", "{}", "required")
LABELS = {
    "ask": "Question",
    "items": "Questions",
    "min": "Minimum",
    "max": "Maximum",
    "low": "Lowest value",
    "high": "Highest value",
    "low_label": "Label of the lowest value",
    "high_label": "Label of the highest value",
    "rows": "Entries",
    "when": "Conditions",
    "correct": "Correct answers",
}
"""Labels of settings whose name is short; titles in the schema have precedence."""
BOOLEAN_LABELS = {"true": "yes", "false": "no", "null": "none"}
"""Display texts of boolean and missing values."""
THOUSANDS = re.compile(r"(?<![\w.,])[0-9]{1,3}(?:,[0-9]{3})+(?![\w.,])")
"""Matches a number with thousands separators, or several numbers."""


Row: TypeAlias = dict[str, list[str]]
"""Texts by field name; several if a field has check boxes."""


def last_text(row: Row, name: str) -> str:
    """Return the last text of a field; empty if it is missing."""
    return row.get(name, [""])[-1]


class Problems(dict[str, str]):
    """Error messages by field name."""

    def read(self, name: str, parse: Callable[[], T]) -> T | None:
        """Return the value of a field; note the error and return None if it is invalid."""
        try:
            return parse()
        except (CheaptalkError, ValueError) as error:
            self.setdefault(name, str(error))
        return None


class Field(NamedTuple):
    """The form field of a setting or of a game's parameter.

    ``default`` and ``options`` are YAML, and ``legal`` describes legal values in words.
    """

    name: str
    label: str
    kind: FieldKind
    meaning: str = ""
    legal: str = ""
    default: str = ""
    options: tuple[str, ...] = ()
    fields: "tuple[Field, ...]" = ()

    @property
    def is_optional(self) -> bool:
        """Whether a group is missing by default, and not the same as without any settings."""
        return self.kind == "group" and self.default == "null"

    @property
    def has_single_members(self) -> bool:
        """Whether the members of a list are single values without names."""
        return self.kind in ("list", "mapping") and [part.name for part in self.fields] == [""]

    @property
    def placeholder(self) -> str:
        """The default value, unless it is empty or missing."""
        return self.default if self.default not in EMPTY else ""

    def value(self, text: str) -> Any:
        """Parse the entered value; a blank field yields None."""
        text = text.strip()
        if not text:
            return None
        match self.kind:
            case "text" | "area" if not text.startswith(YAML) and text != BLANK:
                return text
            case "lines" if not text.startswith(YAML):
                return [line.strip() for line in text.splitlines() if line.strip()]
            case "number":
                return single_number(text)
            case _:
                return parse_yaml(text)

    def text(self, value: Any) -> str:
        """Return the text of a value; :meth:`value` is the inverse."""
        match value:
            case None:
                return ""
            case float() if value.is_integer():
                return str(int(value))
            case "" if self.default != BLANK:
                return BLANK
            case str() if value.startswith(YAML):
                return as_yaml(value)
            case str() if self.kind in ("text", "area", "lines"):
                return value
            case list() if self.kind == "lines":
                return "\n".join(map(str, value))
            case list() | dict() if self.kind == "yaml":
                return as_block(value) if value else ""
        return as_yaml(value)

    def values(self, texts: Sequence[str]) -> list[Any]:
        """Parse the values of a parameter, which may be several; a blank field yields none."""
        if self.kind == "choice":
            return [parse_yaml(text) for text in texts if text.strip()]
        text = "\n".join(texts).strip()
        return listed_values(text) if self.kind == "number" else line_values(text)

    def texts(self, values: Sequence[Any]) -> list[str]:
        """Return the texts of a parameter's values; :meth:`values` is the inverse."""
        texts = [as_yaml(value) for value in values]
        if self.kind == "choice":
            return texts
        return [(", " if self.kind == "number" else "\n").join(texts)] if texts else []

    def choices(self, ticked: Sequence[str]) -> list[tuple[str, str, bool]]:
        """Return the options of a parameter as (value, display text, is ticked).

        Ticked values come first, in their order, because it determines the order of the matches.
        """
        options = dict.fromkeys([*ticked, *self.options])
        return [(text, self.display_text(text), text in ticked) for text in options]

    def display_text(self, text: str) -> str:
        return BOOLEAN_LABELS.get(text, text) if self.kind == "choice" else text


@cache
def fields_of(model: type[BaseModel]) -> dict[str, Field]:
    """Return a form field for each field of a model.

    Titles and kinds of fields may be set in the model with ``title`` and
    ``json_schema_extra={"widget": KIND}``.
    """
    properties, definitions = _schema(model)
    described = {name: text for name, text in field_meanings(model).items() if text}
    meanings = attribute_docs(model) | described
    fields = {}
    for name, info in model.model_fields.items():
        spec = properties.get(name, {})
        field = _field(name, info.title, spec, definitions)
        field = _nested(field, marked(info))
        text = meanings.get(name, "")
        meaning = text[:1].upper() + text[1:]
        fields[name] = field._replace(meaning=meaning, default=default_text(info))
    return fields


def _schema(model: type[BaseModel]) -> tuple[JsonSchemaValue, JsonSchemaValue]:
    schema = model.model_json_schema(schema_generator=_LenientSchema)
    return schema["properties"], schema.get("$defs", {})


class _LenientSchema(GenerateJsonSchema):
    """JSON schema generator that describes unsupported types with an empty schema."""

    def handle_invalid_for_json_schema(
        self, schema: CoreSchema, error_info: str
    ) -> JsonSchemaValue:
        return {}


def _nested(field: Field, annotation: Any) -> Field:
    """Return the field with its kind and members, if it is a text by language or has members."""
    marks = markers(annotation)
    if LONG in marks or MARKER in marks:
        return field._replace(kind="prose" if LONG in marks else "words")
    if annotation == When:
        return field._replace(kind="conditions")
    model = _settings_model(annotation)
    if model is not None:
        if issubclass(model, Answer) and model is not Scale:
            return field._replace(kind="answer")
        return field._replace(kind="group", fields=tuple(fields_of(model).values()))
    kinds: tuple[tuple[type, FieldKind, FieldKind], ...] = (
        (list, "list", "options"),
        (dict, "mapping", "rows"),
    )
    for container, kind, texts in kinds:
        member = of_members(annotation, container)
        marks, model = markers(member), _settings_model(member)
        if MARKER in marks and LONG not in marks:
            return field._replace(kind=texts)
        if LONG in marks:
            return field._replace(kind=kind, fields=(Field("", "", "prose"),))
        if model is not None and not issubclass(model, Step):
            return field._replace(kind=kind, fields=tuple(fields_of(model).values()))
    return field


def _settings_model(annotation: Any) -> type[BaseModel] | None:
    """Return the model of a nested mapping of settings, which may be optional."""
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    options = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else [annotation]
    models = [kind for kind in options if isinstance(kind, type) and issubclass(kind, BaseModel)]
    rest = [kind for kind in options if kind not in models and kind is not type(None)]
    return models[0] if len(models) == 1 and not rest else None


def _field(
    name: str, title: str | None, spec: JsonSchemaValue, definitions: JsonSchemaValue
) -> Field:
    resolved = definitions.get(spec.get("$ref", "").rpartition("/")[2], spec)
    keys = resolved.get("propertyNames", {}).get("enum", ())
    options = tuple(map(as_yaml, resolved.get("enum", [])))
    if resolved.get("type") == "boolean":
        options = ("true", "false")
    kind = resolved.get("widget") or ("group" if keys else _kind(resolved, options))
    legal = "" if options or keys else legal_values(spec) if spec else "value"
    members = [_field(key, None, resolved["additionalProperties"], definitions) for key in keys]
    return Field(
        name,
        title or LABELS.get(name) or capital(name),
        kind,
        "",
        legal,
        "",
        options,
        tuple(members),
    )


def _kind(spec: JsonSchemaValue, options: Sequence[str]) -> FieldKind:
    types = {option.get("type") for option in spec.get("anyOf", [spec])}
    if options:
        return "choice"
    if types & {"number", "integer"} and types <= {"number", "integer", "null", "string"}:
        return "number"
    if "string" in types and not types & {"array"}:
        return "text"
    lists = [option for option in spec.get("anyOf", [spec]) if option.get("type") == "array"]
    if lists and types <= {"array", "null"} and lists[0].get("items", {}).get("type") == "string":
        return "lines"
    return "yaml"


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
