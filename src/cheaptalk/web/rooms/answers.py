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
    """An answer in a line: ``Alice gain 60; Bob gain 40``.

    Args:
        names: what those at the table are called, by seat and place.
    """
    given = [
        (field, value) for field in fields(type(action).model_json_schema())
        if (value := getattr(action, field.name)) not in (None, "")
    ]  # fmt: skip
    shown = [_shown(field, value, language, names) for field, value in given]
    if len(shown) == 1:
        return shown[0]
    labels = [language.text(field.label) for field, _ in given]
    return "; ".join(f"{label} {value}" for label, value in zip(labels, shown, strict=True))


def _shown(field: Field, value: Any, language: Language, names: Mapping[str, str]) -> str:
    """The value of a field; words for others as they were written."""
    match value:
        case str() if field.kind == "choice":
            return language.text(option_label(value))
        case str():
            known = (field.most or SHORT + 1) <= SHORT
            return names.get(value) or (language.text(value) if known else value)
        case int() | float() if not isinstance(value, bool):
            return language.writing.local(readable(value))
        case Mapping():
            amounts = ((names.get(key, key), readable(one)) for key, one in value.items())
            return ", ".join(f"{name} {language.writing.local(one)}" for name, one in amounts)
        case list() | tuple():
            return ", ".join(map(str, value))
        case _:
            return language.text(readable(value).capitalize())
