"""Lenient decoding of JSON from servers."""

import json
import math
from typing import Any

import msgspec

ID_LENGTHS = range(16, 201)
"""Accepted lengths of reply ids.

Ids of OpenAI, Anthropic and vLLM have 25 characters or more; servers that repeat ids use fewer than
16.
"""
LONG_NUMBER = 20
"""Maximum digits of an integer; longer integers become text."""


def reply_id(value: Any) -> str | None:
    """Return a reply's id, or None if its format does not guarantee uniqueness.

    >>> reply_id("chatcmpl-B9MHDbslfkBeAs8l4bebG"), reply_id("chatcmpl-1")
    ('chatcmpl-B9MHDbslfkBeAs8l4bebG', None)
    """
    return value if isinstance(value, str) and len(value) in ID_LENGTHS else None


def decoded(data: bytes) -> Any:
    """Decode JSON leniently: numbers out of range, NaN and infinities become text.

    >>> decoded(b'{"tokens": 1e999, "seconds": NaN, "text": "7"}')
    {'tokens': '1e999', 'seconds': 'NaN', 'text': '7'}
    """
    try:
        return msgspec.json.decode(data)
    except ValueError:
        value = json.loads(data, parse_int=_integer, parse_float=_number, parse_constant=str)
        return msgspec.json.decode(json.dumps(value))  # strict in all other respects


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= LONG_NUMBER else digits


def _number(digits: str) -> float | str:
    number = float(digits)
    return number if math.isfinite(number) else digits
