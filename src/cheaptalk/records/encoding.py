"""Data as JSON text, and compressed."""

import json
import zlib
from collections.abc import Mapping
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
        return msgspec.json.decode(text)
    except msgspec.DecodeError:  # infinities and halves of surrogate pairs, which are rare
        return json.loads(text)


def pack(data: Mapping[str, Any]) -> bytes:
    """JSON, compressed with zlib."""
    return zlib.compress(text_of(data).encode(), 6)


def unpack(data: bytes) -> dict[str, Any]:
    """What :func:`pack` packed."""
    unpacked: dict[str, Any] = data_of(zlib.decompress(data))
    return unpacked
