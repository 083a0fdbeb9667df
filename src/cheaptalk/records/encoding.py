"""Data as JSON text, for the store and for others, and compressed."""

import json
import math
import zlib
from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec
from pydantic_core import to_json


def text_of(data: Any) -> str:
    """Data as compact JSON; what UTF-8 cannot hold, such as half a surrogate pair, is escaped."""
    try:
        return to_json(data, inf_nan_mode="constants").decode()
    except ValueError:
        return json.dumps(data, separators=(",", ":"))


def data_of(text: str | bytes) -> Any:
    """What :func:`text_of` wrote.

    Raises:
        ValueError: it is no JSON.
    """
    try:
        try:
            return msgspec.json.decode(text)
        except msgspec.DecodeError:  # infinities and halves of surrogate pairs, which are rare
            return json.loads(text)
    except RecursionError:
        raise json.JSONDecodeError("it is nested too deeply", "", 0) from None


def standard_json(data: Any, **layout: Any) -> str:
    """Data as JSON for others to read: numbers that it has no word for are null.

    These are undefined ones and infinities, which Python would write as no JSON.

    Args:
        layout: what else :class:`json.JSONEncoder` is told.

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
    """Data with null in place of numbers that are undefined or infinite."""
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
    """JSON, compressed with zlib."""
    return zlib.compress(text_of(data).encode(), 6)


def unpack(data: bytes) -> dict[str, Any]:
    """What :func:`pack` packed."""
    unpacked: dict[str, Any] = data_of(zlib.decompress(data))
    return unpacked
