"""Text of a player's own earlier answers, as shown on the player's page."""

from collections.abc import Mapping
from typing import Any

from cheaptalk.rules import Action
from cheaptalk.text import readable
from cheaptalk.web.rooms.forms import Field, fields, option_label
from cheaptalk.web.rooms.languages import Language

MAX_NAME_LENGTH = 200
"""A text field that allows more characters than this contains a message, not a name."""


def answer_line(action: Action, language: Language, names: Mapping[str, str]) -> str:
    """Format an answer as one line, such as ``Alice 60; Bob 40; “Fair?”``.

    Args:
        names: display names by actor and by seat.
    """
    filled = [
        (field, value) for field in fields(type(action).model_json_schema())
        if (value := getattr(action, field.name)) not in (None, "")
    ]  # fmt: skip
    if len(filled) == 1:
        return _value_text(*filled[0], language, names)
    before, after = language.writing.marks or '""'
    messages = [f"{before}{value}{after}" for field, value in filled if _is_message(field)]
    values = [
        f"{language.text(field.label)} {_value_text(field, value, language, names)}"
        for field, value in filled if not _is_message(field)
    ]  # fmt: skip
    return "; ".join([*values, *messages])


def _is_message(field: Field) -> bool:
    return field.kind == "words" and (field.max_length or MAX_NAME_LENGTH + 1) > MAX_NAME_LENGTH


def _value_text(field: Field, value: Any, language: Language, names: Mapping[str, str]) -> str:
    match value:
        case str() if field.kind == "choice":
            return language.text(option_label(value))
        case str():
            return names.get(value) or (value if _is_message(field) else language.text(value))
        case int() | float() if not isinstance(value, bool):
            return language.writing.local(readable(value))
        case Mapping():
            amounts = ((names.get(key, key), readable(amount)) for key, amount in value.items())
            return ", ".join(f"{name} {language.writing.local(text)}" for name, text in amounts)
        case list() | tuple():
            return ", ".join(map(str, value))
        case _:
            return language.text(readable(value).capitalize())
