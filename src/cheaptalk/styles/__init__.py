"""Words: what all games share in telling players what happened and reading what they answer."""

from cheaptalk.styles.codec import CODECS, Codec, Illegal, JsonCodec, Unreadable
from cheaptalk.styles.style import (
    Style,
    block_name,
    dollars,
    number,
    percent,
    quoted,
    style,
    style_in,
)

__all__ = [
    "CODECS", "Codec", "Illegal", "JsonCodec", "Style", "Unreadable", "block_name", "dollars",
    "number", "percent", "quoted", "style", "style_in",
]  # fmt: skip
