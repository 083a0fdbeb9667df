"""Settings with texts, lists and questions: conversion between their data and form fields.

A text in several languages has one field per language, such as ``ask.de``; the field ``ask`` has
the text without a language or, beside others, in the fallback language.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from cheaptalk.rules.errors import Location, counted
from cheaptalk.studies.people.answers import KINDS, Text, scalar_text
from cheaptalk.studies.people.page_texts.texts import CODE, FIRST
from cheaptalk.web.console.designs.fields import (
    BLANK,
    Field,
    Problems,
    Row,
    fields_of,
    last_text,
    listed_values,
)
from cheaptalk.web.console.designs.nested import members
from cheaptalk.yaml_files import as_yaml, parse_yaml

NAMED = re.compile(r"([a-z][a-z0-9_]{0,59}):[ \t]+(.*)")
"""Matches a line with a name and its text."""
COMPARISONS = {
    "any_of": "is one of",
    "none_of": "is none of",
    "min": "is at least",
    "max": "is at most",
    "above": "is above",
    "below": "is below",
}
"""Display texts of the comparisons of a condition."""
Texts: TypeAlias = Iterator[tuple[str, str]]
"""Field names and their texts."""


def texts_of(field: Field, name: str, value: Any) -> Texts:
    """Yield the form fields of a setting; :class:`SettingsReader` is the inverse."""
    match field.kind:
        case _ if value is None:
            return
        case "words" | "prose":
            yield from _words_texts(field, name, value)
        case "options" if isinstance(value, list):
            yield from _lines_texts(name, [_by_code(scalar_text(text)) for text in value])
        case "rows":
            rows = value if isinstance(value, Mapping) else {str(row): str(row) for row in value}
            yield from _lines_texts(name, [_named(key, text) for key, text in rows.items()])
        case "group" | "list" | "mapping" | "conditions":
            yield from _parts_texts(field, name, value)
        case _:
            yield name, field.text(value)


def _parts_texts(field: Field, name: str, value: Any) -> Texts:
    """Yield the form fields of a setting with members."""
    if field.kind == "group":
        if field.is_optional:
            yield name, "true"
        yield from members_texts(field.fields, f"{name}.", value)
    elif field.kind == "conditions":
        for number, texts in enumerate(_comparisons(value)):
            yield from ((f"{name}.{number}.{key}", text) for key, text in texts.items())
    elif field.kind == "list":
        for number, member in enumerate(value):
            yield from _member_texts(field, f"{name}.{number}", member)
    else:
        for number, (key, member) in enumerate(value.items()):
            yield f"{name}.{number}.key", str(key)
            yield from _member_texts(field, f"{name}.{number}", member)


def members_texts(fields: Iterable[Field], prefix: str, data: Mapping[str, Any]) -> Texts:
    """Yield the form fields of a group of settings."""
    for field in fields:
        if field.kind == "answer":
            yield from _answer_texts(f"{prefix}{field.name}", data)
        else:
            yield from texts_of(field, f"{prefix}{field.name}", data.get(field.name))


def _member_texts(field: Field, name: str, value: Any) -> Texts:
    if field.has_single_members:
        yield from texts_of(field.fields[0], name, value)
    else:
        yield from members_texts(field.fields, f"{name}.", value)


def _answer_texts(name: str, item: Mapping[str, Any]) -> Texts:
    kind = next((kind for kind in KINDS if kind in item), Text.kind)
    settings, shorthand = item.get(kind, {}), KINDS[kind].shorthand
    is_short = not isinstance(settings, Mapping) or (
        shorthand == "rows" and not {*settings} & {*KINDS[kind].model_fields}
    )
    if is_short and shorthand is not None:
        settings = {shorthand: settings}
    elif is_short:
        settings = {"min": settings[0], "max": settings[1]}
    yield f"{name}.kind", kind
    yield from members_texts(fields_of(KINDS[kind]).values(), f"{name}.", settings)


def _words_texts(field: Field, name: str, words: Any) -> Texts:
    for code, text in _by_code(words).items():
        is_blank = not text and field.default != BLANK
        yield f"{name}.{code}" if code else name, BLANK if is_blank else str(text)


def _by_code(words: Any) -> dict[str, str]:
    """Return texts by code of their language; the code is empty for a text without language."""
    return dict(words) if isinstance(words, Mapping) else {"": str(words)}


def _named(name: str, words: Any) -> dict[str, str]:
    """Return the lines of a text with a name, which is omitted if it follows from the text."""
    texts = _by_code(words)
    first = "" if "" in texts else FIRST
    text = str(texts.get(first, ""))
    is_clear = slug(text) == name and not NAMED.fullmatch(text)
    return {**texts, first: text if is_clear else f"{name}: {text}"}


def slug(text: str) -> str:
    """Return a name that is made of a text.

    >>> slug("Öffentliche Verkehrsmittel"), slug("2nd best")
    ('offentliche_verkehrsmittel', 'row_2nd_best')
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    name = re.sub("[^a-z0-9]+", "_", plain).strip("_")[:50]
    return name if name[:1].isalpha() else f"row_{name}".strip("_")


