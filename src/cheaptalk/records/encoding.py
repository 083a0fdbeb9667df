"""Encoding of data as JSON, for the store and for other programs, and compression."""

import json
import math
import zlib
from collections.abc import Mapping
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
        return encoder.encode(_finite(data))


@cache
def _encoder(**layout: Any) -> json.JSONEncoder:
    return json.JSONEncoder(allow_nan=False, **layout)


def _finite(data: Any) -> Any:
    match data:
        case float():
            return data if math.isfinite(data) else None
        case dict():
            return {key: _finite(value) for key, value in data.items()}
        case list() | tuple():
            return [_finite(value) for value in data]
        case _:
            return data


def pack(data: Mapping[str, Any]) -> bytes:
    """Return data as zlib-compressed JSON."""
    return zlib.compress(text_of(data).encode(), 6)


def unpack(data: bytes) -> dict[str, Any]:
    """Decompress and parse zlib-compressed JSON."""
    unpacked: dict[str, Any] = data_of(zlib.decompress(data))
    return unpacked
