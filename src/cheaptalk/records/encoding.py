"""Encoding of data as JSON, for the store and for other programs, and compression."""

import json
import math
import re
import zlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import msgspec
from pydantic_core import to_json


def text_of(data: Any) -> str:
    """Return data as compact JSON, escaping text that UTF-8 cannot encode."""
    try:
        return to_json(data, inf_nan_mode="constants").decode()
    except ValueError:
        return json.dumps(data, separators=(",", ":"))


def data_of(text: str | bytes) -> Any:
    """Parse JSON text; raise ValueError if it is invalid."""
    try:
        try:
            return msgspec.json.decode(text)
        except msgspec.DecodeError:  # infinities and unpaired surrogates, which are rare
            return json.loads(text)
    except RecursionError:
        raise json.JSONDecodeError("it is nested too deeply", "", 0) from None


def standard_json(data: Any, **layout: Any) -> str:
    """Return data as standard JSON, with null for NaN and infinities.

    Args:
        layout: further arguments of :class:`json.JSONEncoder`.

    >>> standard_json({"mean": float("nan"), "most": [float("inf"), 0.5]})
    '{"mean": null, "most": [null, 0.5]}'
    """
    encoder = _encoder(**layout)
    try:
        return encoder.encode(data)
    except ValueError:
        return encoder.encode(_throughout(data, _finite))


@cache
def _encoder(**layout: Any) -> json.JSONEncoder:
    return json.JSONEncoder(allow_nan=False, **layout)


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def moment(seconds: float) -> str:
    """Return a time, given in seconds since 1970, in UTC in ISO 8601 format.

    It is rounded in the same way as in data frames and SQL views.

    >>> moment(1.5)
    '1970-01-01T00:00:01.500000Z'
    """
    second = math.floor(seconds)
    rounded = timedelta(microseconds=math.floor((seconds - second) * 1e6 + 0.5))
    utc = datetime.fromtimestamp(second, UTC).replace(tzinfo=None) + rounded
    return utc.isoformat(timespec="microseconds") + "Z"


def pack(data: Mapping[str, Any]) -> bytes:
    """Return data as zlib-compressed JSON."""
    return zlib.compress(text_of(data).encode(), 6)


def unpack(data: bytes) -> dict[str, Any]:
    """Decompress and parse zlib-compressed JSON."""
    unpacked: dict[str, Any] = data_of(zlib.decompress(data))
    return unpacked


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