def _lines_texts(name: str, lines: Sequence[Mapping[str, str]]) -> Texts:
    """Yield fields by language that have each text of a list in one line."""
    texts = [{**line} for line in lines]
    for line in texts:
        if FIRST in line and len(line) > 1:
            line[""] = line.pop(FIRST)
    bad = any("\n" in text or text != text.strip() for line in texts for text in line.values())
    if bad or any(not any(line.values()) or FIRST in line for line in texts):
        yield name, as_yaml([line.get("", line) for line in lines])
        return
    for code in dict.fromkeys(["", *(code for line in texts for code in line)]):
        yield f"{name}.{code}" if code else name, "\n".join(line.get(code, "") for line in texts)


def _comparisons(when: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    for question, written in when.items():
        condition = written if isinstance(written, Mapping) else {"any_of": written}
        for comparison, value in condition.items():
            values = value if isinstance(value, list) else [value]
            text = ", ".join(map(_listed_text, values))
            yield {"question": str(question), "comparison": comparison, "value": text}


def _listed_text(value: Any) -> str:
    """Return a value as one of several that are separated by commas."""
    whole = isinstance(value, float) and value.is_integer()
    text = str(int(value) if whole else scalar_text(value))
    try:
        is_plain = [str(scalar_text(read)) for read in listed_values(text)] == [text]
    except ValueError:
        is_plain = False
    return text if is_plain else as_yaml([text])[1:-1]


class SettingsReader:
    """Reader of the settings in form fields.

    Attributes:
        problems: error messages by field.
        names: the field of each value that was read, by its location in the study.
    """

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self.names: dict[Location, str] = {}

    def members(
        self, fields: Iterable[Field], texts: Row, prefix: str, base: str, location: Location
    ) -> dict[str, Any]:
        """Return the values of a group of settings, except for missing ones.

        Args:
            prefix: the beginning of the fields' names in ``texts``.
            base: the name of the form's field or row that ``texts`` belong to, with a dot.
        """
        data: dict[str, Any] = {}
        for field in fields:
            name = prefix + field.name
            if field.kind == "answer":
                data |= self._answer(texts, name, base, location)
                continue
            value = self.value(field, texts, name, base, (*location, field.name))
            if value is not None:
                data[field.name] = value
        return data

    def value(self, field: Field, texts: Row, name: str, base: str, location: Location) -> Any:
        """Return the value of a setting; None if it is missing."""
        self.names[location] = base + name
        inner = partial(self._member, field, texts, base=base)
        numbers = range(members(texts, name))
        match field.kind:
            case "group":
                data = self.members(field.fields, texts, f"{name}.", base, location)
                is_set = data or (field.is_optional and last_text(texts, name) == "true")
                return data if is_set else None
            case "list":
                listed = [inner(f"{name}.{n}", location=(*location, n)) for n in numbers]
                return listed or None
            case "mapping":
                keys = [last_text(texts, f"{name}.{n}.key").strip() for n in numbers]
                self._check_distinct(keys, f"{base}{name}")
                pairs = zip(keys, numbers, strict=True)
                return {
                    key: inner(f"{name}.{n}", location=(*location, key)) for key, n in pairs
                } or None
        return self.problems.read(base + name, self._parser(field, texts, name))

    def _member(self, field: Field, texts: Row, name: str, base: str, location: Location) -> Any:
        if field.has_single_members:
            value = self.value(field.fields[0], texts, name, base, location)
            return "" if value is None else value
        self.names[location] = base + name
        return self.members(field.fields, texts, f"{name}.", base, location)

    def _check_distinct(self, keys: Sequence[str], name: str) -> None:
        for number, key in enumerate(keys):
            if not key:
                self.problems.setdefault(f"{name}.{number}.key", "enter a name")
            elif key in keys[:number]:
                problem = f'"{key}" occurs twice; names must be unique'
                self.problems.setdefault(f"{name}.{number}.key", problem)

    def _parser(self, field: Field, texts: Row, name: str) -> Callable[[], Any]:
        by_code = {
            code: text
            for key, values in texts.items()
            if (code := key.removeprefix(f"{name}.")) == FIRST or CODE.fullmatch(code)
            if key != code and (text := values[-1]).strip()
        }
        text = last_text(texts, name)
        match field.kind:
            case "words" | "prose":
                return lambda: _words(text, by_code)
            case "options":
                return lambda: _options(text, by_code)
            case "rows":
                return lambda: _rows(text, by_code)
            case "conditions":
                return lambda: _conditions(texts, name)
        return lambda: field.value(text)

    def _answer(self, texts: Row, name: str, base: str, location: Location) -> dict[str, Any]:
        kind = last_text(texts, f"{name}.kind") or Text.kind
        self.names[*location, "answer"] = f"{base}{name}.kind"
        if kind not in KINDS:
            self.problems[f"{base}{name}.kind"] = f'"{kind}" is not a kind of answer'
            return {}
        self.names[*location, kind] = f"{base}{name}.kind"
        fields = fields_of(KINDS[kind])
        settings = self.members(fields.values(), texts, f"{name}.", base, (*location, kind))
        shorthand = KINDS[kind].shorthand
        values = settings.get(shorthand or "")
        if len(settings) == 1 and isinstance(values, list):
            return {kind: values}
        return {} if kind == Text.kind and not settings else {kind: settings}


def _words(text: str, by_code: dict[str, str]) -> Any:
    if not by_code:
        return "" if text.strip() == BLANK else text if text.strip() else None
    return ({FIRST: text} if text.strip() else {}) | by_code


def _lines(text: str, by_code: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the texts of a list by language, of which each line has one."""
    first = len(text.rstrip("\n").split("\n"))
    columns = {"": text.rstrip("\n").split("\n")} if text.strip() else {}
    for code, column in by_code.items():
        columns[code] = column.split("\n")
        while len(columns[code]) > first and not columns[code][-1].strip():
            columns[code].pop()
    lengths = {code: len(lines) for code, lines in columns.items()}
    if len({*lengths.values()}) > 1:
        counts = (f"{counted(n, 'line')} in {code or FIRST}" for code, n in lengths.items())
        raise ValueError(f"{', '.join(counts)}; each text needs one line in every language")
    number = max(lengths.values(), default=0)
    lines = [
        {code: column[at].strip() for code, column in columns.items() if column[at].strip()}
        for at in range(number)
    ]
    return [line for line in lines if line]


def _joined(line: Mapping[str, str]) -> Any:
    """Return a text, or its translations by code."""
    if [*line] == [""]:
        return line[""]
    return {code or FIRST: text for code, text in line.items()}


def _options(text: str, by_code: Mapping[str, str]) -> Any:
    if text.strip().startswith("[") and not by_code:
        return parse_yaml(text)
    return [_joined(line) for line in _lines(text, by_code)] or None


def _rows(text: str, by_code: Mapping[str, str]) -> Any:
    if text.strip().startswith("[") and not by_code:
        return dict(_named_line(line) for line in parse_yaml(text))
    lines = [_named_line(line) for line in _lines(text, by_code)]
    names = [name for name, _ in lines]
    if repeated := [name for at, name in enumerate(names) if name in names[:at]]:
        raise ValueError(f'two texts have the name "{repeated[0]}"; write NAME: TEXT')
    return dict(lines) or None


def _named_line(line: Mapping[str, str] | str) -> tuple[str, Any]:
    texts = {"": line} if isinstance(line, str) else dict(line)
    first = next((code for code in ("", FIRST) if code in texts), next(iter(texts)))
    named = NAMED.fullmatch(texts[first])
    name = named[1] if named else slug(texts[first])
    return name, _joined({**texts, first: named[2] if named else texts[first]})


def _conditions(texts: Row, name: str) -> dict[str, Any] | None:
    when: dict[str, dict[str, Any]] = {}
    for number in range(members(texts, name)):
        row = {
            key: last_text(texts, f"{name}.{number}.{key}").strip()
            for key in ("question", "comparison", "value")
        }
        if not (row["question"] or row["value"]):
            continue
        comparison = row["comparison"] or "any_of"
        if not row["question"] or not row["value"] or comparison not in COMPARISONS:
            raise ValueError("a condition needs the name of a question and a value")
        values = listed_values(row["value"])
        is_list = comparison in ("any_of", "none_of")
        value = [scalar_text(value) for value in values] if is_list else values[0]
        when.setdefault(row["question"], {})[comparison] = value
    return {question: _short(condition) for question, condition in when.items()} or None


def _short(condition: dict[str, Any]) -> Any:
    values = condition.get("any_of", ())
    if [*condition] != ["any_of"]:
        return condition
    return values[0] if len(values) == 1 else values
