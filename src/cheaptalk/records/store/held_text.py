"""Conversion of text and data to characters that PostgreSQL can store, and back.

PostgreSQL rejects null characters, unpaired surrogates, and NaN and infinities in JSON.
"""

import math
import re
from collections.abc import Callable
from typing import Any

from cheaptalk.records.encoding import data_of, text_of

MARK = "\ue000"
"""Precedes an escaped value: four hexadecimal digits, or ``=`` and a number."""
UNHELD = re.compile(r"[\x00\ue000\ud800-\udfff]")
MARKED = re.compile(r"\ue000([0-9a-f]{4})")
RARE = re.compile(r"\\u0000|\\ud[89a-f]|\ue000|NaN|Infinity")
"""JSON text that may contain a value to escape."""


def storable_text(data: Any) -> str:
    """Return data as JSON text that PostgreSQL accepts."""
    text = text_of(data)
    return text_of(_throughout(data, storable)) if RARE.search(text) else text


def stored_data(text: str | bytes) -> Any:
    """Parse JSON text, and restore characters that were escaped for PostgreSQL."""
    decoded = text.decode() if isinstance(text, bytes) else text
    data = data_of(decoded)
    return _throughout(data, restored) if MARK in decoded else data


def storable(value: Any) -> Any:
    """Escape a text or number that PostgreSQL cannot store; return other values unchanged."""
    if isinstance(value, str):
        return UNHELD.sub(lambda match: f"{MARK}{ord(match[0]):04x}", value)
    return value if not isinstance(value, float) or math.isfinite(value) else f"{MARK}={value}"


def restored(value: Any) -> Any:
    """Restore a text or number that was escaped for PostgreSQL; return other values unchanged."""
    if not isinstance(value, str):
        return value
    if value.startswith(f"{MARK}="):
        return float(value[2:])
    return MARKED.sub(lambda match: chr(int(match[1], 16)), value)


def _throughout(data: Any, change: Callable[[Any], Any]) -> Any:
    match data:
        case dict():
            return {change(key): _throughout(value, change) for key, value in data.items()}
        case list() | tuple():
            return [_throughout(value, change) for value in data]
        case _:
            return change(data)
