"""Texts and data in characters that PostgreSQL holds, and back.

It holds no character of the number zero, no half of a surrogate pair, and no number that is none.
"""

import math
import re
from collections.abc import Callable
from typing import Any

from cheaptalk.records.encoding import data_of, text_of

MARK = "\ue000"
"""Stands before what PostgreSQL would not hold, written in four hexadecimal digits or a word."""
UNHELD = re.compile(r"[\x00\ue000\ud800-\udfff]")
MARKED = re.compile(r"\ue000([0-9a-f]{4})")
RARE = re.compile(r"\\u0000|\\ud[89a-f]|\ue000|NaN|Infinity")
"""What JSON text has in it that may hold something of the kind."""


def storable_text(data: Any) -> str:
    """Data as JSON text that PostgreSQL takes."""
    text = text_of(data)
    return text_of(_throughout(data, storable)) if RARE.search(text) else text


def stored_data(text: str | bytes) -> Any:
    """What :func:`storable_text` wrote."""
    read = text.decode() if isinstance(text, bytes) else text
    data = data_of(read)
    return _throughout(data, restored) if MARK in read else data


def storable(one: Any) -> Any:
    """A text or number in characters that PostgreSQL holds; anything else as it is."""
    if isinstance(one, str):
        return UNHELD.sub(lambda found: f"{MARK}{ord(found[0]):04x}", one)
    return one if not isinstance(one, float) or math.isfinite(one) else f"{MARK}={one}"


def restored(one: Any) -> Any:
    """What :func:`storable` took."""
    if not isinstance(one, str):
        return one
    if one.startswith(f"{MARK}="):
        return float(one[2:])
    return MARKED.sub(lambda found: chr(int(found[1], 16)), one)


def _throughout(data: Any, change: Callable[[Any], Any]) -> Any:
    match data:
        case dict():
            return {change(key): _throughout(value, change) for key, value in data.items()}
        case list() | tuple():
            return [_throughout(value, change) for value in data]
        case _:
            return change(data)
