"""Answers as the people who gave them read them later."""

from collections.abc import Mapping
from typing import Any

from cheaptalk.rules import Action
from cheaptalk.text import readable
from cheaptalk.web.rooms.forms import Field, fields, option_label
from cheaptalk.web.rooms.languages import Language

SHORT = 200
"""Characters up to which words are a name, and not a message."""


def said(action: Action, language: Language, names: Mapping[str, str]) -> str:
    """An answer in a line, a message last: ``Alice 60; Bob 40; “Fair?”``.

    Args:
        names: what those at the table are called, by seat and place.
    """
    given = [
        (field, value) for field in fields(type(action).model_json_schema())
        if (value := getattr(action, field.name)) not in (None, "")
    ]  # fmt: skip
    if len(given) == 1:
        return _shown(*given[0], language, names)
    before, after = language.writing.marks or '""'
    messages = [f"{before}{value}{after}" for field, value in given if _is_message(field)]
    others = [
        f"{language.text(field.label)} {_shown(field, value, language, names)}"
        for field, value in given if not _is_message(field)
    ]  # fmt: skip
    return "; ".join([*others, *messages])


def _is_message(field: Field) -> bool:
    """Whether a field holds words for others."""
    return field.kind == "words" and (field.most or SHORT + 1) > SHORT


def _shown(field: Field, value: Any, language: Language, names: Mapping[str, str]) -> str:
    """The value of a field; words for others as they were written."""
    match value:
        case str() if field.kind == "choice":
            return language.text(option_label(value))
        case str():
            return names.get(value) or (value if _is_message(field) else language.text(value))
        case int() | float() if not isinstance(value, bool):
            return language.writing.local(readable(value))
        case Mapping():
            amounts = ((names.get(key, key), readable(one)) for key, one in value.items())
            return ", ".join(f"{name} {language.writing.local(one)}" for name, one in amounts)
        case list() | tuple():
            return ", ".join(map(str, value))
        case _:
            return language.text(readable(value).capitalize())
